package oodle_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

// random fills a sub-chunk up to end with commands of all kinds.
func (l *simpleLZ) random(r *rand.Rand, end int) {
	text := func(n int) []byte { return simpleText(r, n, min(max(n, 1), 8)) }
	for end-len(l.out) > 3000 {
		reach := min(len(l.out), []int{8, 20, 256, 5000, 65535}[r.IntN(5)])
		dist := 8 + r.IntN(reach-8+1)
		switch r.IntN(9) {
		case 0, 1:
			l.fresh(text(r.IntN(8)), dist, 3+r.IntN(13))
		case 2, 3:
			l.again(text(r.IntN(8)), r.IntN(16))
		case 4:
			l.longLits(text(64 + []int{0, 1, 251, 252, 253, 254, 255, 256, 1000}[r.IntN(9)]))
		case 5:
			l.nearLong(dist, 91+[]int{0, 1, 251, 252, 253, 254, 255, 256, 2000}[r.IntN(9)])
		case 6, 7, 8:
			// Near or far, the source is where the sub-chunk starts or before.
			at := len(l.out) - l.base()
			first := max(at, 8)
			if len(l.out) < first {
				continue
			}
			dist := first + r.IntN(len(l.out)-first+1)
			l.farMatch(dist, []int{8, 28, 8 + r.IntN(21), 29, 29 + r.IntN(300), 29 + 252 + r.IntN(4), 1500}[r.IntN(7)])
		}
	}
	if left := end - len(l.out); left >= 91 && r.IntN(3) == 0 {
		l.nearLong(8, left) // it ends where the sub-chunk ends
	} else {
		l.tail(text(left))
	}
}

// simpleBlockOf is a block of n bytes in commands, and the bytes.
func simpleBlockOf(r *rand.Rand, n int, form simpleForm) (block, raw []byte) {
	mode := simplePlain
	if form.delta {
		mode = simpleDelta
	}
	var l simpleLZ
	var chunks []byte
	for pos := 0; pos < n; pos += simpleChunkSize {
		if pos == 0 {
			l.start(simpleText(r, 8, 8))
		} else {
			l.start(nil)
		}
		size := min(n-pos, simpleChunkSize)
		l.random(r, pos+min(size, simpleHalf))
		if size > simpleHalf {
			l.next()
			l.random(r, pos+size)
		}
		if body := l.body(size, form); len(body) < size {
			chunks = append(chunks, simpleLZChunk(mode, body)...)
		} else {
			chunks = append(chunks, simpleStoredChunk(l.out[pos:])...)
		}
	}
	return simpleBlock(simpleTypeMermaid, chunks), l.out
}

// simpleArrayForms is the ways to write the arrays of a chunk.
func simpleArrayForms() map[string]simpleForm {
	huffman := simpleWorthwhile(simpleHuffman(4, false))
	tans := simpleWorthwhile(simpleTANS(false))
	raw := func(b []byte) []byte { return simpleRaw(false, b) }
	return map[string]simpleForm{
		"Selkie":   {},
		"split":    {near: raw},
		"Huffman":  {lit: huffman, cmd: huffman, near: huffman},
		"tANS":     {lit: tans, cmd: tans, near: tans},
		"type 5":   {lit: simpleWorthwhile(simpleConcatHalves), cmd: simpleWorthwhile(simpleMultiHalves), near: simpleWorthwhile(simpleMultiHalves)},
		"RLE":      {lit: simpleIfShorter(simpleRLECoded(false)), cmd: simpleIfShorter(simpleRLECoded(false)), near: simpleIfShorter(simpleRLECoded(false))},
		"raw near": {lit: huffman, cmd: huffman},
	}
}

func TestSimpleMermaid(t *testing.T) {
	sizes := []int{5000, 65535, 65536, 65537, 70000, 131071, 131072, 131073, 200000, 262143, 262144}
	for name, form := range simpleArrayForms() {
		for _, size := range sizes {
			for _, delta := range []bool{false, true} {
				if size%5 != 0 && name != "Selkie" && name != "Huffman" {
					continue // to be quick
				}
				form.delta = delta
				block, raw := simpleBlockOf(simpleRand(uint64(size)), size, form)
				simpleCheck(t, fmt.Sprintf("%s, %d bytes, delta %t", name, size, delta), block, raw)
			}
		}
	}
}

