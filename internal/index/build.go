package index

import (
	"math/bits"
	"slices"

	"example.com/tracecache/internal/parallel"
	"example.com/tracecache/internal/view"
)

const (
	// perCluster is the number of entries for which there may be one cluster.
	// A cluster takes 48 bytes besides its buckets.
	perCluster = 256

	// maxClusters keeps the clusters, through which every search goes, in the
	// near caches of the processor.
	maxClusters = 4096
)

// New makes the index of entries, which are in ascending order (equal addresses
// are allowed), at most [math.MaxUint32] of them, and do not change any more. It
// takes O(len(entries)) time, on all processors. At cuts, ascending addresses, a
// cluster ends and another begins, unless they are too many. Where exact is set,
// there is a hash table, an [Exact], besides, which names are found by.
func New(entries []Entry, cuts []uint64, exact bool) *Index {
	x := &Index{entries: entries}
	if exact {
		x.exact = NewExact(entries)
	}
	if len(entries) < minTable || uint64(len(entries)) > maxTable {
		return x
	}
	limit := min(len(entries)/perCluster, maxClusters) - 1
	places := x.places(cuts)
	if len(places) > limit/2 {
		places = nil
	}
	gaps := gapsOf(entries)
	firsts := append(x.split(gaps.split(limit-len(places))), places...)
	slices.Sort(firsts)
	firsts = slices.Compact(firsts)
	x.lay(firsts)
	x.fill(firsts)
	return x
}

// places are where in the array cuts take it apart.
func (x *Index) places(cuts []uint64) (places []int) {
	for _, cut := range cuts {
		i := 1 + floor(x.entries, cut-1)
		if cut > 0 && i > 0 && i < len(x.entries) && (len(places) == 0 || places[len(places)-1] < i) {
			places = append(places, i)
		}
	}
	return places
}

// gaps are the distances from each address to the next one, by their number of
// bits.
type gaps [65]struct {
	n   int
	sum uint64
}

func gapsOf(entries []Entry) (all gaps) {
	parts := parallel.Parts(len(entries)-1, func(lo, hi int) (g gaps) {
		prev := entries[lo].Address
		for i := range entries[lo+1 : hi+1] {
			addr := entries[lo+1+i].Address
			k := &g[bits.Len64(addr-prev)]
			k.n++
			k.sum += addr - prev
			prev = addr
		}
		return g
	})
	for p := range parts {
		for k := range all {
			all[k].n += parts[p][k].n
			all[k].sum += parts[p][k].sum
		}
	}
	return all
}

// split is the number of bits of a gap from which on the array is taken apart:
// there are limit such gaps at most. Taking it apart at the most gaps leaves the
// least span to lay tables over; fewer are chosen where they leave little more.
func (g *gaps) split(limit int) (size int) {
	n := 0
	size = len(g)
	for size > 1 && n+g[size-1].n <= limit {
		size--
		n += g[size].n
	}
	var span uint64
	for _, k := range g[:size] {
		span += k.sum
	}
	for more := span / 4; size < len(g) && g[size].sum <= more; size++ {
		more -= g[size].sum
	}
	return size
}

// split is where the clusters start: at entry 0, and behind each gap of at least
// size bits.
func (x *Index) split(size int) []int {
	firsts := []int{0}
	if size > 64 {
		return firsts
	}
	parts := parallel.Parts(len(x.entries)-1, func(lo, hi int) (firsts []int) {
		least := uint64(1) << (size - 1)
		prev := x.entries[lo].Address
		for i := range x.entries[lo+1 : hi+1] {
			addr := x.entries[lo+1+i].Address
			if addr-prev >= least {
				firsts = append(firsts, lo+1+i)
			}
			prev = addr
		}
		return firsts
	})
	return append(firsts, slices.Concat(parts...)...)
}

// lay lays an empty table over each cluster.
func (x *Index) lay(firsts []int) {
	starts := make([]uint64, len(firsts))
	x.tables = make([]table, len(firsts))
	buckets := uint32(0)
	for c, first := range firsts {
		next := len(x.entries)
		if c+1 < len(firsts) {
			next = firsts[c+1]
		}
		x.tables[c] = newTable(x.entries[first:next], buckets)
		starts[c] = x.entries[first].Address
		buckets += x.tables[c].last + 1
	}
	x.clusters = NewRanges(starts, x.entries[len(x.entries)-1].Address)
	x.offs = view.Make[uint8](int(buckets) + 1)
	x.bases = make([]uint32, buckets>>groupBits+2)
}

func newTable(entries []Entry, first uint32) table {
	c := table{start: entries[0].Address, first: first}
	span := entries[len(entries)-1].Address - c.start
	if span == 0 {
		return c
	}
	n := max(1, min(uint64(len(entries))*3/2, span))
	c.last = uint32(n - 1)
	if span+1 == 0 {
		c.scale = n
	} else {
		c.scale, _ = bits.Div64(n, 0, span+1)
	}
	return c
}

// fill makes the table.
func (x *Index) fill(firsts []int) {
	// First offs says how many entries each bucket has, and bases, one further
	// on, where each group ends that has any.
	parallel.Each(len(x.entries), func(lo, hi int) {
		lo, hi = x.nextGroup(firsts, lo), x.nextGroup(firsts, hi) // no two write to one
		for c := clusterOf(firsts, lo); lo < hi; c++ {
			end := hi
			if c+1 < len(firsts) {
				end = min(hi, firsts[c+1])
			}
			x.count(&x.tables[c], lo, end)
			lo = end
		}
	})
	for g := range x.bases[1:] {
		x.bases[g+1] = max(x.bases[g+1], x.bases[g])
	}
	parallel.Each(len(x.bases)-1, func(lo, hi int) {
		for g := lo; g < hi; g++ {
			off := 0
			group := x.offs[g<<groupBits : min((g+1)<<groupBits, len(x.offs))]
			for i, n := range group {
				group[i] = uint8(min(off, far))
				off += int(n)
			}
		}
	})
}

// count counts the entries [lo, hi), all of one cluster.
func (x *Index) count(t *table, lo, hi int) {
	k := *t
	for i := lo; i < hi; i++ {
		b := k.bucket(x.entries[i].Address)
		n := uint32(x.offs[b]) + 1
		x.offs[b] = uint8(n - n>>8) // far stays far
		x.bases[b>>groupBits+1] = uint32(i) + 1
	}
}

// clusterOf is the cluster of entry i.
func clusterOf(firsts []int, i int) int {
	c, found := slices.BinarySearch(firsts, i)
	if !found {
		c--
	}
	return c
}

// nextGroup is the first entry from i on that is in another group of buckets than
// the one before it.
func (x *Index) nextGroup(firsts []int, i int) int {
	group := func(i int) uint64 {
		return x.tables[clusterOf(firsts, i)].bucket(x.entries[i].Address) >> groupBits
	}
	if i == 0 || i == len(x.entries) {
		return i
	}
	for g := group(i - 1); i < len(x.entries) && group(i) == g; i++ {
	}
	return i
}
