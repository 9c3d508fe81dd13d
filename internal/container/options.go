package container

import (
	"fmt"

	"example.com/tracecache/internal/codec"
	"example.com/tracecache/pod"
)

// Options say how [Encode] makes a buffer.
type Options struct {
	Method pod.Method

	// Compressor is for [pod.MethodOodle]: [pod.CompressorSelkie] or
	// [pod.CompressorMermaid], and 0 for Mermaid. It is 0 for other methods.
	Compressor pod.Compressor

	// Level is the method's; 0 is its default.
	Level int

	// BlockSizeExponent is the raw size of a block as a power of two,
	// [pod.MinBlockSizeExponent] to [pod.MaxBlockSizeExponent], or for Oodle to
	// [pod.MaxOodleBlockSizeExponent]; 0 stands for
	// [pod.DefaultBlockSizeExponent].
	BlockSizeExponent uint8

	// Gate limits the work of all calls that share it; nil allows one call as
	// many workers as there are processors.
	Gate *Gate

	// Progress, where set, is called with the raw size of each block that is
	// done, from several goroutines at once. The sizes add up to the raw size.
	Progress func(raw int)
}

// Codec is the codec of method and compressor. The error matches
// [pod.ErrUnsupported] where they are not known.
func (o Options) Codec() (codec.Codec, error) {
	switch {
	case o.Method == pod.MethodOodle:
		return codec.ForOodle(o.Compressor)
	case o.Compressor != 0:
		return nil, fmt.Errorf("compressor: expected none for %v, got %v", o.Method, o.Compressor)
	}
	return codec.ForMethod(o.Method)
}

// Check is an error, naming the option and its value, where [Encode] would
// refuse o. It matches [pod.ErrUnsupported] where the method is not known.
func (o Options) Check() error {
	c, err := o.Codec()
	if err != nil {
		return err
	}
	if err := c.CheckLevel(o.Level); err != nil {
		return err
	}
	exp, most := o.BlockSizeExponent, uint8(pod.MaxBlockSizeExponent)
	if o.Method == pod.MethodOodle {
		most = pod.MaxOodleBlockSizeExponent
	}
	if exp != 0 && (exp < pod.MinBlockSizeExponent || exp > most) {
		return fmt.Errorf("block size exponent: expected %d to %d, got %d", pod.MinBlockSizeExponent, most, exp)
	}
	return nil
}
