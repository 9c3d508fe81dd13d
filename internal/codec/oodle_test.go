package codec_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/tracecache/internal/codec"
	"example.com/tracecache/pod"
)

func TestForOodle(t *testing.T) {
	for compressor, header := range map[pod.Compressor]pod.Compressor{
		0: pod.CompressorMermaid, pod.CompressorMermaid: pod.CompressorMermaid, pod.CompressorSelkie: pod.CompressorSelkie,
	} {
		c, err := codec.ForOodle(compressor)
		require.NoError(t, err)
		for level, want := range []pod.Level{pod.LevelVeryFast, pod.LevelSuperFast, pod.LevelVeryFast, pod.LevelFast, pod.LevelNormal} {
			gotCompressor, gotLevel := c.Header(level)
			assert.Equal(t, header, gotCompressor)
			assert.Equal(t, want, gotLevel)
		}
	}
	for compressor, name := range map[pod.Compressor]string{3: "Kraken", 4: "Leviathan", 9: "compressor(9)"} {
		c, err := codec.ForOodle(compressor)
		assert.Nil(t, c)
		require.ErrorIs(t, err, pod.ErrUnsupported)
		assert.EqualError(t, err, "unsupported: oodle compressor: expected Selkie or Mermaid, got "+name)
	}
	for _, m := range []pod.Method{pod.MethodNone, pod.MethodLZ4, pod.MethodZstd} {
		compressor, level := mustCodec(t, m).Header(0)
		assert.Zero(t, compressor)
		assert.Zero(t, level)
	}
}

func TestOodleRoundTrip(t *testing.T) {
	sizes := []int{1, 2, 15, 100, 1023, 1024, 4096, 1 << 16, 1<<17 - 1, 1<<17 + 1, 1 << 18}
	if raceEnabled {
		sizes = sizes[:8]
	}
	for _, compressor := range []pod.Compressor{pod.CompressorSelkie, pod.CompressorMermaid} {
		c, err := codec.ForOodle(compressor)
		require.NoError(t, err)
		for level := range 5 {
			for _, size := range sizes {
				for kind, src := range map[string][]byte{"names": names(size), "noise": noise(size), "zeros": make([]byte, size)} {
					at := fmt.Sprintf("%v level %d, %d bytes of %s", compressor, level, size, kind)
					dst := make([]byte, size)
					n := c.Encode(dst, src, level)
					require.Less(t, n, size, at)
					if kind != "noise" && size > 200 {
						require.NotZero(t, n, at)
					}
					if n == 0 {
						continue
					}
					got := make([]byte, size)
					require.NoError(t, mustCodec(t, pod.MethodOodle).Decode(got, dst[:n]), at)
					require.True(t, bytes.Equal(src, got), at)
					require.LessOrEqual(t, int64(size), c.MaxRaw(int64(n)), at)
				}
			}
		}
		assert.Zero(t, c.Encode(make([]byte, 1<<18+1), make([]byte, 1<<18+1), 0), "larger than a block can be")
	}
}

// What was compressed before, and how, does not matter.
func TestOodleEncodeHasNoHistory(t *testing.T) {
	src := names(150_000)
	if raceEnabled {
		src = src[:20_000]
	}
	first := map[string][]byte{}
	for range 2 {
		for _, compressor := range []pod.Compressor{pod.CompressorSelkie, pod.CompressorMermaid} {
			c, err := codec.ForOodle(compressor)
			require.NoError(t, err)
			for level := range 5 {
				for _, size := range []int{700, len(src) / 2, len(src)} {
					dst := make([]byte, size)
					dst = dst[:c.Encode(dst, src[len(src)-size:], level)]
					at := fmt.Sprintf("%v level %d, %d bytes", compressor, level, size)
					if first[at] == nil {
						first[at] = dst
					}
					require.True(t, bytes.Equal(first[at], dst), at)
				}
			}
		}
	}
}

// The worked example of the format's description, of another compressor's hand.
func TestOodleDecodesAnExample(t *testing.T) {
	const raw = "The cat sat on the mat. The cat sat on the mat. The cat sat on the mat; the dog sat on the log, the cat sat on the mat again."
	block := append([]byte{0x8C, 10, 0, 0, 0x51, 0x88, 0, 0x4F}, "The cat "...)
	block = append(append(block, 0, 0, 40), "sat on the mat. ;doglog,n the mat again."...)
	block = append(block, 0, 0, 10, 0x87, 0x87, 0x7A, 0xF8, 0xF8, 0x88, 0x29, 0x63, 0x2C, 0x48)
	block = append(block, 5, 0, 24, 0, 57, 0, 48, 0, 24, 0, 72, 0, 0, 0, 0)
	got := make([]byte, len(raw))
	require.NoError(t, mustCodec(t, pod.MethodOodle).Decode(got, block))
	assert.Equal(t, raw, string(got))
}

// What cannot be read is no damage.
func TestOodleUnsupported(t *testing.T) {
	err := mustCodec(t, pod.MethodOodle).Decode(make([]byte, 100), []byte{0x8C, 12, 0, 0, 0, 1})
	require.ErrorIs(t, err, pod.ErrUnsupported)
	assert.NotErrorIs(t, err, pod.ErrCorrupt)
	assert.ErrorContains(t, err, "Leviathan")
}

// The densest block is 6 bytes for 256 KiB.
func TestOodleMaxRaw(t *testing.T) {
	c := mustCodec(t, pod.MethodOodle)
	block := []byte{0x8C, 10, 7, 0xFF, 0xFF, 'x'}
	require.NoError(t, c.Decode(make([]byte, 1<<18), block))
	assert.EqualValues(t, 1<<18, c.MaxRaw(6))
	assert.EqualValues(t, 5, c.MaxRaw(5))
	assert.EqualValues(t, 1<<18, c.MaxRaw(1<<18))
	assert.GreaterOrEqual(t, c.MaxRaw(1<<32), int64(1<<18))
	for n := range 6 {
		for _, raw := range []int{n + 1, 1000, 1 << 18} {
			assert.Error(t, c.Decode(make([]byte, raw), block[:n]))
		}
	}
}
