package container_test

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"lukechampine.com/blake3"

	"example.com/tracecache/internal/container"
	"example.com/tracecache/pod"
)

// oodleRaw is what oodleBuild holds.
func oodleRaw() []byte {
	raw := bytes.Repeat([]byte{'x'}, 3<<10)
	copy(raw[1<<10:], noise(1<<10))
	return raw
}

// oodleBuild is three blocks of 1 KiB: one repeated byte, stored bytes, and the
// byte again.
func oodleBuild(compressor pod.Compressor) *build {
	raw := oodleRaw()
	run := []byte{0x8C, 10, 7, 0xFF, 0xFF, 'x'}
	return &build{
		magic: 0xB7756362, method: 3, compressor: byte(compressor), level: 0xFC, exponent: 10,
		blockCount: 3, rawSize: 3 << 10, totalSize: 64 + 12 + 6 + 1024 + 6, hash: blake3.Sum256(raw),
		sizes: []uint32{6, 1024, 6}, blocks: [][]byte{run, raw[1<<10 : 2<<10], run},
	}
}

// Any compressor and level may stand in the header; the blocks say what they are.
func TestReadOodle(t *testing.T) {
	for _, compressor := range []pod.Compressor{0, 1, 2, 3, 4, 200} {
		file := oodleBuild(compressor).bytes()
		got, err := decodeAll(file)
		require.NoError(t, err)
		assert.True(t, bytes.Equal(oodleRaw(), got))
		buf, err := container.Open(bytes.NewReader(file), int64(len(file)), math.MaxInt64)
		require.NoError(t, err)
		assert.Equal(t, compressor, buf.Header().Compressor)
		assert.Equal(t, pod.Level(-4), buf.Header().CompressionLevel)
	}
}

func TestReadOodleDamage(t *testing.T) {
	for name, test := range map[string]struct {
		block []byte
		want  error
	}{
		"noise":     {noise(6), pod.ErrCorrupt},
		"Leviathan": {[]byte{0x8C, 12, 7, 0xFF, 0xFF, 'x'}, pod.ErrUnsupported},
		"unknown":   {[]byte{0x8C, 99, 7, 0xFF, 0xFF, 'x'}, pod.ErrCorrupt},
	} {
		b := oodleBuild(pod.CompressorMermaid)
		b.blocks[2] = test.block
		file := b.bytes()
		buf, err := container.Open(bytes.NewReader(file), int64(len(file)), math.MaxInt64)
		require.NoError(t, err)
		dst := make([]byte, 1<<10)
		requireAt(t, buf.DecodeBlock(2, dst), test.want, 64+12+6+1024, name)
		assert.NoError(t, buf.DecodeBlock(0, dst), "the other blocks are sound")
	}
}

func TestEncodeOodle(t *testing.T) {
	for _, compressor := range []pod.Compressor{0, pod.CompressorSelkie, pod.CompressorMermaid} {
		for level := range 5 {
			for _, exponent := range []uint8{0, 10, 15, 18} {
				for _, size := range []int{0, 1, 100, 1025, 1<<18 - 1, 1 << 18, 1<<18 + 1, 700_000} {
					if exponent == 10 && size > 10_000 || exponent != 0 && level != 0 || raceEnabled && size > 10_000 && level != 0 {
						continue
					}
					raw := mixed(size)
					at := fmt.Sprintf("%v, level %d, exponent %d, %d bytes", compressor, level, exponent, size)
					file, sums := encode(t, raw, container.Options{
						Method: pod.MethodOodle, Compressor: compressor, Level: level, BlockSizeExponent: exponent,
					})
					got, err := decodeAll(file)
					require.NoError(t, err, at)
					require.True(t, bytes.Equal(raw, got), at)
					checkOodleHeader(t, file, compressor, level, at)
					again, againSums := encode(t, raw, container.Options{
						Method: pod.MethodOodle, Compressor: compressor, Level: level, BlockSizeExponent: exponent,
						Gate: container.NewGate(1),
					})
					require.True(t, bytes.Equal(file, again), at)
					require.Equal(t, sums, againSums)
				}
			}
		}
	}
}

// checkOodleHeader checks bytes 8 to 10 of a buffer.
func checkOodleHeader(t *testing.T, file []byte, compressor pod.Compressor, level int, at string) {
	t.Helper()
	if file[8] == 0 {
		require.Equal(t, []byte{0, 0, 0, 0}, file[8:12], at)
		return
	}
	if compressor == 0 {
		compressor = pod.CompressorMermaid
	}
	if level == 0 {
		level = 2
	}
	require.Equal(t, []byte{3, byte(compressor), byte(level)}, file[8:11], at)
}
