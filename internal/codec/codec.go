// Package codec compresses and decompresses single blocks of a compressed
// buffer. The methods are a fixed table; all of them are safe for concurrent
// use.
package codec

import (
	"fmt"

	"example.com/tracecache/pod"
)

// Codec is one compression method. Its calls keep no reference to the slices
// that they are given.
type Codec interface {
	// Decode decompresses src into dst. It is an error that matches
	// [pod.ErrCorrupt] unless src is one whole compressed block of exactly
	// len(dst) bytes, or [pod.ErrUnsupported] where the method has kinds of
	// blocks that cannot be read; dst then holds garbage. src may be any
	// bytes: memory use is bounded by len(dst) and a constant.
	Decode(dst, src []byte) error

	// MaxRaw is the most bytes that a block of stored bytes, from 0 to 4 GiB,
	// can decompress to.
	MaxRaw(stored int64) int64

	// Encode compresses src into dst and returns the number of bytes written,
	// or 0 where they would not be both less than len(src) and at most
	// len(dst). The same src and level give the same bytes, whatever was
	// compressed before and on any machine. CheckLevel must have accepted the
	// level.
	Encode(dst, src []byte, level int) int

	// CheckLevel is an error, which names the method and the levels that
	// there are, where the method has no such level. Level 0 is every
	// method's default.
	CheckLevel(level int) error

	// Header is what the header of a buffer says of blocks that were
	// compressed at level: zeros for all methods but Oodle.
	Header(level int) (pod.Compressor, pod.Level)
}

// ForMethod returns the codec of m. The error matches [pod.ErrUnsupported] and
// names the method.
func ForMethod(m pod.Method) (Codec, error) {
	switch m {
	case pod.MethodNone:
		return none{}, nil
	case pod.MethodLZ4:
		return lz4Codec{}, nil
	case pod.MethodZstd:
		return zstdCodec{}, nil
	case pod.MethodOodle:
		return oodleCodec{pod.CompressorMermaid}, nil
	}
	return nil, fmt.Errorf("%w: compression %v", pod.ErrUnsupported, m)
}

// ForOodle returns the codec of [pod.MethodOodle] that compresses by c; 0 stands
// for [pod.CompressorMermaid]. What it decodes does not depend on c. The error matches
// [pod.ErrUnsupported] and names the compressor.
func ForOodle(c pod.Compressor) (Codec, error) {
	switch c {
	case 0:
		c = pod.CompressorMermaid
	case pod.CompressorSelkie, pod.CompressorMermaid:
	default:
		return nil, fmt.Errorf("%w: oodle compressor: expected %v or %v, got %v", pod.ErrUnsupported, pod.CompressorSelkie, pod.CompressorMermaid, c)
	}
	return oodleCodec{c}, nil
}

// noHeader is the Header of the methods that have no fields of their own.
type noHeader struct{}

func (noHeader) Header(int) (pod.Compressor, pod.Level) { return 0, 0 }

// checkLevel is the part of CheckLevel that methods share.
func checkLevel(m pod.Method, level, maxLevel int) error {
	if level < 0 || level > maxLevel {
		return fmt.Errorf("compression level: expected 0 to %d for %v, got %d", maxLevel, m, level)
	}
	return nil
}
