package index

import "math/bits"

// Ranges finds which of a few disjoint ranges of addresses an address may lie in.
// The zero Ranges is empty. It is safe for concurrent use.
type Ranges struct {
	starts []uint64 // ascending
	first  uint64
	shift  uint8

	// slots has for each 1<<shift addresses from starts[0] on the last range
	// that starts in or before them.
	slots []uint32
}

// slotsPerRange bounds the slots. More leave fewer starts to choose from in one.
const slotsPerRange = 4

// NewRanges takes the first addresses of ranges, in strictly ascending order,
// and keeps them; last is the last address of the last range. It takes
// O(len(starts)) time.
func NewRanges(starts []uint64, last uint64) Ranges {
	r := Ranges{starts: starts}
	if len(starts) == 0 {
		return r
	}
	r.first = starts[0]
	span := last - r.first
	for span>>r.shift >= uint64(slotsPerRange*len(starts)) {
		r.shift++
	}
	r.slots = make([]uint32, span>>r.shift+1)
	at := 0
	for slot := range r.slots {
		for at+1 < len(starts) && (starts[at+1]-r.first)>>r.shift <= uint64(slot) {
			at++
		}
		r.slots[slot] = uint32(at)
	}
	return r
}

// Len is the number of ranges.
func (r *Ranges) Len() int { return len(r.starts) }

// Size is the memory of the ranges in bytes.
func (r *Ranges) Size() int { return 8*len(r.starts) + 4*len(r.slots) }

// At is the last range that starts at or below addr; -1 where there is none. It
// takes constant time where the ranges lie evenly, and O(log n) for any.
func (r *Ranges) At(addr uint64) int {
	if i := r.Guess(addr); i >= 0 && addr >= r.starts[i] {
		return i
	}
	return r.search(addr)
}

// Guess is what [Ranges.At] is, if that range starts at or below addr; -1 where
// it cannot be told. It is for callers who know where the ranges start, and takes
// next to no time.
func (r *Ranges) Guess(addr uint64) int {
	slot := (addr - r.first) >> (r.shift & 63)
	if slot >= uint64(len(r.slots)) {
		return -1
	}
	return int(r.slots[slot])
}

// search is At for any address.
func (r *Ranges) search(addr uint64) int {
	if len(r.starts) == 0 || addr < r.first {
		return -1
	}
	at, n := uint64(0), uint64(len(r.starts)-1)
	if slot := (addr - r.first) >> r.shift; slot < uint64(len(r.slots)) {
		n = uint64(r.slots[slot])
		if slot > 0 {
			at = uint64(r.slots[slot-1])
		}
		n -= at
	}
	// How often this turns depends on the slot alone, and which half is taken is
	// arithmetic: nothing for the processor to guess wrong.
	for n > 0 {
		half := (n + 1) / 2
		_, above := bits.Sub64(addr, r.starts[at+half], 0)
		at += half &^ -above
		n -= half
	}
	return int(at)
}
