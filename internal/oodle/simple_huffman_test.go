package oodle_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// simpleTable is a Huffman table: its bits, and the symbols of each length in the
// order in which the table has them.
type simpleTable struct {
	bits  simpleBits
	order [12][]byte
}

// simpleDense is the old dense table with the parameter f.
func simpleDense(lengths [256]int, f int) (t simpleTable) {
	t.bits.put(0b01, 2)
	t.bits.put(f, 2)
	gamma := func(v int) {
		z := simpleFloorLog(v+1) - 1
		t.bits.unary(z)
		t.bits.put(v+1, z+1)
	}
	if lengths[0] > 0 {
		t.bits.put(1, 1)
	} else {
		t.bits.put(0, 1)
	}
	avg := 32
	for sym := 0; sym < 256; {
		gap := 0
		for ; sym+gap < 256 && lengths[sym+gap] == 0; gap++ {
		}
		if sym+gap > 0 {
			gamma(gap)
		}
		sym += gap
		run := 0
		for ; sym+run < 256 && lengths[sym+run] > 0; run++ {
		}
		if run == 0 {
			break
		}
		gamma(run)
		for range run {
			v := simpleZigzag(lengths[sym] - (avg+2)>>2)
			t.bits.unary(v >> f)
			t.bits.put(v, f)
			avg = lengths[sym] + (3*avg+2)>>2
			t.order[lengths[sym]] = append(t.order[lengths[sym]], byte(sym))
			sym++
		}
	}
	return t
}

// simpleSparse is the old sparse table, with its symbols in any order.
func simpleSparse(lengths [256]int, w int) (t simpleTable) {
	t.bits.put(0b00, 2)
	var symbols []int
	for s, n := range lengths {
		if n > 0 {
			symbols = append(symbols, s)
		}
	}
	simpleRand(21).Shuffle(len(symbols), func(i, j int) { symbols[i], symbols[j] = symbols[j], symbols[i] })
	t.bits.put(len(symbols), 8)
	t.bits.put(w, 3)
	for _, s := range symbols {
		t.bits.put(s, 8)
		t.bits.put(lengths[s]-1, w)
		t.order[lengths[s]] = append(t.order[lengths[s]], byte(s))
	}
	return t
}

// simpleNew is the new table with the parameter k.
func simpleNew(lengths [256]int, k int) (t simpleTable) {
	t.bits.put(0b10, 2)
	var symbols []byte
	var values []int
	sum := 30
	for s, n := range lengths {
		if n == 0 {
			continue
		}
		v := n - (sum>>2 + 1)
		sum += v
		symbols, values = append(symbols, byte(s)), append(values, simpleZigzag(v))
		t.order[n] = append(t.order[n], byte(s))
	}
	ranges := simpleRanges(symbols)
	t.bits.put(k, 2)
	t.bits.put(len(symbols)-1, 8)
	t.bits.simpleRangeCount(len(symbols), len(ranges))
	for _, v := range values {
		t.bits.unary(v >> k)
	}
	for _, v := range ranges {
		t.bits.unary(v.zeros)
	}
	for _, v := range values {
		t.bits.put(v, k)
	}
	for _, v := range ranges {
		t.bits.put(v.low, v.n)
	}
	return t
}

// streams is the three bit streams of b, the first one's size in front.
func (t simpleTable) streams(b []byte) []byte {
	var codes [256]simpleBits
	code := 0
	for n := 1; n <= 11; n++ {
		code <<= 1
		for _, s := range t.order[n] {
			codes[s] = nil
			codes[s].put(code, n)
			code++
		}
	}
	var s [3]simpleBits
	for i, c := range b {
		s[i%3] = append(s[i%3], codes[c]...)
	}
	first := s[0].low()
	return slices.Concat(simpleLE16(len(first)), first, s[2].low(), simpleBackward(s[1].low()))
}

// payload is the payload of an array of type 2 or 4.
func (t simpleTable) payload(kind byte, b []byte) []byte {
	if kind == 2 {
		return append(t.bits.high(), t.streams(b)...)
	}
	half := (len(b) + 1) / 2
	first := t.streams(b[:half])
	return slices.Concat(t.bits.high(), simpleLE24(len(first)), first, t.streams(b[half:]))
}

// simpleHuffman is b as an array of the type, with a new table.
func simpleHuffman(kind byte, short bool) func(b []byte) []byte {
	return func(b []byte) []byte {
		lengths := simpleLengths(simpleRand(5), b, 2)
		return simpleArray(kind, short, len(b), simpleNew(lengths, 1).payload(kind, b))
	}
}

