package oodle

import "math/bits"

// maxSparse is the most bytes that a sparse table is shorter for than the other
// kind.
const maxSparse = 4

// appendTable appends the code's lengths as a decoder reads them.
func (c *huffCode) appendTable(dst []byte) []byte {
	w := tableWriter{out: dst}
	if c.used <= maxSparse {
		c.sparse(&w)
	} else {
		c.dense(&w)
	}
	return w.flush()
}

// sparse writes each byte beside its length.
func (c *huffCode) sparse(w *tableWriter) {
	w.put(0, 2) // the old kind of table, sparse
	w.put(c.used, 8)
	longest := uint8(0)
	for _, n := range c.lens {
		longest = max(longest, n)
	}
	width := bits.Len8(longest - 1)
	w.put(width, 3)
	for s, n := range c.lens {
		if n > 0 {
			w.put(s, 8)
			w.put(int(n)-1, width)
		}
	}
}

// dense writes the lengths, each as the difference to the average of those
// before, and then the runs of bytes that they belong to.
func (c *huffCode) dense(w *tableWriter) {
	var diffs [256]uint8 // zigzag differences
	var spans [256]int   // 1 or more: the gap before the first run, then runs and gaps
	n, spanCount := 0, 0
	sum := 30
	runStart, gapStart := 0, 0
	for s := 0; s <= 256; s++ {
		coded := s < 256 && c.lens[s] > 0
		wasCoded := s > 0 && c.lens[s-1] > 0
		switch {
		case coded && !wasCoded:
			if s > 0 {
				spans[spanCount] = s - gapStart
				spanCount++
			}
			runStart = s
		case !coded && wasCoded:
			spans[spanCount] = s - runStart
			spanCount++
			gapStart = s
		}
		if coded {
			v := int(c.lens[s]) - 1 - sum>>2
			sum += v
			diffs[n] = uint8(v<<1 ^ v>>31)
			n++
		}
	}
	spanCount-- // The last run is what is left.
	c.writeDense(w, diffs[:n], spans[:spanCount])
}

func (c *huffCode) writeDense(w *tableWriter, diffs []uint8, spans []int) {
	low := lowBits(diffs)
	w.put(2, 2) // the new kind of table
	w.put(int(low), 2)
	w.put(len(diffs)-1, 8)
	w.putSpanCount(len(spans), len(diffs))
	for _, d := range diffs {
		w.unary(int(d >> low))
	}
	// Runs and gaps alternate, and the last is a gap. A gap has one bit more
	// below its unary part.
	gap := len(spans)%2 == 1
	for i, v := range spans {
		if isGap := (i%2 == 0) == gap; isGap {
			w.unary(bits.Len(uint(v+1)) - 2)
		} else {
			w.unary(bits.Len(uint(v)) - 1)
		}
	}
	for _, d := range diffs {
		w.put(int(d)&(1<<low-1), int(low))
	}
	for i, v := range spans {
		if isGap := (i%2 == 0) == gap; isGap {
			v++
		}
		k := bits.Len(uint(v)) - 1
		w.put(v-1<<k, k)
	}
}

// lowBits is the number of bits of each difference to write as they are, the
// others being unary, that makes all of them shortest.
func lowBits(diffs []uint8) (low uint8) {
	best := 0
	for k := range uint8(4) {
		cost := len(diffs) * int(k+1)
		for _, d := range diffs {
			cost += int(d >> k)
		}
		if k == 0 || cost < best {
			best, low = cost, k
		}
	}
	return low
}

// tableWriter writes bits, the most significant one of each value and of each byte
// first.
type tableWriter struct {
	out []byte
	acc uint32
	n   int // bits in acc that are not in out yet, 0 to 7
}

// put writes the low k bits of v; k is at most 16.
func (w *tableWriter) put(v, k int) {
	w.acc = w.acc<<k | uint32(v)
	w.n += k
	for w.n >= 8 {
		w.n -= 8
		w.out = append(w.out, byte(w.acc>>w.n))
	}
}

// unary writes n zeros and a one.
func (w *tableWriter) unary(n int) {
	for ; n > 15; n -= 15 {
		w.put(0, 15)
	}
	w.put(1, n+1)
}

// putSpanCount writes how many runs and gaps there are for m coded bytes, in the
// fewest bits that tell all possible counts apart.
func (w *tableWriter) putSpanCount(count, m int) {
	if m == 256 {
		return
	}
	possible := 2 * min(m, 257-m)
	width := bits.Len(uint(possible - 1))
	if short := 1<<width - possible; count >= short {
		w.put(count+short, width)
	} else {
		w.put(count, width-1)
	}
}

// flush pads the last byte with zeros and returns the bytes.
func (w *tableWriter) flush() []byte {
	w.put(0, -w.n&7)
	return w.out
}
