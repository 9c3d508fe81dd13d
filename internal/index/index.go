// Package index finds addresses in an ascending array, and names by address.
//
// [Index] answers where in the array an address belongs. It takes the array apart
// where neighbours lie far from each other, and lays over each part, which is
// called a cluster, a table of equally wide buckets that says where in the array
// each bucket starts. Three steps then lead to the place: the cluster, the
// bucket, and the few entries in it.
//
// [Exact] answers exact addresses only, and faster: it is a hash table.
package index

import (
	"math"
	"math/bits"
	"sort"
	"structs"
)

// Entry is an address and where its name lies among the bytes of all names. It
// has the layout of a symbol record, so an array of records can be seen as one
// of entries.
type Entry struct {
	_       structs.HostLayout
	Address uint64
	Off     uint32 // of the name's first byte
	Len     uint32 // of the name in bytes; 0: the entry has none
}

const (
	// window is how many entries of a bucket are compared without a branch.
	window = 3

	// maxScan is how many entries of a bucket more than the window are compared
	// one after another.
	maxScan = 12

	// far in place of a distance says that it is as far or farther.
	far = math.MaxUint8

	// groupBits: a group is 1<<groupBits buckets.
	groupBits = 5

	// minTable is the number of entries from which on there is a table. Below,
	// a table takes more than 2 bytes an entry and saves nothing.
	minTable = 256

	// maxTable is the number of entries up to which 32 bits number the buckets.
	maxTable = 1 << 31
)

// Index finds addresses in an ascending array of entries. It takes at most 2
// bytes an entry, its own fixed size aside. It is safe for concurrent use.
type Index struct {
	entries  []Entry
	clusters Ranges
	tables   []table  // of each cluster; empty where there are few entries
	bases    []uint32 // where in entries each group of buckets starts, and len(entries)
	offs     []uint8  // how far behind its group's start each bucket starts, and once more
	exact    *Exact   // nil: not asked for
}

// table says which buckets a cluster has. The address off behind its start is in
// its bucket off*scale >> 64, and in the last one where that is beyond.
type table struct {
	start uint64 // address of the cluster's first entry
	scale uint64
	first uint32 // bucket of the index
	last  uint32 // bucket of the cluster
}

func (t *table) bucket(addr uint64) uint64 {
	b, _ := bits.Mul64(addr-t.start, t.scale)
	return min(b, uint64(t.last)) + uint64(t.first)
}

// Entries is the array.
func (x *Index) Entries() []Entry { return x.entries }

// Size is the memory of the index in bytes, with that of its hash table.
func (x *Index) Size() int {
	n := x.clusters.Size() + len(x.tables)*24 + len(x.bases)*4 + len(x.offs)
	if x.exact != nil {
		n += x.exact.Size()
	}
	return n
}

// Name is where the name of exactly the address addr is, that of the first entry
// that has this address and a name; n is 0 where there is none.
func (x *Index) Name(addr uint64) (off, n uint32) {
	if x.exact != nil {
		return x.exact.Name(addr)
	}
	// What nearly always is: the entry is one of the first in its bucket.
	if c := x.clusters.Guess(addr); uint(c) < uint(len(x.tables)) && addr >= x.tables[c].start {
		b := x.tables[c].bucket(addr)
		start := uint64(x.bases[b>>groupBits]) + uint64(x.offs[b])
		if start+2 < uint64(len(x.entries)) {
			_, below0 := bits.Sub64(x.entries[start].Address, addr, 0)
			_, below1 := bits.Sub64(x.entries[start+1].Address, addr, 0)
			for at := start + below0 + below1; at <= start+maxScan && at < uint64(len(x.entries)); at++ {
				e := &x.entries[at]
				if e.Address == addr && e.Len != 0 {
					return e.Off, e.Len
				}
				if e.Address > addr {
					return 0, 0
				}
			}
		}
	}
	return x.name(addr)
}

// name is Name for any address.
func (x *Index) name(addr uint64) (off, n uint32) {
	if at := x.Floor(addr); at >= 0 && x.entries[at].Address == addr {
		return x.NameAt(x.First(at))
	}
	return 0, 0
}

