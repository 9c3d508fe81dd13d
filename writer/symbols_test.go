package writer

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"example.com/tracecache/trace"
)

func TestSortKeys(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for name, addr := range map[string]func() uint64{
		"random":  rng.Uint64,
		"dense":   func() uint64 { return rng.Uint64N(50) },
		"equal":   func() uint64 { return 7 },
		"high":    func() uint64 { return rng.Uint64() << 50 },
		"extreme": func() uint64 { return rng.Uint64N(2) * math.MaxUint64 },
		"modules": func() uint64 { return rng.Uint64N(8)<<61 + rng.Uint64N(1<<20) },
	} {
		for _, n := range []int{1, 2, 3, 100, 5000} {
			keys := make([]symbolKey, n)
			for i := range keys {
				keys[i] = symbolKey{addr(), uint32(i), rng.Uint32()}
			}
			want := slices.Clone(keys)
			slices.SortStableFunc(want, func(a, b symbolKey) int { return cmp.Compare(a.addr, b.addr) })
			assert.Equal(t, want, sortKeys(keys), "%d %s", n, name)
		}
	}
}

func TestSymbolList(t *testing.T) {
	for _, n := range []int{0, 1, chunkSymbols - 1, chunkSymbols, chunkSymbols + 1, 3*chunkSymbols + 1} {
		symbols := make([]trace.Symbol, n)
		for i := range symbols {
			symbols[i].Address = uint64(i)
		}
		collected, err := collect(&options{ctx: t.Context(), symbols: func(yield func(uint64, string) bool) {
			for _, s := range symbols {
				if !yield(s.Address, s.Name) {
					return
				}
			}
		}})
		assert.NoError(t, err)
		for _, l := range []symbolList{newSymbolList(symbols), collected} {
			assert.Equal(t, n, l.len())
			for i := range symbols {
				if l.at(uint32(i)).Address != uint64(i) {
					assert.Fail(t, "wrong symbol", "%d of %d", i, n)
				}
			}
		}
	}
}
