package oodle_test

import (
	"fmt"
	"slices"
	"testing"
)

// simpleWeights is the values of b in ascending order and a weight of at least 1
// for each, which are 1<<logSize together.
func simpleWeights(b []byte, logSize int) (weights [256]int) {
	counts, left := simpleCounts(b), 1<<logSize
	symbols := simpleSymbols(b)
	for _, s := range symbols {
		weights[s] = max(1, counts[s]<<logSize/len(b))
		left -= weights[s]
	}
	// What rounding left is for the most frequent value; where it is less than
	// nothing, the heavy ones pay.
	for left != 0 {
		s := slices.MaxFunc(symbols, func(x, y byte) int { return weights[x] - weights[y] })
		step := 1
		if left < 0 {
			step = -1
		}
		weights[s] += step
		left -= step
	}
	return weights
}

// simpleState is an entry of the state table.
type simpleState struct {
	sym     byte
	n, base int
}

func simpleStates(weights [256]int, logSize int) []simpleState {
	size := 1 << logSize
	var ones, many []byte
	for s, w := range weights {
		switch {
		case w == 1:
			ones = append(ones, byte(s))
		case w > 1:
			many = append(many, byte(s))
		}
	}
	rest := size - len(ones)
	var parts [4][]simpleState
	sum := 0
	for _, s := range many {
		w := weights[s]
		x := w
		for j := range parts {
			for range (w + (sum-j-1)&3) >> 2 {
				n := logSize - simpleFloorLog(x)
				parts[j] = append(parts[j], simpleState{s, n, x << n & (size - 1)})
				x++
			}
		}
		sum += w
	}
	for j := range parts {
		want := rest >> 2
		if rest&3 > j {
			want++
		}
		if len(parts[j]) != want {
			panic("the parts are not full")
		}
	}
	table := slices.Concat(parts[:]...)
	for _, s := range ones {
		table = append(table, simpleState{s, logSize, 0})
	}
	return table
}

// simpleTANSBits is the bit area for b.
func simpleTANSBits(weights [256]int, logSize int, b []byte) []byte {
	var states [5]int
	for i := range states {
		states[i] = int(b[len(b)-5+i])
	}
	return simpleTANSStates(weights, logSize, b[:len(b)-5], states)
}

// simpleTANSStates is the bit area for b and the given states behind it.
func simpleTANSStates(weights [256]int, logSize int, b []byte, states [5]int) []byte {
	table := simpleStates(weights, logSize)
	var of [256][]int // the entries of each symbol
	for i, e := range table {
		of[e.sym] = append(of[e.sym], i)
	}
	// Backwards: which state gives the byte and then leads to the one behind it?
	type read struct{ v, n int }
	reads := make([]read, len(b))
	for i := len(b) - 1; i >= 0; i-- {
		next := states[i%5]
		at := of[b[i]][slices.IndexFunc(of[b[i]], func(at int) bool {
			return table[at].base <= next && next < table[at].base+1<<table[at].n
		})]
		reads[i] = read{next - table[at].base, table[at].n}
		states[i%5] = at
	}
	var streams [2]simpleBits // forward, backward
	for i, s := range states {
		streams[i%2].putLow(s, logSize)
	}
	for i, r := range reads {
		streams[i%10/5].putLow(r.v, r.n)
	}
	return append(streams[0].low(), simpleBackward(streams[1].low())...)
}

// simpleTANSHeader is the bits in front of a table.
func simpleTANSHeader(logSize, dense int) (b simpleBits) {
	b.put(0, 1)
	b.put(logSize-8, 2)
	b.put(dense, 1)
	return b
}

// simpleDenseWeights is the dense table with the parameter q.
func simpleDenseWeights(weights [256]int, logSize, q int) []byte {
	var symbols []byte
	for s, w := range weights {
		if w > 0 {
			symbols = append(symbols, byte(s))
		}
	}
	ranges := simpleRanges(symbols)
	b := simpleTANSHeader(logSize, 1)
	b.put(q, 3)
	b.put(len(symbols)-1, 8)
	b.simpleRangeCount(len(symbols), len(ranges))
	var low simpleBits
	avg := 6
	for _, s := range symbols {
		v := weights[s] - 1
		a := avg >> 2
		lim := min(2*a, v)
		if v <= 2*a {
			v = simpleZigzag(v - a)
		}
		avg += lim - a
		e := simpleFloorLog(v + 1<<q)
		b.unary(e - q)
		low.put(v+1<<q-1<<e, e)
	}
	for _, v := range ranges {
		b.unary(v.zeros)
	}
	for _, v := range ranges {
		b.put(v.low, v.n)
	}
	return append(b, low...).high()
}