// NameAt is the first name among the entries from place i on that have the address
// of the one there; n is 0 where none has one.
func (x *Index) NameAt(i int) (off, n uint32) {
	addr := x.entries[i].Address
	for ; i < len(x.entries) && x.entries[i].Address == addr; i++ {
		if e := &x.entries[i]; e.Len != 0 {
			return e.Off, e.Len
		}
	}
	return 0, 0
}

// First is the place of the first entry that has the same address as the one at
// place i; -1 where i is. It takes O(log k) time for k such entries.
func (x *Index) First(i int) int {
	if i <= 0 || x.entries[i-1].Address != x.entries[i].Address {
		return i
	}
	addr, step := x.entries[i].Address, 1
	for step <= i && x.entries[i-step].Address == addr {
		step *= 2
	}
	lo := max(i-step, -1) + 1 // nothing in front of lo has the address
	return lo + sort.Search(i-lo, func(k int) bool { return x.entries[lo+k].Address == addr })
}

// Floor is the place of the last entry at or below addr; -1 where there is none.
// It takes constant time for addresses that lie evenly in each cluster, and
// O(log n) for any.
func (x *Index) Floor(addr uint64) int {
	i, _ := x.Locate(addr)
	return i
}

// Locate is [Index.Floor] and the cluster that the place is in, if there are
// clusters; else that is -1.
func (x *Index) Locate(addr uint64) (i, cluster int) {
	if c := x.clusters.Guess(addr); uint(c) < uint(len(x.tables)) && addr >= x.tables[c].start {
		b := x.tables[c].bucket(addr)
		start := uint64(x.bases[b>>groupBits]) + uint64(x.offs[b])
		if i := x.near(start, addr); i != elsewhere {
			return i, c
		}
	}
	return x.locate(addr)
}

// Clusters is the number of clusters.
func (x *Index) Clusters() int { return len(x.tables) }

// ClusterStart is the address of a cluster's first entry.
func (x *Index) ClusterStart(cluster int) uint64 { return x.tables[cluster].start }

// nowhere is what bucketStart returns for an address that has no bucket.
const nowhere = math.MaxUint64 - window

// bucketStart is where in entries the bucket of addr starts.
func (x *Index) bucketStart(addr uint64) uint64 {
	if c := x.clusters.At(addr); uint(c) < uint(len(x.tables)) {
		b := x.tables[c].bucket(addr)
		return uint64(x.bases[b>>groupBits]) + uint64(x.offs[b])
	}
	return nowhere
}

// elsewhere is what near returns where it has not found the place.
const elsewhere = -2

// near is Floor for an address whose bucket starts at place start, if it is not far
// behind. The first entries are compared without a branch.
func (x *Index) near(start, addr uint64) int {
	if start+2 >= uint64(len(x.entries)) {
		return elsewhere
	}
	_, above0 := bits.Sub64(addr, x.entries[start].Address, 0)
	_, above1 := bits.Sub64(addr, x.entries[start+1].Address, 0)
	_, above2 := bits.Sub64(addr, x.entries[start+2].Address, 0)
	if above := above0 + above1 + above2; above != 0 {
		return int(start+2) - int(above)
	}
	for at := start + window; at <= start+maxScan && at < uint64(len(x.entries)); at++ {
		if x.entries[at].Address > addr {
			return int(at) - 1
		}
	}
	return elsewhere
}

// locate is Locate for any address.
func (x *Index) locate(addr uint64) (i, cluster int) {
	if len(x.tables) == 0 {
		return floor(x.entries, addr), -1
	}
	c := x.clusters.At(addr)
	if c < 0 {
		return -1, -1
	}
	b := x.tables[c].bucket(addr)
	lo := int(x.bases[b>>groupBits]) + int(x.offs[b])
	b++
	hi := int(x.bases[b>>groupBits]) + int(x.offs[b])
	if x.offs[b] == far {
		hi = int(x.bases[b>>groupBits+1])
	}
	return lo + floor(x.entries[lo:hi], addr), c
}

// floor is a binary search for the last entry at or below addr.
func floor(entries []Entry, addr uint64) int {
	return sort.Search(len(entries), func(i int) bool { return entries[i].Address > addr }) - 1
}