// Small chunks: only a seed and literals, the last command at the very end, and a
// second chunk of a few bytes.
func TestSimpleMermaidSmall(t *testing.T) {
	for n := 40; n < 90; n++ {
		var l simpleLZ
		l.start([]byte("abcdefgh"))
		l.fresh([]byte("1234567"), 8, 15)
		l.again(nil, 10)
		l.tail(bytes.Repeat([]byte("."), n-40))
		simpleCheck(t, fmt.Sprint(n), simpleBlock(simpleTypeMermaid, simpleLZChunk(1, l.body(n, simpleForm{}))), l.out)
	}
	run := simpleArray(3, false, simpleChunkSize, []byte("-"))
	for n := 16; n < 30; n++ {
		var l simpleLZ
		l.out = bytes.Repeat([]byte("-"), simpleChunkSize)
		l.start(nil)
		l.again(nil, 2) // the distance is 8 again
		l.again([]byte("xy"), n-4)
		if n-4 > 15 {
			continue
		}
		simpleCheck(t, fmt.Sprint(n), simpleBlock(simpleTypeMermaid, run, simpleLZChunk(1, l.body(n, simpleForm{}))), l.out)
	}
}

// The longest length that its three bytes can say is more than a sub-chunk; the
// longest that fits is a whole sub-chunk.
func TestSimpleMermaidLongest(t *testing.T) {
	var l simpleLZ
	l.start([]byte("abcdefgh"))
	l.nearLong(8, simpleHalf-8)
	l.next()
	l.nearLong(9, simpleHalf)
	first := simpleLZChunk(1, l.body(simpleChunkSize, simpleForm{}))
	l.start(nil)
	l.farMatch(simpleChunkSize, simpleHalf)
	l.next()
	l.nearLong(65535, simpleHalf)
	second := simpleLZChunk(1, l.body(simpleChunkSize, simpleForm{}))
	simpleCheck(t, "longest matches", simpleBlock(simpleTypeMermaid, first, second), l.out)

	noise := simpleText(simpleRand(19), simpleHalf-8, 256)
	l = simpleLZ{}
	l.start([]byte("abcdefgh"))
	l.longLits(noise)
	l.next()
	l.nearLong(65535, simpleHalf)
	block := simpleBlock(simpleTypeMermaid, simpleLZChunk(1, l.body(simpleChunkSize, simpleForm{})))
	simpleCheck(t, "longest literals", block, l.out)
}

// Far distances whose count needs more than 12 bits, in either list and both.
func TestSimpleMermaidFarCounts(t *testing.T) {
	for _, counts := range [][2]int{{4094, 4094}, {4095, 0}, {0, 4095}, {4095, 4095}, {4096, 3}, {5, 5000}, {6000, 6000}} {
		var l simpleLZ
		l.start([]byte("abcdefgh"))
		l.nearLong(8, simpleHalf-8)
		l.next()
		l.nearLong(11, simpleHalf)
		first := simpleLZChunk(1, l.body(simpleChunkSize, simpleForm{}))
		l.start(nil)
		fill := func(n int) {
			end := len(l.out) + simpleHalf
			for i := range n {
				at := len(l.out) - l.base()
				l.farMatch(at+40+i*7, 8+i%3)
			}
			l.nearLong(8, end-len(l.out))
		}
		fill(counts[0])
		l.next()
		fill(counts[1])
		second := simpleLZChunk(1, l.body(simpleChunkSize, simpleForm{}))
		simpleCheck(t, fmt.Sprint(counts), simpleBlock(simpleTypeMermaid, first, second), l.out)
	}
}

// The first chunk is coded in another way than the second, in all pairs.
func TestSimpleMermaidMixedChunks(t *testing.T) {
	run := bytes.Repeat([]byte("="), simpleChunkSize)
	text := simpleText(simpleRand(20), simpleChunkSize, 30)
	heads := map[string][2][]byte{
		"run":     {simpleArray(3, false, len(run), run[:1]), run},
		"stored":  {simpleStoredChunk(text), text},
		"Huffman": {simpleHuffman(4, false)(text), text},
		"tANS":    {simpleTANS(false)(text), text},
		"type 5":  {simpleMultiHalves(text), text},
	}
	for name, head := range heads {
		var l simpleLZ
		l.out = append(l.out, head[1]...)
		l.start(nil)
		l.random(simpleRand(18), simpleChunkSize+50000)
		body := l.body(50000, simpleForm{})
		simpleCheck(t, name, simpleBlock(simpleTypeMermaid, head[0], simpleLZChunk(1, body)), l.out)
	}
	for name, tail := range heads {
		var l simpleLZ
		l.start([]byte("abcdefgh"))
		r := simpleRand(19)
		l.random(r, simpleHalf)
		l.next()
		l.random(r, simpleChunkSize)
		body := l.body(simpleChunkSize, simpleForm{})
		raw := append(l.out, tail[1]...)
		simpleCheck(t, name, simpleBlock(simpleTypeMermaid, simpleLZChunk(1, body), tail[0]), raw)
	}
}
