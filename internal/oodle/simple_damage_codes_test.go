package oodle_test

import (
	"fmt"
	"slices"
	"testing"
)

// simplePayloadDamage is a chunk of n bytes that is an array of the given type, with
// a good payload, which may be nil, and a bad one.
func simplePayloadDamage(rule string, kind byte, n int, good, bad []byte) simpleDamage {
	d := simpleDamage{rule: fmt.Sprintf("type %d: %s", kind, rule), size: n}
	if good != nil {
		d.good = simpleBlock(simpleTypeMermaid, simpleArray(kind, false, n, good))
	}
	d.bad = simpleBlock(simpleTypeMermaid, simpleArray(kind, false, n, bad))
	return d
}

// simpleString is bits from pairs of a value and its size.
func simpleString(pairs ...int) (b simpleBits) {
	for i := 0; i < len(pairs); i += 2 {
		b.put(pairs[i], pairs[i+1])
	}
	return b
}

func TestSimpleDamagedHeaders(t *testing.T) {
	raw := simpleText(simpleRand(30), 900, 4)
	huffman := simpleHuffman(2, false)(raw)
	good := simpleBlock(simpleTypeMermaid, huffman)
	comp := len(huffman) - 5
	header := func(kind byte, raw, comp int) []byte {
		b := simpleArray(kind, false, raw, make([]byte, comp))[:5]
		return simpleBlock(simpleTypeMermaid, b, huffman[5:])
	}
	// A good payload of the size of its bytes, and one for a byte more.
	var full, fits simpleRLE
	full.set('f')
	full.short(raw[:15], 4)
	fits.set('f')
	fits.short(raw[:15], 5)
	simpleCheckPayload(t, "payload a byte less than raw", 3, fits.payload(), fits.out)
	rows := []simpleDamage{
		{"type 6", good, header(6, 900, comp), 900},
		{"type 7", good, header(7, 900, comp), 900},
		{"type 1 instead", good, header(1, 900, comp), 900},
		{"type 3 instead", good, header(3, 900, comp), 900},
		{"type 4 instead", good, header(4, 900, comp), 900},
		{"type 5 instead", good, header(5, 900, comp), 900},
		{"another size", good, header(2, 899, comp), 900},
		{"more payload than there is", good, header(2, 900, comp+1), 900},
		{"less payload than there is", good, header(2, 900, comp-1), 900},
		{"raw array of more than 18 bits", nil, simpleBlock(simpleTypeMermaid, []byte{0x04, 0, 0, 'x', 'y'}), 900},
		{"raw array of more than there is", nil, simpleBlock(simpleTypeMermaid, []byte{0, 3, 0x84, 'x', 'y'}), 900},
		{"payload as large as raw", nil, simpleAsLiterals(simpleArray(3, false, 19, full.payload()), 19), 1019},
		{"payload larger than raw", nil, simpleAsLiterals(simpleArray(3, false, 30, make([]byte, 40)), 30), 1030},
	}
	for _, array := range [][]byte{
		{}, {0}, {0, 0}, {0x80}, {0x20, 0}, {0xA0, 0}, {0x20, 0, 0, 0}, {0x80, 9}, {0x30, 0, 0x78, 0}, {0x30, 0, 0x78, 0, 1},
		{0xE0, 4, 4, 'x', 'x', 'x', 'x'}, {0xF0, 4, 4, 'x', 'x', 'x', 'x'}, // types 6 and 7, short
	} {
		rows = append(rows, simpleDamage{fmt.Sprintf("literals % x", array), nil, simpleAsLiterals(array, 30), 1030})
		rows = append(rows, simpleDamage{fmt.Sprintf("% x in a concatenation", array), nil, simpleInConcat(array, 30), 1030})
	}
	simpleRunDamage(t, rows)
}

