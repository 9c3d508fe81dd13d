package container_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"lukechampine.com/blake3"

	"example.com/tracecache/internal/container"
	"example.com/tracecache/pod"
)

// reader is what [container.Encode] takes.
func reader(raw []byte) *io.SectionReader {
	return io.NewSectionReader(bytes.NewReader(raw), 0, int64(len(raw)))
}

// encode is the bytes of an encoded buffer and its checksums.
func encode(t testing.TB, raw []byte, opts container.Options) ([]byte, []uint32) {
	t.Helper()
	e, err := container.Encode(t.Context(), reader(raw), opts)
	require.NoError(t, err)
	var out bytes.Buffer
	n, err := e.WriteTo(&out)
	require.NoError(t, err)
	require.Equal(t, int64(out.Len()), n)
	require.Equal(t, e.Size(), n)
	return out.Bytes(), e.Checksums
}

// readAside decodes a buffer with the codecs' libraries and plain loops, and
// checks each rule of the format on the way.
func readAside(t *testing.T, file []byte, sums []uint32) []byte {
	t.Helper()
	be := binary.BigEndian
	require.Equal(t, uint32(0xB7756362), be.Uint32(file))
	method, exponent, count := file[8], file[11], int(be.Uint32(file[12:]))
	rawSize := int(be.Uint64(file[16:]))
	require.Equal(t, uint64(len(file)), be.Uint64(file[24:]))
	require.Equal(t, []byte{0, 0}, file[9:11])
	table := file[64:64]
	var raw []byte
	if method == 0 {
		require.Zero(t, exponent)
		require.Equal(t, 1, count)
		raw = file[64:]
		require.Len(t, sums, (len(raw)+1<<18-1)>>18)
		for i, sum := range sums {
			end := min(len(raw), (i+1)<<18)
			require.Equal(t, sum, crc32.Checksum(raw[i<<18:end], crc32.MakeTable(crc32.Castagnoli)))
		}
	} else {
		require.Less(t, len(file), rawSize, "compression gained nothing")
		require.Equal(t, (rawSize+1<<exponent-1)>>exponent, count)
		require.Len(t, sums, count)
		table = file[64 : 64+4*count]
		rest := file[64+4*count:]
		for i := range count {
			n := min(1<<exponent, rawSize-i<<exponent)
			stored := rest[:be.Uint32(table[4*i:])]
			rest = rest[len(stored):]
			require.NotEmpty(t, stored)
			require.LessOrEqual(t, len(stored), n)
			require.Equal(t, sums[i], crc32.Checksum(stored, crc32.MakeTable(crc32.Castagnoli)))
			raw = append(raw, decompressIndependently(t, method, stored, n)...)
		}
		require.Empty(t, rest)
	}
	require.Len(t, raw, rawSize)
	require.Equal(t, be.Uint32(file[4:]), crc32.Update(crc32.ChecksumIEEE(file[8:64]), crc32.IEEETable, table))
	hash := blake3.Sum256(raw)
	require.Equal(t, hash[:], file[32:64])
	return raw
}

func TestEncode(t *testing.T) {
	for _, method := range methods {
		for _, exponent := range []uint8{0, 10, 15, 18, 30} {
			for _, size := range []int{0, 1, 100, 1023, 1024, 1025, 2048, 5000, 1<<18 - 1, 1 << 18, 1<<18 + 1, 700_000} {
				if exponent > 0 && exponent < 15 && size > 10_000 {
					continue
				}
				for kind, raw := range map[string][]byte{
					"names": names(size), "noise": noise(size), "mixed": mixed(size), "zeros": make([]byte, size),
				} {
					at := fmt.Sprintf("%v exponent %d, %d bytes of %s", method, exponent, size, kind)
					file, sums := encode(t, raw, container.Options{Method: method, BlockSizeExponent: exponent})
					require.True(t, bytes.Equal(raw, readAside(t, file, sums)), at)
					got, err := decodeAll(file)
					require.NoError(t, err, at)
					require.True(t, bytes.Equal(raw, got), at)
					if size > 1000 && kind == "names" {
						require.Equal(t, byte(method), file[8], at)
					}
					if size < 64 || kind == "noise" {
						require.Zero(t, file[8], at)
					}
				}
			}
		}
	}
}

// TestStoredBlocks has a block that does not compress between two that do.
func TestStoredBlocks(t *testing.T) {
	raw := append(append(names(1024), noise(1024)...), names(1024)...)
	for _, method := range []pod.Method{pod.MethodLZ4, pod.MethodZstd} {
		file, sums := encode(t, raw, container.Options{Method: method, BlockSizeExponent: 10})
		assert.Equal(t, uint32(1024), binary.BigEndian.Uint32(file[68:]))
		assert.Less(t, binary.BigEndian.Uint32(file[64:]), uint32(1024))
		assert.Equal(t, raw, readAside(t, file, sums))
	}
}

// TestEncodeGainsNothing: a buffer that comes out as large as the raw bytes is
// stored, one that is a byte smaller is not.
func TestEncodeGainsNothing(t *testing.T) {
	compressed := 0
	for size := range 400 {
		file, sums := encode(t, make([]byte, size), container.Options{Method: pod.MethodLZ4})
		readAside(t, file, sums)
		if file[8] != 0 {
			compressed++
		} else {
			assert.Zero(t, compressed, "%d zeros are stored and fewer are not", size)
			assert.Len(t, file, 64+size)
		}
	}
	assert.Greater(t, compressed, 300)
}

