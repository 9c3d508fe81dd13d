package convert

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/tracecache/trace"
)

func TestLayout(t *testing.T) {
	all := []span{{0, 0x1000}}
	for _, tt := range []struct {
		name string
		fns  []function
		code []span
		want []trace.Symbol
	}{
		{"nothing", nil, all, []trace.Symbol{}},
		{"hole behind a function", []function{{addr: 0x10, size: 4, name: "a"}}, all,
			[]trace.Symbol{{Address: 0x10, Name: "a"}, {Address: 0x14}}},
		{"no hole between neighbours", []function{{addr: 0x14, size: 4, name: "b"}, {addr: 0x10, size: 4, name: "a"}}, all,
			[]trace.Symbol{{Address: 0x10, Name: "a"}, {Address: 0x14, Name: "b"}, {Address: 0x18}}},
		{"aliases by rank, then as given", []function{
			{addr: 0x10, size: 4, name: "c", rank: 1}, {addr: 0x10, size: 4, name: "b"}, {addr: 0x10, size: 4, name: "a"}}, all,
			[]trace.Symbol{{Address: 0x10, Name: "b"}, {Address: 0x10, Name: "a"}, {Address: 0x10, Name: "c"}, {Address: 0x14}}},
		{"one name once", []function{{addr: 0x10, size: 4, name: "a"}, {addr: 0x10, name: "a", rank: 1}}, all,
			[]trace.Symbol{{Address: 0x10, Name: "a"}, {Address: 0x14}}},
		{"outer name again", []function{{addr: 0x10, size: 16, name: "outer"}, {addr: 0x14, size: 4, name: "inner"}}, all,
			[]trace.Symbol{{Address: 0x10, Name: "outer"}, {Address: 0x14, Name: "inner"}, {Address: 0x18, Name: "outer"}, {Address: 0x20}}},
		{"both end together", []function{{addr: 0x10, size: 16, name: "outer"}, {addr: 0x14, size: 12, name: "inner"}}, all,
			[]trace.Symbol{{Address: 0x10, Name: "outer"}, {Address: 0x14, Name: "inner"}, {Address: 0x20}}},
		{"longer alias again", []function{{addr: 0x10, size: 4, name: "part"}, {addr: 0x10, size: 8, name: "whole", rank: 1}}, all,
			[]trace.Symbol{{Address: 0x10, Name: "part"}, {Address: 0x10, Name: "whole"}, {Address: 0x14, Name: "whole"}, {Address: 0x18}}},
		{"overlap without nesting", []function{{addr: 0x10, size: 8, name: "a"}, {addr: 0x14, size: 8, name: "b"}}, all,
			[]trace.Symbol{{Address: 0x10, Name: "a"}, {Address: 0x14, Name: "b"}, {Address: 0x1c}}},
		{"unsized reaches to the next", []function{{addr: 0x10, name: "a"}, {addr: 0x20, size: 1, name: "b"}}, all,
			[]trace.Symbol{{Address: 0x10, Name: "a"}, {Address: 0x20, Name: "b"}, {Address: 0x21}}},
		{"unsized reaches to the section's end", []function{{addr: 0x10, name: "a"}}, []span{{0x40, 0x50}, {0x10, 0x18}},
			[]trace.Symbol{{Address: 0x10, Name: "a"}, {Address: 0x18}}},
		{"unsized ends with the function around", []function{{addr: 0x10, size: 8, name: "outer"}, {addr: 0x14, name: "a"}, {addr: 0x40, size: 1, name: "b"}}, all,
			[]trace.Symbol{{Address: 0x10, Name: "outer"}, {Address: 0x14, Name: "a"}, {Address: 0x18}, {Address: 0x40, Name: "b"}, {Address: 0x41}}},
		{"unsized alias has its alias's size", []function{{addr: 0x10, name: "a", rank: 1}, {addr: 0x10, size: 4, name: "b"}}, all,
			[]trace.Symbol{{Address: 0x10, Name: "b"}, {Address: 0x10, Name: "a"}, {Address: 0x14}}},
		{"cut at the section's end", []function{{addr: 0x10, size: math.MaxUint64, name: "a"}}, []span{{0x10, 0x18}},
			[]trace.Symbol{{Address: 0x10, Name: "a"}, {Address: 0x18}}},
		{"outside of code", []function{{addr: 0x18, size: 4, name: "a"}, {addr: 0x8, name: "b"}}, []span{{0x10, 0x18}},
			[]trace.Symbol{}},
		{"nameless start ends an unsized function", []function{{addr: 0x10, name: "a"}, {addr: 0x20}, {addr: 0x30}}, all,
			[]trace.Symbol{{Address: 0x10, Name: "a"}, {Address: 0x20}}},
		{"nameless start has a size for its alias", []function{{addr: 0x10, name: "a"}, {addr: 0x10, size: 4, rank: 1}}, all,
			[]trace.Symbol{{Address: 0x10, Name: "a"}, {Address: 0x14}}},
		{"nameless start in a sized function", []function{{addr: 0x10, size: 8, name: "a"}, {addr: 0x14}}, all,
			[]trace.Symbol{{Address: 0x10, Name: "a"}, {Address: 0x18}}},
		{"no sections set no bounds", []function{{addr: 0x10, name: "a"}}, nil,
			[]trace.Symbol{{Address: 0x10, Name: "a"}}},
		{"end of the address space", []function{{addr: math.MaxUint64 - 1, size: 10, name: "a"}}, nil,
			[]trace.Symbol{{Address: math.MaxUint64 - 1, Name: "a"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, layout(tt.fns, tt.code))
		})
	}
}