func TestSimpleDamagedHuffmanTables(t *testing.T) {
	raw := simpleText(simpleRand(31), 2000, 2)
	for i := range raw {
		raw[i] = 'a' + raw[i]&1
	}
	lengths := [256]int{'a': 1, 'b': 1}
	streams := simpleSparse(lengths, 0).streams(raw)
	if simpleSparse(lengths, 0).order[1][0] != 'a' {
		streams = simpleNew(lengths, 0).streams(raw)
	}
	good := map[string][]byte{
		"sparse": append(simpleString(0, 2, 2, 8, 0, 3, 'a', 8, 'b', 8).high(), streams...),
		"dense":  append(simpleDense(lengths, 0).bits.high(), streams...),
		"new":    append(simpleNew(lengths, 0).bits.high(), streams...),
		"one":    simpleString(0, 2, 1, 8, 'a', 8).high(),
	}
	var rows []simpleDamage
	for _, d := range []struct {
		rule, like string
		table      simpleBits
	}{
		{"both kind bits", "sparse", simpleString(3, 2, 2, 8, 0, 3, 'a', 8, 'b', 8)},
		{"no symbols", "sparse", simpleString(0, 2, 0, 8, 0, 3, 'a', 8, 'b', 8)},
		{"lengths of 5 bits", "sparse", simpleString(0, 2, 2, 8, 5, 3, 'a', 8, 0, 5, 'b', 8, 0, 5)},
		{"lengths of 7 bits", "sparse", simpleString(0, 2, 2, 8, 7, 3, 'a', 8, 0, 7, 'b', 8, 0, 7)},
		{"length 12", "sparse", simpleString(0, 2, 3, 8, 4, 3, 'a', 8, 0, 4, 'b', 8, 0, 4, 'c', 8, 11, 4)},
		{"too many codes", "sparse", simpleString(0, 2, 3, 8, 1, 3, 'a', 8, 0, 1, 'b', 8, 0, 1, 'c', 8, 1, 1)},
		{"too few codes", "sparse", simpleString(0, 2, 2, 8, 1, 3, 'a', 8, 0, 1, 'b', 8, 1, 1)},
		{"255 short codes", "sparse", append(simpleString(0, 2, 255, 8, 0, 3), make(simpleBits, 255*8)...)},
		{"first gap of 8 zeros", "dense", simpleString(1, 2, 0, 2, 0, 1, 1, 9, 0, 9)},
		{"first gap of 256", "dense", simpleString(1, 2, 0, 2, 0, 1, 1, 8, 1, 8)},
		{"first gap of 257", "dense", simpleString(1, 2, 0, 2, 0, 1, 1, 8, 2, 8)},
		{"run of 257", "dense", simpleString(1, 2, 0, 2, 1, 1, 1, 8, 2, 8)},
		{"run of 8 zeros", "dense", simpleString(1, 2, 0, 2, 1, 1, 1, 9, 2, 9)},
		{"length 0", "dense", simpleString(1, 2, 0, 2, 1, 1, 1, 1, 1, 1, 1, 16)},
		{"length 12", "dense", simpleString(1, 2, 0, 2, 1, 1, 1, 1, 1, 1, 1, 9)},
		{"length of 21 zeros", "dense", simpleString(1, 2, 0, 2, 1, 1, 1, 1, 1, 1, 1, 22)},
		{"length of 11 zeros and a bit", "dense", simpleString(1, 2, 1, 2, 1, 1, 1, 1, 1, 1, 1, 12, 0, 1)},
		{"one symbol", "dense", simpleDense([256]int{'a': 1}, 0).bits},
		{"too few codes", "dense", simpleDense([256]int{'a': 1, 'b': 2}, 0).bits},
		{"too many codes", "dense", simpleDense([256]int{'a': 1, 'b': 1, 'c': 11}, 0).bits},
		{"too few codes", "new", simpleNew([256]int{'a': 1, 'b': 2}, 0).bits},
		{"too many codes", "new", simpleNew([256]int{'a': 1, 'b': 1, 'c': 11}, 0).bits},
		{"256 zeros", "new", simpleString(2, 2, 0, 2, 1, 8, 0, 2, 0, 256, 1, 1, 1, 1)},
		{"length 0", "new", simpleString(2, 2, 0, 2, 1, 8, 0, 2, 1, 16, 1, 1)},
		{"length 12", "new", simpleString(2, 2, 0, 2, 1, 8, 0, 2, 1, 9, 1, 1)},
		{"first gap of 8 zeros", "new", simpleString(2, 2, 0, 2, 1, 8, 1, 2, 1, 14, 1, 1, 1, 9, 0, 9)},
		{"run of 9 zeros", "new", simpleString(2, 2, 0, 2, 1, 8, 2, 2, 1, 14, 1, 1, 1, 10, 1, 1, 0, 9, 0, 1)},
		{"gap of 8 zeros", "new", simpleString(2, 2, 0, 2, 1, 8, 2, 2, 1, 14, 1, 1, 1, 1, 1, 9, 0, 9)},
		{"first symbol 256", "new", simpleString(2, 2, 0, 2, 1, 8, 1, 2, 1, 14, 1, 1, 1, 8, 1, 8)},
		{"last symbol 256", "new", simpleString(2, 2, 0, 2, 1, 8, 1, 2, 1, 14, 1, 1, 1, 8, 0, 8)},
		{"runs of all the symbols", "new", simpleString(2, 2, 0, 2, 1, 8, 2, 2, 1, 14, 1, 1, 1, 2, 1, 1, 0, 1, 0, 1)},
		{"runs of more than the symbols", "new", simpleString(2, 2, 0, 2, 1, 8, 2, 2, 1, 14, 1, 1, 1, 3, 1, 1, 0, 2, 0, 1)},
	} {
		for _, kind := range []byte{2, 4} {
			bad := append(d.table.high(), streams...)
			var like []byte
			if kind == 2 {
				like = good[d.like]
			}
			rows = append(rows, simplePayloadDamage(d.like+" table: "+d.rule, kind, 2000, like, bad))
		}
	}
	rows = append(rows,
		simplePayloadDamage("a byte behind one symbol", 2, 2000, good["one"], append(good["one"], 0)),
		simplePayloadDamage("a byte behind one symbol", 4, 2000, good["one"], append(good["one"], 0)),
		simplePayloadDamage("half of one symbol", 2, 2000, good["one"], good["one"][:1]),
		simplePayloadDamage("no payload", 2, 2000, nil, nil),
		simplePayloadDamage("no payload", 4, 2000, nil, nil),
		simplePayloadDamage("zeros", 2, 2000, nil, make([]byte, 300)),
		simplePayloadDamage("only a zero run", 2, 2000, nil, append([]byte{0x80}, make([]byte, 20)...)),
		simplePayloadDamage("table without an end", 2, 2000, nil, simpleNew(lengths, 0).bits.high()[:2]),
	)
	simpleRunDamage(t, rows)
}

