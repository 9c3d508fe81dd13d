package oodle

import (
	"math/bits"
	"slices"
)

// huffCode is a prefix code for bytes, no code longer than maxCode.
type huffCode struct {
	lens  [256]uint8  // 0: the byte does not occur
	codes [256]uint16 // the first bit of the code is the lowest
	used  int         // how many bytes occur
}

// huffScratch is what it takes to make a code.
type huffScratch struct {
	sorted [256]uint32 // the bytes that occur, rarest first: count<<8 | byte
	coins  [2][512]uint32
	isLeaf [maxCode][512]bool
}

// build makes the code for a histogram of at least two bytes.
func (c *huffCode) build(hist *[256]uint32, h *huffScratch) {
	c.used = 0
	for s, n := range hist {
		c.lens[s] = 0
		if n > 0 {
			h.sorted[c.used] = n<<8 | uint32(s)
			c.used++
		}
	}
	leaves := h.sorted[:c.used]
	slices.Sort(leaves)
	c.packageMerge(leaves, h)
	c.assign()
}

// packageMerge sets the lengths of the best code. A byte whose code has n bits
// pays with one coin for each of the lengths 1 to n; the coins of all bytes for
// the greatest length, and then those for each length below together with pairs
// of coins from the length above, are sorted by their weight, and of the last
// list as many are bought as make a complete code.
func (c *huffCode) packageMerge(leaves []uint32, h *huffScratch) {
	bought := 2 * (len(leaves) - 1)
	pairs := 0 // in list
	var list *[512]uint32
	for length := maxCode - 1; length >= 0; length-- {
		next := &h.coins[length&1]
		isLeaf := &h.isLeaf[length]
		n, leaf, pair := 0, 0, 0
		for n < bought && (leaf < len(leaves) || pair < pairs) {
			var both uint32
			if pair < pairs {
				both = list[2*pair] + list[2*pair+1]
			}
			if isLeaf[n] = leaf < len(leaves) && (pair == pairs || leaves[leaf]>>8 <= both); isLeaf[n] {
				next[n] = leaves[leaf] >> 8
				leaf++
			} else {
				next[n] = both
				pair++
			}
			n++
		}
		list, pairs = next, n/2
	}
	for length := range h.isLeaf {
		n := 0
		for _, leaf := range h.isLeaf[length][:bought] {
			if leaf {
				c.lens[byte(leaves[n])]++
				n++
			}
		}
		bought = 2 * (bought - n)
	}
}

// assign gives out the codes: ascending by length, then by byte.
func (c *huffCode) assign() {
	var next [maxCode + 2]uint16
	for _, n := range c.lens {
		next[n+1]++
	}
	next[1] = 0 // bytes that do not occur
	code := uint16(0)
	for n := 1; n <= maxCode; n++ {
		code = (code + next[n]) << 1
		next[n] = code
	}
	for s, n := range c.lens {
		if n > 0 {
			c.codes[s] = bits.Reverse16(next[n]) >> (16 - n)
			next[n]++
		}
	}
}

// cost is the number of bits that the code takes for a histogram.
func (c *huffCode) cost(hist *[256]uint32) int {
	n := 0
	for s, k := range hist {
		n += int(k) * int(c.lens[s])
	}
	return n
}
