package lazy_test

import (
	"bytes"
	"io"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/tracecache/internal/gen"
	"example.com/tracecache/lazy"
	"example.com/tracecache/pod"
	"example.com/tracecache/trace"
	"example.com/tracecache/writer"
)

// decoded is the number of blocks of all sections that have been decoded.
func decoded(c *lazy.Cache) (n int) {
	for _, id := range pod.Sections {
		for _, done := range c.DecodedBlocks(id) {
			if done {
				n++
			}
		}
	}
	return n
}

type largeFile struct {
	model *trace.Model
	b     []byte
}

// large is the file of many symbols that look-ups are counted on.
var large = sync.OnceValues(func() (largeFile, error) {
	n := 1_000_000
	if testing.Short() {
		n = 200_000
	}
	f := largeFile{model: gen.Model(gen.Config{Seed: 1, Symbols: n, Holes: n / 4, Callstacks: n / 100})}
	var b bytes.Buffer
	_, err := writer.Write(&b, f.model)
	f.b = b.Bytes()
	return f, err
})

// largeAddresses are addresses of the file, random ones and those of entries at both
// sides of a block's start.
func largeAddresses(m *trace.Model) (addrs []uint64) {
	rng := rand.New(rand.NewPCG(1, 21))
	for range 100 {
		addrs = append(addrs, m.Symbols[rng.IntN(len(m.Symbols))].Address+rng.Uint64N(2))
	}
	const perBlock = 256 << 10 / 16
	for i := perBlock; i < len(m.Symbols); i += 3 * perBlock {
		addrs = append(addrs, m.Symbols[i-1].Address, m.Symbols[i].Address-1, m.Symbols[i].Address, m.Symbols[i].Address+1)
	}
	return append(addrs, 0, m.Symbols[0].Address, math.MaxUint64, m.Modules[7].Base, m.Modules[7].Base+m.Modules[7].Size)
}

// rangeReader counts reads, each a request to a server far away.
type rangeReader struct {
	io.ReaderAt
	ranges, bytes int
}

func (r *rangeReader) ReadAt(p []byte, off int64) (int, error) {
	r.ranges++
	r.bytes += len(p)
	return r.ReaderAt.ReadAt(p, off)
}

// Opening a cache and looking up one address decodes at most 8 + log2(n) blocks, n
// those of Symbols, and over a slow reader takes at most 16 reads.
func TestLookupTouchesLittle(t *testing.T) {
	f, err := large()
	require.NoError(t, err)
	var blocks, ranges, size, mostBlocks, mostRanges int
	addrs := largeAddresses(f.model)
	for _, addr := range addrs {
		r := &rangeReader{ReaderAt: bytes.NewReader(f.b)}
		c, err := lazy.NewReader(r, int64(len(f.b)))
		require.NoError(t, err)
		if _, err = c.Lookup(addr); err != nil {
			require.ErrorIs(t, err, lazy.ErrNotFound)
		}
		n, of := decoded(c), len(c.DecodedBlocks(pod.SectionSymbols))
		require.LessOrEqual(t, float64(n), 8+math.Log2(float64(of)), "blocks, %#x", addr)
		require.LessOrEqual(t, r.ranges, 16, "ranges, %#x", addr)
		blocks, ranges, size = blocks+n, ranges+r.ranges, size+r.bytes
		mostBlocks, mostRanges = max(mostBlocks, n), max(mostRanges, r.ranges)

		before := r.ranges
		_, _ = c.Lookup(addr)
		_, _ = c.LookupExact(addr)
		assert.Equal(t, n, decoded(c), "the same blocks")
		assert.Equal(t, before, r.ranges, "what is decoded is kept")
	}
	k := len(addrs)
	t.Logf("%d symbols: %d blocks of %d at most, %d on average; %d ranges at most, %d on average, of %d KB",
		len(f.model.Symbols), mostBlocks, len(f.model.Symbols)/(256<<10/16), blocks/k, mostRanges, ranges/k, size/k/1000)
}

// A name that is asked for alone takes nothing of Metadata.
func TestLookupExactTouchesNoMetadata(t *testing.T) {
	m := gen.Model(gen.Config{Seed: 1, Symbols: 1000, Holes: 100})
	b := written(t, m)
	for _, s := range m.Symbols[:200] {
		c := openBytes(t, b)
		name, err := c.LookupExact(s.Address)
		if s.Name == "" {
			require.ErrorIs(t, err, lazy.ErrNotFound)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, s.Name, name)
		require.NotContains(t, c.DecodedBlocks(pod.SectionMetadata), true)
	}
}

// A load after look-ups decodes what they left, and only that: a mark that is made
// in every decoded block is still there.
func TestLoadAfterLookupDecodesTheRest(t *testing.T) {
	m := gen.Model(gen.Config{Seed: 2, Symbols: 3000, Holes: 100})
	b := written(t, m, writer.WithBlockSize(1<<10))
	c, fresh := openBytes(t, b), openBytes(t, b)
	for _, i := range []int{5, 700, 2900} {
		_, err := c.Lookup(m.Symbols[i].Address)
		require.NoError(t, err)
	}
	for _, id := range []pod.Section{pod.SectionStringTable, pod.SectionSymbols} {
		want, err := fresh.Decoded(t.Context(), id)
		require.NoError(t, err)
		marks := c.Mark(id, 0xa5)
		require.NotEmpty(t, marks)
		require.Less(t, len(marks), len(c.DecodedBlocks(id))/2)
		got, err := c.Decoded(t.Context(), id)
		require.NoError(t, err)
		assert.NotContains(t, c.DecodedBlocks(id), false)
		for _, i := range marks {
			want[i] ^= 0xa5
		}
		require.Equal(t, want, got, "%v", id)
	}
}

// Records that names were written over are not read as they were stored.
func TestLookupAfterNamesAreWritten(t *testing.T) {
	m := gen.Model(gen.Config{Seed: 3, Symbols: 5000})
	c := openBytes(t, written(t, m, writer.WithBlockSize(1<<10)))
	_, err := c.Lookup(m.Symbols[0].Address)
	require.NoError(t, err)
	assert.Contains(t, c.DecodedBlocks(pod.SectionSymbols), false)
	c.SetNamed()
	name, err := c.LookupExact(m.Symbols[42].Address)
	require.NoError(t, err)
	assert.Equal(t, m.Symbols[42].Name, name)
	assert.NotContains(t, c.DecodedBlocks(pod.SectionSymbols), false, "the whole section answers")
}