// simpleSparseWeights is the sparse table, with differences of w bits, for 2 to 9
// symbols.
func simpleSparseWeights(weights [256]int, logSize, w int) []byte {
	var symbols []byte
	for _, s := range simpleRand(22).Perm(256) {
		if weights[s] > 0 {
			symbols = append(symbols, byte(s))
		}
	}
	slices.SortStableFunc(symbols, func(x, y byte) int { return weights[x] - weights[y] })
	b := simpleTANSHeader(logSize, 0)
	b.put(len(symbols)-2, 3)
	b.put(w, 4)
	x := 0
	for _, s := range symbols[:len(symbols)-1] {
		b.put(int(s), 8)
		b.put(weights[s]-x, w)
		x = weights[s]
	}
	b.put(int(symbols[len(symbols)-1]), 8)
	return b.high()
}

// simpleTANS is b as an array of type 1.
func simpleTANS(short bool) func(b []byte) []byte {
	return func(b []byte) []byte {
		weights := simpleWeights(b, 11)
		payload := append(simpleDenseWeights(weights, 11, 1), simpleTANSBits(weights, 11, b)...)
		return simpleArray(1, short, len(b), payload)
	}
}

func TestSimpleTANS(t *testing.T) {
	r := simpleRand(10)
	for _, kinds := range []int{2, 3, 9, 30, 200} {
		for _, n := range []int{120, 121, 124, 129, 1000} {
			for logSize := 8; logSize <= 11; logSize++ {
				raw := simpleText(r, n, min(kinds, n-20))
				weights := simpleWeights(raw, logSize)
				area := simpleTANSBits(weights, logSize, raw)
				check := func(what string, table []byte) {
					payload := append(table, area...)
					what = fmt.Sprintf("%s, %d states, %d of %d kinds", what, 1<<logSize, n, kinds)
					if len(payload) < n {
						simpleCheckPayload(t, what, 1, payload, raw)
					}
				}
				for q := 0; q < 8; q += 3 {
					check(fmt.Sprintf("dense %d", q), simpleDenseWeights(weights, logSize, q))
				}
				if kinds <= 9 {
					for w := logSize - 1; w <= logSize; w++ {
						check(fmt.Sprintf("sparse %d", w), simpleSparseWeights(weights, logSize, w))
					}
				}
			}
		}
	}
}

// All 256 values have no range values; the smallest array has no symbol behind
// the five of the states.
func TestSimpleTANSLimits(t *testing.T) {
	r := simpleRand(11)
	raw := simpleText(r, 9000, 256)
	for logSize := 9; logSize <= 11; logSize++ {
		weights := simpleWeights(raw, logSize)
		payload := append(simpleDenseWeights(weights, logSize, 2), simpleTANSBits(weights, logSize, raw)...)
		simpleCheckPayload(t, fmt.Sprintf("%d states", 1<<logSize), 1, payload, raw)
	}
	// 256 states, one for each.
	weights := simpleWeights(raw, 8)
	payload := append(simpleDenseWeights(weights, 8, 0), simpleTANSBits(weights, 8, raw)...)
	if len(payload) < len(raw) {
		simpleCheckPayload(t, "256 states", 1, payload, raw)
	}
	// A run costs next to nothing but its end.
	for n := 30; n < 50; n++ {
		raw := append(slices.Repeat([]byte{'e'}, n-1), 'f')
		weights := [256]int{'e': 255, 'f': 1}
		payload := append(simpleSparseWeights(weights, 8, 8), simpleTANSBits(weights, 8, raw)...)
		simpleCheckPayload(t, fmt.Sprintf("run of %d", n), 1, payload, raw)
	}
}
