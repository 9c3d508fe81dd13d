package index

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/tracecache/internal/gen"
)

// shapes make n addresses, in any order.
var shapes = map[string]func(rng *rand.Rand, n int) []uint64{
	"uniform": func(rng *rand.Rand, n int) []uint64 { return fill(n, func(int) uint64 { return rng.Uint64() }) },
	"dense":   func(_ *rand.Rand, n int) []uint64 { return fill(n, func(i int) uint64 { return 1<<40 + uint64(i) }) },
	"at zero": func(_ *rand.Rand, n int) []uint64 { return fill(n, func(i int) uint64 { return uint64(i) }) },
	"at end": func(_ *rand.Rand, n int) []uint64 {
		return fill(n, func(i int) uint64 { return math.MaxUint64 - uint64(i) })
	},
	"one": func(_ *rand.Rand, n int) []uint64 { return fill(n, func(int) uint64 { return 0x1234 }) },
	"aliases": func(rng *rand.Rand, n int) []uint64 {
		return fill(n, func(int) uint64 { return 16 * rng.Uint64N(uint64(n)/3+1) })
	},
	"both ends": func(_ *rand.Rand, n int) []uint64 {
		return fill(n, func(i int) uint64 { return uint64(i/2) ^ -uint64(i&1) })
	},
	"powers": func(_ *rand.Rand, n int) []uint64 {
		return fill(n, func(i int) uint64 { return 1<<(i%64) + uint64(i/64) })
	},
	"gaps of powers": func(rng *rand.Rand, n int) []uint64 {
		var at uint64
		return fill(n, func(int) uint64 { at += 1 << rng.IntN(50); return at })
	},
	"dense and uniform": func(rng *rand.Rand, n int) []uint64 {
		return fill(n, func(i int) uint64 {
			if i%10 == 0 {
				return rng.Uint64()
			}
			return 1<<50 + 16*uint64(i)
		})
	},
	"a process": func(rng *rand.Rand, n int) []uint64 { // code of a program and of libraries
		return fill(n, func(i int) uint64 {
			if i%3 == 0 {
				return 0x5555_5540_0000 + rng.Uint64N(64<<20)
			}
			return 0x7f12_0000_0000 + rng.Uint64N(60)*(9<<20) + rng.Uint64N(1<<20)
		})
	},
	"clusters in clusters": func(rng *rand.Rand, n int) []uint64 {
		return fill(n, func(int) uint64 {
			var a uint64
			for shift := 4; shift < 64; shift += 12 {
				a |= rng.Uint64N(4) << shift
			}
			return a
		})
	},
	"modules": func(_ *rand.Rand, n int) []uint64 {
		m := gen.Model(gen.Config{Seed: 3, Symbols: n})
		return fill(n, func(i int) uint64 { return m.Symbols[i].Address })
	},
}

func fill(n int, addr func(i int) uint64) []uint64 {
	addrs := make([]uint64, n)
	for i := range addrs {
		addrs[i] = addr(i)
	}
	return addrs
}

// named makes ascending entries of which two thirds have a name. That of entry i is
// at i.
func named(rng *rand.Rand, addrs []uint64) []Entry {
	slices.Sort(addrs)
	entries := make([]Entry, len(addrs))
	for i, a := range addrs {
		entries[i] = Entry{Address: a, Off: uint32(i), Len: rng.Uint32N(3)}
	}
	return entries
}

// queries are addresses in and around those of entries.
func queries(rng *rand.Rand, entries []Entry, n int) []uint64 {
	at := []uint64{0, 1, math.MaxUint64 - 1, math.MaxUint64, 1 << 63}
	for len(entries) > 0 && len(at) < n {
		i := rng.IntN(len(entries))
		if len(at) < n/4 {
			i = min(len(at)/2, i)
		}
		a := entries[i].Address
		at = append(at, a, a-1, a+1, a+rng.Uint64N(1000), rng.Uint64())
	}
	return at
}

// scan is the last entry at or below addr, and the first with a name of those at
// addr, found by looking at all of them.
func scan(entries []Entry, addr uint64) (floor int, name Entry) {
	floor = -1
	for i, e := range entries {
		if e.Address <= addr {
			floor = i
		}
		if e.Address == addr && e.Len != 0 && name.Len == 0 {
			name = e
		}
	}
	return floor, name
}

