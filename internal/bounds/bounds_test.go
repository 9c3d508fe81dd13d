package bounds

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// linear applies the rules to one address, word by word.
func linear(modules []Module, addr uint64) int {
	best := None
	for i, m := range modules {
		if addr < m.Base {
			continue
		}
		if m.Size != 0 {
			if addr-m.Base >= m.Size {
				continue
			}
		} else {
			ended := false
			for _, other := range modules {
				if other.Base > m.Base && addr >= other.Base {
					ended = true
				}
			}
			if ended {
				continue
			}
		}
		if best == None || m.Base > modules[best].Base {
			best = i
		}
	}
	return best
}

func TestRules(t *testing.T) {
	const end = math.MaxUint64
	for _, tc := range []struct {
		name    string
		modules []Module
		want    map[uint64]int
	}{
		{"none", nil, map[uint64]int{0: None, 5: None, end: None}},
		{"one", []Module{{100, 10}}, map[uint64]int{99: None, 100: 0, 109: 0, 110: None}},
		{"unsized up to the next", []Module{{300, 5}, {100, 0}}, map[uint64]int{99: None, 100: 1, 299: 1, 300: 0, 305: None}},
		{"unsized to the end", []Module{{100, 0}}, map[uint64]int{100: 0, end: 0}},
		{"one in another", []Module{{100, 100}, {150, 10}}, map[uint64]int{149: 0, 150: 1, 159: 1, 160: 0, 199: 0, 200: None}},
		{"overlap", []Module{{100, 100}, {150, 100}}, map[uint64]int{149: 0, 150: 1, 199: 1, 200: 1, 249: 1, 250: None}},
		{"one Base", []Module{{100, 10}, {100, 20}}, map[uint64]int{100: 0, 109: 0, 110: 1, 119: 1, 120: None}},
		{"one Base, the longer first", []Module{{100, 20}, {100, 10}}, map[uint64]int{100: 0, 119: 0, 120: None}},
		{"beyond the end", []Module{{end - 4, 100}}, map[uint64]int{end - 5: None, end - 4: 0, end: 0}},
		{"all there is", []Module{{0, end}}, map[uint64]int{0: 0, end - 1: 0, end: None}},
		{"the last address", []Module{{end, 1}}, map[uint64]int{end - 1: None, end: 0}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := New(tc.modules)
			assert.Equal(t, len(tc.modules), m.Len())
			for addr, want := range tc.want {
				assert.Equal(t, want, m.At(addr), "%#x", addr)
				assert.Equal(t, want, linear(tc.modules, addr), "%#x by the words", addr)
			}
		})
	}
}

func TestAgreesWithTheRules(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		modules := make([]Module, rng.IntN(7))
		for i := range modules {
			modules[i] = Module{rng.Uint64N(40), rng.Uint64N(15)}
			if rng.IntN(8) == 0 {
				modules[i].Base += math.MaxUint64 - 45
			}
			if rng.IntN(16) == 0 {
				modules[i].Size = math.MaxUint64 - rng.Uint64N(50)
			}
		}
		m := New(modules)
		for addr := range uint64(64) {
			for _, addr := range []uint64{addr, math.MaxUint64 - addr} {
				require.Equal(t, linear(modules, addr), m.At(addr), "%#x in %+v", addr, modules)
				checkRange(t, modules, &m, addr)
			}
		}
	}
}

// checkRange sees that the range of addr has one owner, and that every edge near
// addr is one of the edges.
func checkRange(t *testing.T, modules []Module, m *Map, addr uint64) {
	t.Helper()
	want := linear(modules, addr)
	module, first, last := m.Range(addr)
	require.Equal(t, want, module)
	if module != None {
		require.True(t, first <= addr && addr <= last)
		for _, a := range []uint64{first, first + (addr-first)/2, addr + (last-addr)/2, last} {
			require.Equal(t, want, linear(modules, a), "%#x, of the range of %#x in %+v", a, addr, modules)
		}
	}
	edges := m.Edges()
	require.True(t, slices.IsSorted(edges))
	if addr > 0 && linear(modules, addr-1) != want {
		require.Contains(t, edges, addr, "in %+v", modules)
	}
}
