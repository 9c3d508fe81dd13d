package codec

import (
	"sync"

	"example.com/tracecache/internal/oodle"
	"example.com/tracecache/pod"
)

// oodleCodec is Oodle. It decodes the blocks of every compressor that package
// oodle knows and compresses by one. Levels are those of the format, 1 SuperFast
// to 4 Normal; 0 is VeryFast.
type oodleCodec struct{ compressor pod.Compressor }

const (
	maxOodleLevel     = int(pod.LevelNormal)
	defaultOodleLevel = pod.LevelVeryFast

	// minOodleBlock is the size of the smallest block that is not larger than
	// its raw bytes: two headers and the byte that is repeated.
	minOodleBlock = 6
)

// Decoders and encoders keep their scratch memory, a few MiB at the most.
var (
	oodleDecoders = sync.Pool{New: func() any { return new(oodle.Decoder) }}
	oodleEncoders = sync.Pool{New: func() any { return new(oodle.Encoder) }}
)

func (oodleCodec) Decode(dst, src []byte) error {
	d := oodleDecoders.Get().(*oodle.Decoder)
	defer oodleDecoders.Put(d)
	return d.Decode(dst, src)
}

// MaxRaw: one repeated byte makes the smallest block of any size, so what bounds
// the raw size is the largest block.
func (oodleCodec) MaxRaw(stored int64) int64 {
	if stored < minOodleBlock {
		return stored
	}
	return max(stored, oodle.MaxBlock)
}

func (c oodleCodec) Encode(dst, src []byte, level int) int {
	if len(src) == 0 || len(src) > oodle.MaxBlock {
		return 0
	}
	_, l := c.Header(level)
	e := oodleEncoders.Get().(*oodle.Encoder)
	out := e.Encode(dst[:0:len(dst)], src, c.compressor, l)
	oodleEncoders.Put(e)
	if len(out) >= len(src) || len(out) > len(dst) {
		return 0
	}
	if &out[0] != &dst[0] {
		copy(dst, out) // The encoder grew past dst on the way and came back.
	}
	return len(out)
}

func (oodleCodec) CheckLevel(level int) error {
	return checkLevel(pod.MethodOodle, level, maxOodleLevel)
}

func (c oodleCodec) Header(level int) (pod.Compressor, pod.Level) {
	if level == 0 {
		return c.compressor, defaultOodleLevel
	}
	return c.compressor, pod.Level(level)
}