func TestSimpleHuffman(t *testing.T) {
	r := simpleRand(6)
	for _, kinds := range []int{2, 3, 12, 40, 150} {
		for _, n := range []int{151, 700, 3000} {
			for skew := range 4 {
				raw := simpleText(r, n, kinds)
				lengths := simpleLengths(r, raw, skew)
				for _, kind := range []byte{2, 4} {
					for p, table := range simpleTables(lengths) {
						payload := table.payload(kind, raw)
						if len(payload) >= n {
							continue // such a code is no good for them
						}
						what := fmt.Sprintf("type %d, table %s, %d of %d kinds, skew %d", kind, p, n, kinds, skew)
						simpleCheckPayload(t, what, kind, payload, raw)
					}
				}
			}
		}
	}
}

// simpleTables is every table that can hold the lengths.
func simpleTables(lengths [256]int) map[string]simpleTable {
	tables := map[string]simpleTable{}
	symbols, longest := 0, 0
	for _, n := range lengths {
		longest = max(longest, n)
		if n > 0 {
			symbols++
		}
	}
	for k := range 4 {
		tables[fmt.Sprintf("new %d", k)] = simpleNew(lengths, k)
		tables[fmt.Sprintf("dense %d", k)] = simpleDense(lengths, k)
	}
	for w := range 5 {
		if symbols < 256 && longest <= 1<<w {
			tables[fmt.Sprintf("sparse %d", w)] = simpleSparse(lengths, w)
		}
	}
	return tables
}

// All 256 values, all in their places.
func TestSimpleHuffmanOfAllValues(t *testing.T) {
	r := simpleRand(7)
	raw := simpleText(r, 9000, 256)
	for skew := range 3 {
		for name, table := range simpleTables(simpleLengths(r, raw, skew)) {
			for _, kind := range []byte{2, 4} {
				if payload := table.payload(kind, raw); len(payload) < len(raw) {
					simpleCheckPayload(t, name, kind, payload, raw)
				}
			}
		}
	}
}

// The code that is 11 bits deep, and every count of symbols that is no multiple of
// the streams.
func TestSimpleHuffmanStaircase(t *testing.T) {
	var lengths [256]int
	for i := range 12 {
		lengths[i*21] = min(i+1, 11)
	}
	for n := 40; n < 60; n++ {
		raw := make([]byte, n)
		for i := range 12 {
			raw[i*3] = byte(i * 21)
		}
		for _, kind := range []byte{2, 4} {
			payload := simpleNew(lengths, 0).payload(kind, raw)
			if len(payload) < n {
				simpleCheckPayload(t, fmt.Sprintf("type %d, %d bytes", kind, n), kind, payload, raw)
			}
		}
	}
}

// A table of one symbol has no streams.
func TestSimpleHuffmanOfOneSymbol(t *testing.T) {
	var sparse simpleBits
	sparse.put(0b00, 2)
	sparse.put(1, 8)
	sparse.put('x', 8)
	var only [256]int
	only['x'] = 1
	fresh := simpleNew(only, 0)
	for _, n := range []int{20, 500, 100000} {
		raw := slices.Repeat([]byte{'x'}, n)
		for _, kind := range []byte{2, 4} {
			simpleCheckPayload(t, "sparse", kind, sparse.high(), raw)
			simpleCheckPayload(t, "new", kind, fresh.bits.high(), raw)
		}
	}
}

// The sparse table may have a symbol twice.
func TestSimpleHuffmanSymbolTwice(t *testing.T) {
	table := simpleTable{order: [12][]byte{1: {'a'}, 2: {'b', 'a'}}}
	table.bits.put(0b00, 2)
	table.bits.put(3, 8)
	table.bits.put(1, 3)
	for _, e := range [][2]int{{'b', 2}, {'a', 1}, {'a', 2}} {
		table.bits.put(e[0], 8)
		table.bits.put(e[1]-1, 1)
	}
	raw := simpleText(simpleRand(8), 300, 2)
	for i := range raw {
		raw[i] = 'a' + raw[i]&1
	}
	simpleCheckPayload(t, "twice", 2, table.payload(2, raw), raw)
}

func TestSimpleLengthsAreComplete(t *testing.T) {
	r := simpleRand(9)
	for kinds := 2; kinds <= 256; kinds++ {
		sum := 0
		for _, n := range simpleLengths(r, simpleText(r, 600, kinds), kinds%5) {
			require.LessOrEqual(t, n, 11)
			if n > 0 {
				sum += 2048 >> n
			}
		}
		require.Equal(t, 2048, sum)
	}
}
