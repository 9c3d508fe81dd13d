package bench

import (
	"math/rand/v2"
	"sort"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/tracecache/lazy"
	"example.com/tracecache/pod"
	"example.com/tracecache/trace"
)

// contender answers many look-ups in one call, so that what is timed is direct
// calls in a loop. It returns the sum of use over the names found.
type contender struct {
	impl  string
	sweep func(addrs []uint64) (sum uint64)
}

// use reads of a name what a caller at least reads.
func use(name string) uint64 { return uint64(len(name)) + uint64(name[0]) }

// sink keeps the sums alive.
var sink uint64

// lookups are the contenders for one number of symbols, and what they look up.
type lookups struct {
	symbols *lazy.Symbols
	byAddr  gomap
	sorted  sortsearch
	exact   []uint64 // addresses of functions
	floor   []uint64 // addresses in functions
	miss    []uint64 // addresses that no function starts at
}

var lookupsOf = memo(func(tb testing.TB, n int) *lookups {
	m := model(tb, n)
	c, err := lazy.Open(file(tb, fileKey{n, pod.MethodLZ4}).path)
	require.NoError(tb, err)
	defer func() { require.NoError(tb, c.Close()) }()
	l := &lookups{byAddr: newGomap(m), sorted: sortsearch{m.Symbols, m.Modules}}
	l.symbols, err = c.Symbols()
	require.NoError(tb, err)

	rng := rand.New(rand.NewPCG(1, uint64(n)))
	for range n {
		i := rng.IntN(n)
		if m.Symbols[i].Name == "" {
			i-- // A function stands in front of every hole.
		}
		addr := m.Symbols[i].Address
		room := uint64(16) // Functions start at multiples of 16.
		if i+1 < n && m.Symbols[i+1].Address-addr < 1<<20 {
			room = m.Symbols[i+1].Address - addr
		}
		l.exact = append(l.exact, addr)
		l.floor = append(l.floor, addr+rng.Uint64N(room))
		l.miss = append(l.miss, addr+1+rng.Uint64N(15))
	}
	l.check(tb)
	return l
})

// check makes sure that the contenders give the same answers, and that these are
// hits and misses as they should be.
func (l *lookups) check(tb testing.TB) {
	tb.Helper()
	for i := range l.exact {
		for _, addr := range []uint64{l.exact[i], l.miss[i]} {
			name, ok := l.symbols.Resolve(addr)
			name2, ok2 := l.byAddr.resolve(addr)
			name3, ok3 := l.sorted.resolve(addr)
			if name != name2 || name != name3 || ok != ok2 || ok != ok3 || ok != (addr == l.exact[i]) {
				require.Fail(tb, "contenders disagree", "%#x: %q %v, %q %v, %q %v", addr, name, ok, name2, ok2, name3, ok3)
			}
		}
		sym, ok := l.symbols.Find(l.floor[i])
		sym2, ok2 := l.sorted.find(l.floor[i])
		if sym != sym2 || !ok || !ok2 {
			require.Fail(tb, "contenders disagree", "%#x: %+v %v, %+v %v", l.floor[i], sym, ok, sym2, ok2)
		}
	}
}

// exactly are the contenders of exact look-ups.
func (l *lookups) exactly() []contender {
	return []contender{
		{"tracecache", func(addrs []uint64) (sum uint64) {
			for _, addr := range addrs {
				if name, ok := l.symbols.Resolve(addr); ok {
					sum += use(name)
				}
			}
			return sum
		}},
		{"gomap", func(addrs []uint64) (sum uint64) {
			for _, addr := range addrs {
				if name, ok := l.byAddr.resolve(addr); ok {
					sum += use(name)
				}
			}
			return sum
		}},
		{"sortsearch", func(addrs []uint64) (sum uint64) {
			for _, addr := range addrs {
				if name, ok := l.sorted.resolve(addr); ok {
					sum += use(name)
				}
			}
			return sum
		}},
	}
}

// floored are the contenders of floor look-ups.
func (l *lookups) floored() []contender {
	return []contender{
		{"tracecache", func(addrs []uint64) (sum uint64) {
			for _, addr := range addrs {
				if sym, ok := l.symbols.Find(addr); ok {
					sum += use(sym.Name)
				}
			}
			return sum
		}},
		{"sortsearch", func(addrs []uint64) (sum uint64) {
			for _, addr := range addrs {
				if sym, ok := l.sorted.find(addr); ok {
					sum += use(sym.Name)
				}
			}
			return sum
		}},
	}
}

type gomap map[uint64]string

func newGomap(m *trace.Model) gomap {
	g := make(gomap, len(m.Symbols))
	for _, s := range m.Symbols {
		if s.Name != "" {
			g[s.Address] = s.Name
		}
	}
	return g
}

func (g gomap) resolve(addr uint64) (string, bool) {
	name, ok := g[addr]
	return name, ok
}

type sortsearch struct {
	symbols []trace.Symbol // ascending, each address once
	modules []trace.Module // ascending, disjoint
}

func (s sortsearch) resolve(addr uint64) (string, bool) {
	i := sort.Search(len(s.symbols), func(k int) bool { return s.symbols[k].Address >= addr })
	if i == len(s.symbols) || s.symbols[i].Address != addr {
		return "", false
	}
	return s.symbols[i].Name, s.symbols[i].Name != ""
}

func (s sortsearch) find(pc uint64) (lazy.Symbol, bool) {
	i := sort.Search(len(s.symbols), func(k int) bool { return s.symbols[k].Address > pc }) - 1
	if i < 0 || s.symbols[i].Name == "" {
		return lazy.Symbol{}, false
	}
	sym := s.symbols[i]
	k := sort.Search(len(s.modules), func(k int) bool { return s.modules[k].Base > pc }) - 1
	if k < 0 || pc-s.modules[k].Base >= s.modules[k].Size || sym.Address < s.modules[k].Base {
		return lazy.Symbol{}, false
	}
	return lazy.Symbol{Name: sym.Name, Address: sym.Address, Offset: pc - sym.Address, Module: s.modules[k].Name}, true
}

// The contenders agree at the size that is made in no time, without -bench as
// well.
func TestContendersAgree(t *testing.T) {
	l := lookupsOf(t, counts[0].n)
	for _, tc := range []struct {
		contenders []contender
		addrs      []uint64
		hits       bool
	}{{l.exactly(), l.exact, true}, {l.exactly(), l.miss, false}, {l.floored(), l.floor, true}} {
		want := tc.contenders[0].sweep(tc.addrs)
		require.Equal(t, tc.hits, want > 0)
		for _, c := range tc.contenders {
			require.Equal(t, want, c.sweep(tc.addrs), c.impl)
		}
	}
}
