package lazy_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/tracecache/internal/gen"
	"example.com/tracecache/lazy"
	"example.com/tracecache/trace"
	"example.com/tracecache/writer"
)

// checkBatches compares the answers to all addresses at once with l.
func (l linear) checkBatches(t testing.TB, s *lazy.Symbols, addrs []uint64) {
	t.Helper()
	names, syms := make([]string, len(addrs)), make([]lazy.Symbol, len(addrs))
	for i := range addrs { // what is there before counts for nothing
		names[i], syms[i] = "stale", lazy.Symbol{Name: "stale", Address: 1, Offset: 2, Module: "stale"}
	}
	resolved, found := s.ResolveBatch(addrs, names), s.FindBatch(addrs, syms)
	for i, addr := range addrs {
		var want string
		if a := l.aliases(addr); len(a) > 0 {
			want = a[0]
			resolved--
		}
		sym, reason := l.find(addr)
		if reason == lazy.Found {
			found--
		}
		if names[i] != want || syms[i] != sym {
			require.Fail(t, "batch", "%#x: got %q, %+v, expected %q, %+v of %+v", addr, names[i], syms[i], want, sym, l)
		}
	}
	require.Zero(t, resolved, "number of names")
	require.Zero(t, found, "number of symbols")
}

// openBoth opens b with and without the exact index.
func openBoth(t testing.TB, b []byte) (symbols []*lazy.Symbols, c *lazy.Cache) {
	t.Helper()
	for _, opts := range [][]lazy.Option{{lazy.WithExactIndex()}, nil} {
		var err error
		c, err = lazy.OpenBytes(b, opts...)
		require.NoError(t, err)
		s, err := c.Symbols()
		require.NoError(t, err)
		symbols = append(symbols, s)
	}
	return symbols, c
}

// A batch works on the shorter of the two lengths and leaves the rest alone.
func TestBatchLengths(t *testing.T) {
	l := linear{symbols: []trace.Symbol{{Address: 0x10, Name: "f"}, {Address: 0x20, Name: "g"}}}
	symbols, _ := openBoth(t, l.file())
	addrs := make([]uint64, 40)
	for i := range addrs {
		addrs[i] = []uint64{0x20, 0x15}[i%2]
	}
	for _, s := range symbols {
		for n := range 40 {
			names, syms := make([]string, 40), make([]lazy.Symbol, 40)
			for i := range names {
				names[i], syms[i].Name = "stale", "stale"
			}
			want := (n + 1) / 2
			assert.Equal(t, want, s.ResolveBatch(addrs[:n], names))
			assert.Equal(t, n, s.FindBatch(addrs[:n], syms))
			for i := range names {
				switch {
				case i >= n:
					assert.Equal(t, "stale", names[i])
					assert.Equal(t, "stale", syms[i].Name)
				case i%2 == 0:
					assert.Equal(t, "g", names[i])
					assert.Equal(t, "g", syms[i].Name)
				default:
					assert.Empty(t, names[i])
					assert.Equal(t, lazy.Symbol{Name: "f", Address: 0x10, Offset: 5}, syms[i])
				}
			}
			assert.Equal(t, want, s.ResolveBatch(addrs, names[:n]))
			assert.Equal(t, n, s.FindBatch(addrs, syms[:n]))
		}
	}
}

// A look-up allocates nothing, whatever the answer.
func TestLookupsAllocateNothing(t *testing.T) {
	m := gen.Model(gen.Config{Seed: 5, Symbols: 2000, Holes: 500})
	var b bytes.Buffer
	_, err := writer.Write(&b, m)
	require.NoError(t, err)
	symbols, _ := openBoth(t, b.Bytes())
	addrs := linear{symbols: m.Symbols, modules: m.Modules}.edges()
	names, syms := make([]string, len(addrs)), make([]lazy.Symbol, len(addrs))
	for _, s := range symbols {
		assert.Zero(t, testing.AllocsPerRun(10, func() {
			for _, addr := range addrs {
				s.Resolve(addr)
				s.Find(addr)
				s.Explain(addr)
				s.At(int(addr % 2000))
			}
			s.ResolveBatch(addrs, names)
			s.FindBatch(addrs, syms)
		}))
	}
}