func check(t *testing.T, entries []Entry, addrs []uint64) {
	t.Helper()
	cuts := slices.Sorted(slices.Values(addrs[:min(len(addrs), 5)]))
	x, exact := New(entries, cuts, false), New(entries, nil, true)
	require.LessOrEqual(t, x.Size(), 2*len(entries), "bytes of the index of %d entries", len(entries))
	require.LessOrEqual(t, exact.Size()-exact.exact.Size(), 2*len(entries), "and beside a hash table")
	checkCuts(t, x, entries, cuts)
	require.LessOrEqual(t, exact.exact.Size(), 32*max(1, len(entries)), "bytes of the exact index")
	for group := range slices.Chunk(addrs, BatchSize) {
		var batch [BatchSize]uint64
		copy(batch[:], group)
		floors := x.Floors(&batch)
		offs, ns := x.Names(&batch)
		exactOffs, exactNs := exact.Names(&batch)
		for k, addr := range batch {
			floor, name := scan(entries, addr)
			off, n := x.Name(addr)
			exactOff, exactN := exact.Name(addr)
			if floor != x.Floor(addr) || floor != floors[k] {
				require.Fail(t, "floor", "%#x: %d, %d in a batch, expected %d", addr, x.Floor(addr), floors[k], floor)
			}
			for _, got := range [][2]uint32{{off, n}, {exactOff, exactN}, {offs[k], ns[k]}, {exactOffs[k], exactNs[k]}} {
				if got[1] != name.Len || name.Len != 0 && got[0] != name.Off {
					require.Fail(t, "name", "%#x: %v, expected %v", addr, got, name)
				}
			}
			if floor >= 0 {
				first := slices.IndexFunc(entries, func(e Entry) bool { return e.Address == entries[floor].Address })
				require.Equal(t, first, x.First(floor))
			}
		}
	}
}

// checkCuts sees that no cluster goes over a cut, and that Locate tells the cluster.
func checkCuts(t *testing.T, x *Index, entries []Entry, cuts []uint64) {
	t.Helper()
	if x.Clusters() < 2*len(cuts)+2 {
		return // they may have been too many
	}
	for i, e := range entries {
		at, cluster := x.Locate(e.Address)
		start := x.ClusterStart(cluster)
		if at < i || start > e.Address || cluster+1 < x.Clusters() && e.Address >= x.ClusterStart(cluster+1) {
			require.Fail(t, "cluster", "%#x at %d: place %d, cluster %d from %#x on", e.Address, i, at, cluster, start)
		}
		for _, cut := range cuts {
			if start < cut && cut <= e.Address {
				require.Fail(t, "cut", "%#x is in the cluster of %#x, cut at %#x", e.Address, start, cut)
			}
		}
	}
}

// Every search gives what looking at all entries gives, and the index is small,
// whatever the addresses.
func TestSearches(t *testing.T) {
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 1))
			for _, n := range []int{0, 1, 2, 3, 10, minTable - 1, minTable, minTable + 1, 200, 256, 1000, 1023, 5000} {
				entries := named(rng, shape(rng, n))
				check(t, entries, queries(rng, entries, 300))
			}
			for range 20 {
				entries := named(rng, shape(rng, rng.IntN(2000)))
				check(t, entries, queries(rng, entries, 100))
			}
		})
	}
}

// Parts of large arrays are worked on at once.
func TestLargeArrays(t *testing.T) {
	n := 70_000
	if testing.Short() {
		n = 20_000
	}
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			entries := named(rng, shape(rng, n))
			check(t, entries, queries(rng, entries, 64))
			x := New(entries, nil, false)
			for i := range entries {
				if i+1 < len(entries) && entries[i].Address == entries[i+1].Address {
					continue
				}
				if got := x.Floor(entries[i].Address); got != i {
					require.Equal(t, i, got)
				}
			}
		})
	}
}

func TestSizes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	for name, shape := range shapes {
		for n := 1; n < 300_000; n += 1 + n/3 + rng.IntN(3) {
			x := New(named(rng, shape(rng, n)), nil, false)
			assert.LessOrEqual(t, x.Size(), 2*n, "%s, %d entries", name, n)
		}
	}
}

// Which range is found is what looking at all starts gives.
func TestRanges(t *testing.T) {
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 4))
			for range 30 {
				starts := shape(rng, rng.IntN(300))
				slices.Sort(starts)
				starts = slices.Compact(starts)
				last := uint64(math.MaxUint64)
				if len(starts) > 0 && rng.IntN(2) == 0 {
					last = starts[len(starts)-1]
				}
				r := NewRanges(starts, last)
				entries := named(rng, starts)
				for _, addr := range queries(rng, entries, 200) {
					want, _ := scan(entries, addr)
					require.Equal(t, want, r.At(addr), "%#x", addr)
					if i := r.Guess(addr); i >= 0 && addr >= starts[i] {
						require.Equal(t, want, i, "%#x", addr)
					}
				}
			}
		})
	}
}

// However the addresses lie, hardly any is far from where it should be.
func TestProbesAreShort(t *testing.T) {
	// No luck with the seeds is needed.
	defer func(was [3]uint64) { seeds = was }(seeds)
	for round := range uint64(12) {
		rng := rand.New(rand.NewPCG(round, 6))
		seeds = [3]uint64{rng.Uint64(), rng.Uint64() | 1, rng.Uint64() | 1}
		probesAreShort(t)
	}
}

func probesAreShort(t *testing.T) {
	for name, shape := range shapes {
		rng := rand.New(rand.NewPCG(1, 5))
		entries := named(rng, shape(rng, 20_000))
		x := NewExact(entries)
		sum, n := 0, 0
		for i, e := range x.slots {
			if e.Len != 0 {
				sum += (i - x.home(e.Address) + len(x.slots)) % len(x.slots)
				n++
			}
		}
		assert.Less(t, float64(sum), float64(n)+100, name) // half a step on average
	}
}
