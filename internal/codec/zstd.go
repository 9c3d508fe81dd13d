package codec

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"

	"example.com/tracecache/pod"
)

// zstdCodec is Zstandard, one frame per block. Levels are those of the
// reference implementation, 1 to 22; 0 is its default, 3.
type zstdCodec struct{ noHeader }

const (
	maxZstdLevel     = 22
	defaultZstdLevel = 3

	// maxZstdBlock is the most bytes that one block of a frame decompresses to.
	maxZstdBlock = 128 << 10

	// The windows of the compressors: the default size of a block, and what
	// larger blocks use, the library's own default.
	smallZstdWindow = 1 << pod.DefaultBlockSizeExponent
	largeZstdWindow = 8 << 20
)

// zstdDecoder returns the one decoder of the process. It decodes as many blocks
// at once as there are processors. Its output never exceeds the destination,
// so the bound on memory, that of the format's largest block, keeps out only
// windows that no block can use.
var zstdDecoder = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil,
		zstd.WithDecoderConcurrency(0),
		zstd.WithDecoderLowmem(true),
		zstd.WithDecodeAllCapLimit(true),
		zstd.WithDecoderMaxMemory(1<<pod.MaxBlockSizeExponent),
		zstd.WithDecoderMaxWindow(1<<pod.MaxBlockSizeExponent))
	if err != nil {
		panic("codec: zstd decoder: " + err.Error())
	}
	return d
})

func (zstdCodec) Decode(dst, src []byte) error {
	if err := checkFrame(src); err != nil {
		return fmt.Errorf("%w: zstd block: %w", pod.ErrCorrupt, err)
	}
	out, err := zstdDecoder().DecodeAll(src, dst[:0:len(dst)])
	if err != nil {
		return fmt.Errorf("%w: zstd block: %w", pod.ErrCorrupt, err)
	}
	if len(out) != len(dst) {
		return fmt.Errorf("%w: zstd block: expected %d bytes, got %d", pod.ErrCorrupt, len(dst), len(out))
	}
	if len(out) > 0 && &out[0] != &dst[0] {
		copy(dst, out) // The decoder grew past dst on the way and came back.
	}
	return nil
}

// checkFrame reports whether src is one frame and nothing else. The decoder
// would take several frames, frames to be skipped, and a few bytes behind the
// last one.
func checkFrame(src []byte) error {
	var h zstd.Header
	if err := h.Decode(src); err != nil {
		return err
	}
	if h.Skippable {
		return errors.New("expected a frame with data, got a skippable one")
	}
	rest := src[h.HeaderSize:]
	for last := false; !last; {
		if len(rest) < 3 {
			return io.ErrUnexpectedEOF
		}
		header := uint32(rest[0]) | uint32(rest[1])<<8 | uint32(rest[2])<<16
		last = header&1 != 0
		size := int(header >> 3)
		if header>>1&3 == 1 {
			size = 1 // A block of one repeated byte; the size is the count.
		}
		if len(rest)-3 < size {
			return io.ErrUnexpectedEOF
		}
		rest = rest[3+size:]
	}
	want := 0
	if h.HasCheckSum {
		want = 4
	}
	if len(rest) != want {
		return fmt.Errorf("expected %d bytes behind the last block, got %d", want, len(rest))
	}
	return nil
}

// MaxRaw: a frame is a sequence of blocks of at least 4 bytes each.
func (zstdCodec) MaxRaw(stored int64) int64 { return (stored/4 + 1) * maxZstdBlock }

// zstdEncoders are idle compressors, by the library's level less one and by
// whether their window is the large one. A compressor keeps as much memory as
// its window and, at the highest level, tables of 34 MiB, so as many exist as
// are at work, and idle ones are left to the collector.
var zstdEncoders [zstd.SpeedBestCompression][2]sync.Pool

func (zstdCodec) Encode(dst, src []byte, level int) int {
	if level == 0 {
		level = defaultZstdLevel
	}
	speed := zstd.EncoderLevelFromZstd(level)
	window, pool := smallZstdWindow, &zstdEncoders[speed-1][0]
	if len(src) > smallZstdWindow {
		window, pool = largeZstdWindow, &zstdEncoders[speed-1][1]
	}
	enc, _ := pool.Get().(*zstd.Encoder)
	if enc == nil {
		enc = newZstdEncoder(speed, window)
	}
	out := enc.EncodeAll(src, dst[:0:len(dst)])
	pool.Put(enc)
	if len(out) >= len(src) || len(out) > len(dst) {
		return 0
	}
	if len(out) > 0 && &out[0] != &dst[0] {
		copy(dst, out) // The encoder grew past dst on the way and came back.
	}
	return len(out)
}

// newZstdEncoder makes a compressor that runs on its caller's goroutine.
func newZstdEncoder(speed zstd.EncoderLevel, window int) *zstd.Encoder {
	enc, err := zstd.NewWriter(nil,
		zstd.WithEncoderConcurrency(1),
		zstd.WithEncoderLevel(speed),
		zstd.WithWindowSize(window),
		zstd.WithLowerEncoderMem(true),
		zstd.WithEncoderCRC(false))
	if err != nil {
		panic("codec: zstd encoder: " + err.Error())
	}
	return enc
}

func (zstdCodec) CheckLevel(level int) error {
	return checkLevel(pod.MethodZstd, level, maxZstdLevel)
}