func TestEncodeLevels(t *testing.T) {
	raw := names(100_000)
	for _, method := range []pod.Method{pod.MethodLZ4, pod.MethodZstd} {
		fast, sums := encode(t, raw, container.Options{Method: method, Level: 1})
		assert.Equal(t, raw, readAside(t, fast, sums))
		best, sums := encode(t, raw, container.Options{Method: method, Level: 9})
		assert.Equal(t, raw, readAside(t, best, sums))
		assert.Less(t, len(best), len(fast))
	}
}

func TestEncodeDoesNotDependOnWorkers(t *testing.T) {
	raw := mixed(300_000)
	for _, method := range methods {
		want, wantSums := encode(t, raw, container.Options{Method: method, BlockSizeExponent: 12, Gate: container.NewGate(1)})
		for _, workers := range []int{2, 8} {
			file, sums := encode(t, raw, container.Options{Method: method, BlockSizeExponent: 12, Gate: container.NewGate(workers)})
			assert.True(t, bytes.Equal(want, file), "%v with %d workers", method, workers)
			assert.Equal(t, wantSums, sums)
		}
	}
}

// TestGateIsShared: calls that share a gate of two never have more than two
// blocks at work.
func TestGateIsShared(t *testing.T) {
	var running, most atomic.Int32
	gate := container.NewGate(2)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			_, err := container.Encode(t.Context(), reader(names(100_000)), container.Options{
				Method: pod.MethodZstd, BlockSizeExponent: 10, Gate: gate,
				Progress: func(int) { // Called while the block's slot is held.
					n := running.Add(1)
					for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
					}
					running.Add(-1)
				},
			})
			assert.NoError(t, err)
		})
	}
	wg.Wait()
	assert.LessOrEqual(t, most.Load(), int32(2))
	assert.Positive(t, most.Load())
}

func TestEncodeProgress(t *testing.T) {
	for _, method := range methods {
		for kind, raw := range map[string][]byte{"names": names(300_000), "noise": noise(300_000), "empty": nil} {
			var done atomic.Int64
			encode(t, raw, container.Options{
				Method: method, BlockSizeExponent: 16,
				Progress: func(n int) { done.Add(int64(n)) },
			})
			assert.Equal(t, int64(len(raw)), done.Load(), "%v %s", method, kind)
		}
	}
}

func TestEncodeCancelled(t *testing.T) {
	for _, method := range methods {
		ctx, cancel := context.WithCancel(t.Context())
		var done atomic.Int64
		e, err := container.Encode(ctx, reader(names(3<<20)), container.Options{
			Method: method, Gate: container.NewGate(1), // Cancelled while the second of 12 blocks is at work.
			Progress: func(int) {
				if done.Add(1) == 2 {
					cancel()
				}
			},
		})
		assert.Nil(t, e)
		require.ErrorIs(t, err, context.Canceled)
		assert.Equal(t, int64(2), done.Load(), "%v: blocks after the end", method)

		_, err = container.Encode(ctx, reader(nil), container.Options{Method: method})
		assert.NoError(t, err, "nothing is left to do")
	}
}

func TestEncodeRefuses(t *testing.T) {
	for want, opts := range map[string]container.Options{
		"unsupported: compression method(77)":                 {Method: 77},
		"compression level: expected 0 to 4 for oodle, got 5": {Method: pod.MethodOodle, Level: 5},
		"block size exponent: expected 10 to 18, got 19":      {Method: pod.MethodOodle, BlockSizeExponent: 19},
		"compressor: expected none for lz4, got Mermaid":      {Method: pod.MethodLZ4, Compressor: pod.CompressorMermaid},
		"unsupported: oodle compressor: expected Selkie or Mermaid, got Kraken": {
			Method: pod.MethodOodle, Compressor: pod.CompressorKraken,
		},
		"compression level: expected 0 to 9 for lz4, got 10":   {Method: pod.MethodLZ4, Level: 10},
		"compression level: expected 0 to 22 for zstd, got -1": {Method: pod.MethodZstd, Level: -1},
		"compression level: expected 0 to 0 for none, got 3":   {Level: 3},
		"block size exponent: expected 10 to 30, got 9":        {Method: pod.MethodLZ4, BlockSizeExponent: 9},
		"block size exponent: expected 10 to 30, got 31":       {BlockSizeExponent: 31},
	} {
		e, err := container.Encode(t.Context(), reader(names(10)), opts)
		assert.Nil(t, e)
		assert.EqualError(t, err, want)
		assert.EqualError(t, opts.Check(), want)
	}
	assert.ErrorIs(t, container.Options{Method: 77}.Check(), pod.ErrUnsupported)
}

// limited is a writer with room for a few bytes.
type limited struct{ room int }

var errFull = errors.New("full")

func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.room)
	l.room -= n
	if n < len(p) {
		return n, errFull
	}
	return n, nil
}

func TestWriteToFails(t *testing.T) {
	e, err := container.Encode(t.Context(), reader(mixed(5000)), container.Options{Method: pod.MethodLZ4, BlockSizeExponent: 10})
	require.NoError(t, err)
	for room := range e.Size() {
		n, err := e.WriteTo(&limited{int(room)})
		require.ErrorIs(t, err, errFull)
		require.Equal(t, room, n)
	}
}