// layoutName is what an address is called, straight from the rules: the names of
// the function around it that begins last, the lowest rank first.
func layoutName(fns []function, code []span, addr uint64) string {
	in := func(c span, a uint64) bool { return c.start <= a && a < c.end }
	end := func(f function) uint64 { // of a sized function
		for _, c := range code {
			if in(c, f.addr) {
				return min(f.addr+f.size, c.end)
			}
		}
		return f.addr
	}
	var best *function
	for i, f := range fns {
		size := f.size
		for _, g := range fns {
			if g.addr == f.addr && f.size == 0 {
				size = max(size, g.size)
			}
		}
		stop := end(function{addr: f.addr, size: size})
		if size == 0 {
			stop = end(function{addr: f.addr, size: 1 << 30})
			last := uint64(0) // start of the innermost sized function around
			for _, g := range fns {
				if g.addr > f.addr {
					stop = min(stop, g.addr)
				}
				if g.name != "" && g.size > 0 && g.addr < f.addr && f.addr < end(g) {
					last = max(last, g.addr)
				}
			}
			for _, g := range fns {
				if g.name != "" && g.size > 0 && g.addr == last && f.addr < end(g) && g.addr < f.addr {
					stop = min(stop, end(*firstAt(fns, end, last, f.addr)))
				}
			}
		}
		if f.name == "" || addr < f.addr || addr >= stop {
			continue
		}
		if best == nil || f.addr > best.addr || f.addr == best.addr && f.rank < best.rank {
			best = &fns[i]
		}
	}
	if best == nil {
		return ""
	}
	return best.name
}

// firstAt is the first function, by rank, that begins at start and is around
// addr.
func firstAt(fns []function, end func(function) uint64, start, addr uint64) *function {
	var first *function
	for i, f := range fns {
		if f.addr == start && f.name != "" && f.size > 0 && addr < end(f) && (first == nil || f.rank < first.rank) {
			first = &fns[i]
		}
	}
	return first
}

func TestLayoutOfAnything(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 3000 {
		const top = 48
		a, b := rng.Uint64N(top), rng.Uint64N(top)
		code := []span{{min(a, b), max(a, b)}, {max(a, b) + rng.Uint64N(4), top + 8}}
		fns := make([]function, rng.IntN(8))
		for i := range fns {
			fns[i] = function{addr: rng.Uint64N(top), size: rng.Uint64N(12), name: fmt.Sprint("f", i), rank: i}
			switch rng.IntN(6) {
			case 0:
				fns[i].size = 0
			case 1:
				fns[i].name, fns[i].size = "", 0
			}
		}
		given := slices.Clone(fns)
		syms := layout(slices.Clone(fns), slices.Clone(code))
		require.True(t, slices.IsSortedFunc(syms, func(a, b trace.Symbol) int { return cmp.Compare(a.Address, b.Address) }))
		inCode := slices.DeleteFunc(slices.Clone(given), func(f function) bool {
			return !slices.ContainsFunc(code, func(c span) bool { return c.start <= f.addr && f.addr < c.end })
		})
		for addr := range uint64(top + 16) {
			require.Equal(t, layoutName(inCode, code, addr), floor(syms, addr),
				"round %d, address %d, functions %+v, code %v, symbols %v", round, addr, given, code, syms)
		}
	}
}

func BenchmarkLayout(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	fns := make([]function, 1<<16)
	for i := range fns {
		fns[i] = function{addr: rng.Uint64N(1 << 24), size: rng.Uint64N(512), name: "f"}
	}
	for b.Loop() {
		layout(slices.Clone(fns), []span{{0, 1 << 25}})
	}
}
