//go:build !race

package lazy_test

// The race detector drops pooled memory at random, so that what a load takes is
// counted without it.

import (
	"encoding/binary"
	"reflect"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/tracecache/internal/gen"
	"example.com/tracecache/lazy"
	"example.com/tracecache/pod"
	"example.com/tracecache/trace"
	"example.com/tracecache/writer"
)

// generated is a cache of a generated model.
func generated(t testing.TB, config gen.Config, opts ...writer.Option) *lazy.Cache {
	t.Helper()
	return openBytes(t, written(t, gen.Model(config), opts...))
}

// heap is the bytes and the number of allocations of the heap, when what is
// garbage has gone.
func heap() (size int64, allocs uint64) {
	for range 3 { // pools let go in the second one
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc), m.Mallocs
}

// Symbols that are loaded take the memory of their sections, two bytes each for
// the index, and no more than is lost in the noise. On a big-endian host the arrays
// of records and of offsets are there once more.
func TestResidentAfterLoad(t *testing.T) {
	const n = 300_000
	c := generated(t, gen.Config{Seed: 1, Symbols: n, Holes: n / 4})
	var raw int64
	for _, id := range []pod.Section{pod.SectionStringTable, pod.SectionMetadata, pod.SectionSymbols} {
		info, err := c.Info(id)
		require.NoError(t, err)
		raw += int64(info.Header.TotalRawSize)
	}
	before, _ := heap()
	require.NoError(t, c.Load(t.Context(), pod.SectionSymbols, pod.SectionStringTable))
	after, _ := heap()
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		strings, err := c.Strings()
		require.NoError(t, err)
		raw += n*pod.SymbolEntrySize + int64(strings.Len())*pod.StringOffsetSize
	}
	assert.LessOrEqual(t, after-before, raw+2*n+1<<20, "%d bytes of sections", raw)
	assert.GreaterOrEqual(t, after-before, raw)
	runtime.KeepAlive(c)
}

// A load allocates for the sections, not for their blocks: four times as many blocks
// are next to nothing.
func TestLoadAllocatesNothingPerBlock(t *testing.T) {
	for _, method := range []pod.Method{pod.MethodNone, pod.MethodLZ4, pod.MethodZstd} {
		load := func(blockSize int) (blocks, allocs int) {
			c := generated(t, gen.Config{Seed: 1, Symbols: 100_000}, writer.WithCodec(method), writer.WithBlockSize(blockSize))
			for _, id := range pod.Sections {
				info, err := c.Info(id)
				require.NoError(t, err)
				blocks += info.Blocks
			}
			_, before := heap()
			require.NoError(t, c.Load(t.Context()))
			_, after := heap()
			return blocks, int(after - before)
		}
		few, some := load(16 << 10)
		assert.Less(t, some, 300+few/4, "%v: %d blocks", method, few)
		if method == pod.MethodNone {
			continue // its pieces are of one size
		}
		many, more := load(4 << 10)
		require.Greater(t, many, 3*few)
		assert.Less(t, more-some, (many-few)/10, "%v: %d blocks, then %d", method, few, many)
	}
}

// A model is made of a few arrays: its strings are those of the string table, and
// its frames are slices of one array.
func TestModelIsAFewArrays(t *testing.T) {
	c := generated(t, gen.Config{Seed: 1, Symbols: 100_000, Holes: 20_000, Callstacks: 10_000})
	require.NoError(t, c.Load(t.Context()))
	for _, id := range pod.Sections {
		_, before := heap()
		m, err := c.ModelOf(id)
		require.NoError(t, err)
		_, after := heap()
		assert.Less(t, after-before, uint64(100), "%v", id)
		runtime.KeepAlive(m)
	}
	_, before := heap()
	m, err := c.Model()
	require.NoError(t, err)
	_, after := heap()
	assert.Less(t, after-before, uint64(100*len(pod.Sections)))

	symbols, err := c.Symbols()
	require.NoError(t, err)
	for i, s := range m.Symbols {
		addr, name := symbols.At(i)
		require.Equal(t, trace.Symbol{Address: addr, Name: name}, s)
		require.Equal(t, reflect.ValueOf(name).Pointer(), reflect.ValueOf(s.Name).Pointer(), "symbol %d: a copy", i)
	}
	at := reflect.ValueOf(m.Callstacks[0].Frames).Pointer()
	for i, s := range m.Callstacks {
		require.Equal(t, at, reflect.ValueOf(s.Frames).Pointer(), "frames of callstack %d", i)
		at += uintptr(len(s.Frames)) * reflect.TypeFor[trace.Frame]().Size()
	}
}
