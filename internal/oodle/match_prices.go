package oodle

import "math/bits"

const (
	priceBits = 5
	priceBit  = 1 << priceBits // a bit, in the unit of prices
	minPrice  = priceBit / 2
	maxPrice  = 12 * priceBit
)

// prices are what the bytes of the arrays are expected to take.
type prices struct {
	lit, cmd, high, low [256]int32

	// more is the price of the commands that a match of so many bytes needs
	// behind its first one.
	more [minLongNear]int32

	deltas bool // lit is for differences
}

// set makes the prices those of a chunk parsed before.
func (p *prices) set(t *chunkTables, h *huffWriter) {
	p.deltas = t.useDeltas
	lits := &t.litPlan
	list := t.lits
	if p.deltas {
		lits, list = &t.deltaPlan, t.deltas
	}
	p.array(&p.lit, lits, list, h)
	p.array(&p.cmd, &t.cmdPlan, t.cmds, h)
	if t.splitNear {
		p.array(&p.high, &t.highPlan, t.high, h)
		p.array(&p.low, &t.lowPlan, t.low, h)
	} else {
		flat(&p.high)
		flat(&p.low)
	}
	for n := range p.more {
		p.more[n] = 0
		if n > maxCommandMatch {
			rest := min(n-maxCommandMatch, maxCommandMatch)
			p.more[n] = p.more[n-rest] + p.cmd[commandRepeat|rest<<3]
		}
	}
}

// flat sets prices of a raw array.
func flat(price *[256]int32) {
	for i := range price {
		price[i] = 8 * priceBit
	}
}

// array sets the prices of the array b, stored as planned.
func (p *prices) array(price *[256]int32, plan *arrayPlan, b []byte, h *huffWriter) {
	if plan.raw {
		flat(price)
		return
	}
	h.count(b)
	total := log2(uint32(len(b)))
	for s, n := range h.hist {
		price[s] = maxPrice
		if n > 0 {
			price[s] = min(maxPrice, max(minPrice, total-log2(n)))
		}
	}
}

// log2 is the logarithm of n, which is not 0, in units of 1/priceBit. It is made of
// whole numbers so that it is the same on every machine.
func log2(n uint32) int32 {
	whole := bits.Len32(n) - 1
	x := uint64(n) << (31 - whole) // n as a number from 1 to 2, 31 bits behind the point
	v := int32(whole)
	for range priceBits {
		x = x * x >> 31
		v = v<<1 | int32(x>>32)
		x >>= x >> 32
	}
	return v
}
