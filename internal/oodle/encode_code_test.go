package oodle

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// arrayTrip stores b as an array and has the checker read it.
func arrayTrip(t *testing.T, b []byte) (plan *arrayPlan) {
	t.Helper()
	var h huffWriter
	plan = new(arrayPlan)
	plan.plan(b, &h)
	stored := plan.append(nil, b)
	require.Len(t, stored, plan.size)
	require.LessOrEqual(t, len(stored), len(b)+3)
	c := checker{in: stored}
	require.Equal(t, b, c.array(len(b)))
	require.Empty(t, c.in)
	return plan
}

// repeated is an array in which symbol i occurs counts[i] times, in any order.
func repeated(r *rand.Rand, counts map[byte]int) (b []byte) {
	for s := range 256 {
		for range counts[byte(s)] {
			b = append(b, byte(s))
		}
	}
	r.Shuffle(len(b), func(i, j int) { b[i], b[j] = b[j], b[i] })
	return b
}

// A Huffman code for Fibonacci numbers is as deep as there are symbols.
func TestCodesAreAtMost11Bits(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for symbols := 2; symbols <= 24; symbols++ {
		counts := map[byte]int{}
		a, b := 1, 1
		for s := range symbols {
			counts[byte(s*10)] = a
			a, b = b, a+b
		}
		plan := arrayTrip(t, repeated(r, counts))
		if symbols > 10 {
			require.False(t, plan.raw)
		}
	}
}

// Sets of symbols of every number, in a run, scattered, and at both ends.
func TestCodesOfAllSymbolSets(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for n := 1; n <= 256; n++ {
		for _, set := range [][]int{
			r.Perm(256)[:n],
			consecutive(0, n),
			consecutive(256-n, n),
			consecutive((256-n)/2, n),
			append(consecutive(0, n/2), consecutive(256-(n-n/2), n-n/2)...),
		} {
			counts := map[byte]int{}
			for i, s := range set {
				counts[byte(s)] = 1 + 4000/(1+i*i)
			}
			arrayTrip(t, repeated(r, counts))
		}
	}
}

func consecutive(from, n int) (list []int) {
	for i := range n {
		list = append(list, from+i)
	}
	return list
}

// fewestBits is the smallest number of bits that any code of at most 11 bits takes: the
// symbols are coins, of which the cheapest are packed together in pairs, 11 times.
func fewestBits(counts map[byte]int) int {
	type coin struct {
		weight int
		leaves []byte
	}
	var symbols []coin
	for s := range 256 {
		if n := counts[byte(s)]; n > 0 {
			symbols = append(symbols, coin{n, []byte{byte(s)}})
		}
	}
	sorted := func(list []coin) []coin {
		for i := range list {
			for j := i; j > 0 && list[j].weight < list[j-1].weight; j-- {
				list[j], list[j-1] = list[j-1], list[j]
			}
		}
		return list
	}
	var packages []coin
	for range 11 {
		level := sorted(append(append([]coin{}, symbols...), packages...))
		packages = nil
		for i := 0; i+1 < len(level); i += 2 {
			leaves := append(append([]byte{}, level[i].leaves...), level[i+1].leaves...)
			packages = append(packages, coin{level[i].weight + level[i+1].weight, leaves})
		}
	}
	bits := 0
	for _, p := range packages[:len(symbols)-1] {
		bits += p.weight
	}
	return bits
}

func TestCodesAreTheBest(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	for _, steep := range []float64{1, 1.05, 1.2, 1.5, 2} {
		t.Run(fmt.Sprint(steep), func(t *testing.T) {
			counts := map[byte]int{}
			n := 60000.0
			for s := range 120 {
				counts[byte(2*s)] = 1 + int(n) + r.IntN(3)
				n /= steep
			}
			if steep == 1 {
				for s := range counts {
					counts[s] = 1 + r.IntN(500)
				}
			}
			var h huffWriter
			h.count(repeated(r, counts))
			var c huffCode
			c.build(&h.hist, &h.code)
			best := fewestBits(counts)
			got := c.cost(&h.hist)
			assert.Equal(t, best, got)
		})
	}
}

func TestLog2(t *testing.T) {
	for _, n := range []uint32{1, 2, 3, 4, 5, 7, 100, 1000, 65535, 65536, 131072, 1<<32 - 1} {
		assert.Equal(t, int32(math.Floor(priceBit*math.Log2(float64(n)))), log2(n), "%d", n)
	}
}