func TestSimpleDamagedHuffmanStreams(t *testing.T) {
	raw := simpleText(simpleRand(32), 2000, 30)
	table := simpleNew(simpleLengths(simpleRand(33), raw, 2), 1)
	head := table.bits.high()
	three, six := table.payload(2, raw), table.payload(4, raw)
	at := len(head)
	split := int(three[at]) | int(three[at+1])<<8
	size := len(three)
	first := int(six[at]) | int(six[at+1])<<8
	put16 := func(b []byte, at, v int) []byte { return simplePatch(b, at, simpleLE16(v)...) }
	put24 := func(v int) []byte { return simplePatch(six, at, simpleLE24(v)...) }
	two := func(a, b []byte) []byte { return slices.Concat(head, simpleLE24(len(a)), a, b) }
	a, b := six[at+3:at+3+first], six[at+3+first:]
	middle := at + 2 + split + (size-at-2-split)/2
	rows := []simpleDamage{
		simplePayloadDamage("split a byte less", 2, 2000, three, put16(three, at, split-1)),
		simplePayloadDamage("split a byte more", 2, 2000, three, put16(three, at, split+1)),
		simplePayloadDamage("split 0", 2, 2000, three, put16(three, at, 0)),
		simplePayloadDamage("split at the end", 2, 2000, three, put16(three, at, size-at-2)),
		simplePayloadDamage("split behind the end", 2, 2000, three, put16(three, at, size-at-1)),
		simplePayloadDamage("split 65535", 2, 2000, three, put16(three, at, 65535)),
		simplePayloadDamage("no streams", 2, 2000, three, head),
		simplePayloadDamage("1 byte of streams", 2, 2000, three, append(head[:at:at], 0)),
		simplePayloadDamage("2 bytes of streams", 2, 2000, three, append(head[:at:at], 0, 0)),
		simplePayloadDamage("3 bytes of streams", 2, 2000, three, append(head[:at:at], 0, 0, 0)),
		simplePayloadDamage("a byte between", 2, 2000, three, slices.Insert(slices.Clone(three), middle, 0)),
		simplePayloadDamage("a byte behind the first", 2, 2000, three,
			put16(slices.Insert(slices.Clone(three), at+2+split, 0), at, split+1)),
		simplePayloadDamage("100 bytes less between", 2, 2000, three, slices.Delete(slices.Clone(three), middle-50, middle+50)),
		simplePayloadDamage("all bytes away", 2, 2000, three, slices.Delete(slices.Clone(three), at+10, size-10)),
		simplePayloadDamage("symbols missing", 2, 2300, nil, three),
		simplePayloadDamage("symbols left", 2, 1700, nil, three),

		simplePayloadDamage("first part a byte less", 4, 2000, six, put24(first-1)),
		simplePayloadDamage("first part a byte more", 4, 2000, six, put24(first+1)),
		simplePayloadDamage("first part behind the end", 4, 2000, six, put24(len(six)-at-3+1)),
		simplePayloadDamage("first part is all", 4, 2000, six, put24(len(six)-at-3)),
		simplePayloadDamage("first part 0", 4, 2000, six, put24(0)),
		simplePayloadDamage("greatest first part", 4, 2000, six, put24(1<<24-1)),
		simplePayloadDamage("first part of 2", 4, 2000, six, two(a[:2], b)),
		simplePayloadDamage("second part of 2", 4, 2000, six, two(a, b[:2])),
		simplePayloadDamage("second part of 0", 4, 2000, six, two(a, nil)),
		simplePayloadDamage("split 1 behind its part", 4, 2000, six, two(put16(a, 0, len(a)-1), b)),
		simplePayloadDamage("split 2 behind its part", 4, 2000, six, two(a, put16(b, 0, len(b)-1))),
		simplePayloadDamage("a byte in part 1", 4, 2000, six, two(slices.Insert(slices.Clone(a), 600, 0), b)),
		simplePayloadDamage("a byte in part 2", 4, 2000, six, two(a, slices.Insert(slices.Clone(b), 500, 0))),
		simplePayloadDamage("symbols missing", 4, 2300, nil, six),
	}
	for n := range 6 {
		rows = append(rows, simplePayloadDamage(fmt.Sprintf("%d bytes of parts", n), 4, 2000, six, slices.Concat(head, make([]byte, n))))
	}
	simpleRunDamage(t, rows)
}

