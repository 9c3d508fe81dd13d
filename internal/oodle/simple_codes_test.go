package oodle_test

import (
	"math/bits"
	"math/rand/v2"
	"slices"
)

// simpleRangeCount appends how many range values follow for m symbols.
func (b *simpleBits) simpleRangeCount(m, count int) {
	if m == 256 {
		return
	}
	x := 2 * min(m, 257-m)
	y := bits.Len(uint(x - 1))
	z := 1<<y - x
	if count >= z {
		b.put(count+z, y)
	} else {
		b.put(count, y-1)
	}
}

// simpleRange is a range value: the zeros of its unary code, and its low bits.
type simpleRange struct{ zeros, low, n int }

func simpleGap(g int) simpleRange {
	b := simpleFloorLog(g + 1)
	return simpleRange{b - 1, g + 1 - 1<<b, b}
}

func simpleRunOf(r int) simpleRange {
	b := simpleFloorLog(r)
	return simpleRange{b, r - 1<<b, b}
}

// simpleRanges is the range values of ascending symbols.
func simpleRanges(symbols []byte) []simpleRange {
	var out []simpleRange
	if symbols[0] > 0 {
		out = append(out, simpleGap(int(symbols[0])))
	}
	run := 1
	for i := 1; i < len(symbols); i++ {
		if gap := int(symbols[i]) - int(symbols[i-1]) - 1; gap > 0 {
			out = append(out, simpleRunOf(run), simpleGap(gap))
			run = 0
		}
		run++
	}
	return out
}

// simpleCounts is how often each value is in b.
func simpleCounts(b []byte) (counts [256]int) {
	for _, c := range b {
		counts[c]++
	}
	return counts
}

// simpleSymbols is the values that are in b, ascending.
func simpleSymbols(b []byte) []byte {
	s := slices.Clone(b)
	slices.Sort(s)
	return slices.Compact(s)
}

// simpleLengths is the lengths of a complete code for the values of b, of which
// there are at least 2: some code, with the short ones for the frequent values.
// Skew says how much the lengths differ.
func simpleLengths(r *rand.Rand, b []byte, skew int) (lengths [256]int) {
	symbols, counts := simpleSymbols(b), simpleCounts(b)
	leaves := []int{0}
	for len(leaves) < len(symbols) {
		// Of the leaves that may be split, take the shallowest, or with skew
		// the deepest of some.
		slices.Sort(leaves)
		i := 0
		for range skew {
			if j := r.IntN(len(leaves)); leaves[j] < 11 {
				i = max(i, j)
			}
		}
		leaves[i]++
		leaves = append(leaves, leaves[i])
	}
	slices.Sort(leaves)
	slices.SortStableFunc(symbols, func(x, y byte) int { return counts[y] - counts[x] })
	for i, s := range symbols {
		lengths[s] = leaves[i]
	}
	return lengths
}
