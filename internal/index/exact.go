package index

import (
	"math/bits"
	"math/rand/v2"

	"example.com/tracecache/internal/parallel"
	"example.com/tracecache/internal/view"
)

// Exact finds the name of an address. It is a hash table with open addressing,
// half full, of at most 32 bytes for each name. The hash depends on random numbers
// of the process, so no file can be made that searches take long in. It is safe
// for concurrent use.
type Exact struct {
	slots []Entry // Len 0: free
}

// seeds are the random numbers that hashes depend on.
var seeds = [3]uint64{rand.Uint64(), rand.Uint64() | 1, rand.Uint64() | 1}

// NewExact makes the table of ascending entries. Those without a name are left
// out, and of those with one address the first counts. It takes O(len(entries))
// time, on all processors.
func NewExact(entries []Entry) *Exact {
	x := &Exact{slots: view.Make[Entry](2 * max(countNamed(entries), 1))}
	// Each part of the entries would write all over the table; each part of the
	// table is written by one goroutine that goes over all entries.
	late := parallel.Parts(len(x.slots), func(lo, hi int) (late []Entry) {
		for i := range entries {
			e := &entries[i]
			if e.Len == 0 {
				continue
			}
			if at := x.home(e.Address); at >= lo && at < hi && !x.insert(e, at, hi) {
				late = append(late, *e)
			}
		}
		return late
	})
	for _, part := range late {
		for i := range part {
			// From its home to the end of its part no slot is free.
			if e, at := &part[i], x.home(part[i].Address); !x.insert(e, at, len(x.slots)) {
				x.insert(e, 0, at)
			}
		}
	}
	return x
}

// countNamed is the number of names, one at an address, or a few more.
func countNamed(entries []Entry) (n int) {
	for _, part := range parallel.Parts(len(entries), func(lo, hi int) (n int) {
		var prev Entry
		for _, e := range entries[lo:hi] {
			if e.Len != 0 && (e.Address != prev.Address || prev.Len == 0) {
				n++
			}
			prev = e
		}
		return n
	}) {
		n += part
	}
	return n
}

// insert puts e into the first of the slots [at, hi) that is free, unless its
// address is found first. It reports whether either was possible.
func (x *Exact) insert(e *Entry, at, hi int) bool {
	for ; at < hi; at++ {
		switch s := &x.slots[at]; {
		case s.Len == 0:
			*s = *e
			return true
		case s.Address == e.Address:
			return true
		}
	}
	return false
}

// Size is the memory of the table in bytes.
func (x *Exact) Size() int { return 16 * len(x.slots) }

// Name is where the name of exactly the address addr is; n is 0 where there is
// none. It takes constant time.
func (x *Exact) Name(addr uint64) (off, n uint32) {
	for at := x.home(addr); ; at++ {
		if at == len(x.slots) {
			at = 0
		}
		if e := &x.slots[at]; e.Address == addr || e.Len == 0 {
			return e.Off, e.Len
		}
	}
}

// home is the slot where the search for an address begins.
func (x *Exact) home(addr uint64) int {
	hi, lo := bits.Mul64(addr^seeds[0], seeds[1])
	// Both halves grow evenly with addresses that do, by how much the seeds decide.
	// The second factor takes that apart, or one process in ten would have ten times
	// the steps.
	at, _ := bits.Mul64((hi^lo)*seeds[2], uint64(len(x.slots)))
	return int(at)
}
