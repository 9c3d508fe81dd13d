package codec

import (
	"fmt"
	"sync"

	"github.com/pierrec/lz4/v4"

	"example.com/tracecache/pod"
)

// lz4Codec is LZ4's raw block format, without the frame. Level 0 is the fast
// compressor, 1 to 9 are the slower ones that compress better.
type lz4Codec struct{ noHeader }

// maxLZ4Level is the highest level of LZ4.
const maxLZ4Level = 9

// lz4Levels are the library's names for the levels from 1 on.
var lz4Levels = [maxLZ4Level]lz4.CompressionLevel{
	lz4.Level1, lz4.Level2, lz4.Level3, lz4.Level4, lz4.Level5,
	lz4.Level6, lz4.Level7, lz4.Level8, lz4.Level9,
}

// The compressors are large tables: 136 KiB and up to 768 KiB.
var (
	lz4Fast = sync.Pool{New: func() any { return new(lz4.Compressor) }}
	lz4HC   = sync.Pool{New: func() any { return new(lz4.CompressorHC) }}
)

func (lz4Codec) Decode(dst, src []byte) error {
	n, err := lz4.UncompressBlock(src, dst)
	if err != nil {
		return fmt.Errorf("%w: lz4 block: %w", pod.ErrCorrupt, err)
	}
	if n != len(dst) {
		return fmt.Errorf("%w: lz4 block: expected %d bytes, got %d", pod.ErrCorrupt, len(dst), n)
	}
	return nil
}

// MaxRaw: the densest form is a length's continuation byte, 255 bytes of a
// match for one stored.
func (lz4Codec) MaxRaw(stored int64) int64 { return 255 * stored }

func (lz4Codec) Encode(dst, src []byte, level int) int {
	// A destination shorter than the source makes the library give up where
	// nothing is gained.
	if len(dst) >= len(src) {
		dst = dst[:max(len(src), 1)-1]
	}
	var n int
	var err error
	if level == 0 {
		c := lz4Fast.Get().(*lz4.Compressor)
		n, err = c.CompressBlock(src, dst)
		lz4Fast.Put(c)
	} else {
		c := lz4HC.Get().(*lz4.CompressorHC)
		c.Level = lz4Levels[level-1]
		n, err = c.CompressBlock(src, dst)
		lz4HC.Put(c)
	}
	if err != nil {
		return 0 // The only error is that dst is too short.
	}
	return n
}

func (lz4Codec) CheckLevel(level int) error {
	return checkLevel(pod.MethodLZ4, level, maxLZ4Level)
}