func TestSimpleDamagedTANS(t *testing.T) {
	raw := simpleText(simpleRand(34), 2000, 3)
	for i := range raw {
		raw[i] = 'a' + raw[i]%3
	}
	weights := [256]int{'a': 100, 'b': 100, 'c': 312}
	area := simpleTANSBits(weights, 9, raw)
	dense := append(simpleDenseWeights(weights, 9, 1), area...)
	sparse := append(simpleSparseWeights(weights, 9, 9), area...)
	table := func(of simpleBits) []byte { return append(of.high(), area...) }
	other := func(w [256]int) []byte { return append(simpleDenseWeights(w, 9, 1), area...) }
	rows := []simpleDamage{
		simplePayloadDamage("first bit", 1, 2000, dense, simplePatch(dense, 0, dense[0]|0x80)),
		simplePayloadDamage("one symbol", 1, 2000, dense, table(simpleString(0, 1, 1, 2, 1, 1, 1, 3, 0, 8))),
		simplePayloadDamage("weight of 16 bits", 1, 2000, dense, table(simpleString(0, 1, 1, 2, 1, 1, 7, 3, 1, 8, 1, 2, 1, 10))),
		simplePayloadDamage("256 zeros", 1, 2000, dense, table(simpleString(0, 1, 1, 2, 1, 1, 0, 3, 1, 8, 1, 2, 0, 256))),
		simplePayloadDamage("weights less than the states", 1, 2000, dense, other([256]int{'a': 100, 'b': 99, 'c': 312})),
		simplePayloadDamage("weights more than the states", 1, 2000, dense, other([256]int{'a': 100, 'b': 101, 'c': 312})),
		simplePayloadDamage("much more", 1, 2000, dense, other([256]int{'a': 30000, 'b': 30000, 'c': 30000})),
		simplePayloadDamage("symbol 256", 1, 2000, dense, table(simpleString(0, 1, 1, 2, 1, 1, 0, 3, 1, 8, 1, 2, 1, 1, 1, 1, 1, 8, 1, 8))),
		simplePayloadDamage("differences of 0 bits", 1, 2000, sparse, table(simpleString(0, 1, 1, 2, 0, 1, 1, 3, 0, 4))),
		simplePayloadDamage("differences of too many bits", 1, 2000, sparse,
			table(simpleString(0, 1, 1, 2, 0, 1, 1, 3, 10, 4, 'a', 8, 100, 10, 'b', 8, 0, 10, 'c', 8))),
		simplePayloadDamage("symbol twice", 1, 2000, sparse,
			table(simpleString(0, 1, 1, 2, 0, 1, 1, 3, 9, 4, 'a', 8, 100, 9, 'a', 8, 0, 9, 'c', 8))),
		simplePayloadDamage("last symbol twice", 1, 2000, sparse,
			table(simpleString(0, 1, 1, 2, 0, 1, 1, 3, 9, 4, 'a', 8, 100, 9, 'b', 8, 0, 9, 'b', 8))),
		simplePayloadDamage("weight 0", 1, 2000, sparse,
			table(simpleString(0, 1, 1, 2, 0, 1, 1, 3, 9, 4, 'a', 8, 0, 9, 'b', 8, 100, 9, 'c', 8))),
		simplePayloadDamage("nothing left", 1, 2000, sparse,
			table(simpleString(0, 1, 1, 2, 0, 1, 1, 3, 9, 4, 'a', 8, 256, 9, 'b', 8, 0, 9, 'c', 8))),
		simplePayloadDamage("less than nothing left", 1, 2000, sparse,
			table(simpleString(0, 1, 1, 2, 0, 1, 1, 3, 9, 4, 'a', 8, 500, 9, 'b', 8, 500, 9, 'c', 8))),
		simplePayloadDamage("less left than the last", 1, 2000, sparse,
			table(simpleString(0, 1, 1, 2, 0, 1, 1, 3, 9, 4, 'a', 8, 200, 9, 'b', 8, 0, 9, 'c', 8))),
		simplePayloadDamage("1 left", 1, 2000, sparse,
			table(simpleString(0, 1, 1, 2, 0, 1, 0, 3, 9, 4, 'a', 8, 511, 9, 'c', 8))),
		simplePayloadDamage("a byte between", 1, 2000, dense, slices.Insert(slices.Clone(dense), len(dense)-len(area)/2, 0)),
		simplePayloadDamage("a byte less", 1, 2000, dense, slices.Delete(slices.Clone(dense), len(dense)-len(area)/2, len(dense)-len(area)/2+1)),
		simplePayloadDamage("few bytes", 1, 2000, dense, dense[:20]),
		simplePayloadDamage("8 bytes", 1, 2000, dense, dense[:8]),
		simplePayloadDamage("7 bytes", 1, 2000, dense, dense[:7]),
		simplePayloadDamage("no bytes", 1, 2000, dense, nil),
		simplePayloadDamage("symbols missing", 1, 2600, nil, dense),
		simplePayloadDamage("symbols left", 1, 1400, nil, dense),
	}
	for i := range 5 {
		var states [5]int
		states[i] = 255
		good := append(simpleDenseWeights(weights, 9, 1), simpleTANSStates(weights, 9, raw[5:], states)...)
		for _, v := range []int{256, 511} {
			states[i] = v
			bad := append(simpleDenseWeights(weights, 9, 1), simpleTANSStates(weights, 9, raw[5:], states)...)
			rows = append(rows, simplePayloadDamage(fmt.Sprintf("state %d is %d", i, v), 1, 2000, good, bad))
		}
	}
	simpleRunDamage(t, rows)
}
