package oodle

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// array decodes one array of at most n bytes.
func (c *checker) array(n int) []byte {
	failIf(len(c.in) == 0, "no array")
	failIf(c.in[0]&0x80 != 0, "a short header")
	kind := c.in[0] >> 4
	if kind == 0 {
		size := c.uint24be()
		failIf(size > 0x3FFFF || size > n, "a raw array of %d bytes for %d", size, n)
		return c.take(size)
	}
	b0 := c.byte()
	w := int64(binary.BigEndian.Uint32(c.take(4)))
	size := int(w & 0x3FFFF)
	raw := (b0&15<<14 | int(w>>18)) + 1
	failIf(size >= raw, "an array of %d bytes for %d", size, raw)
	failIf(raw > n, "an array of %d bytes for %d", raw, n)
	payload := c.take(size)
	switch kind {
	case 2:
		failIf(raw < 32, "a packed array of %d bytes", raw)
		c.huffman++
		return c.decode3(payload, raw)
	case 4:
		failIf(raw < 32, "a packed array of %d bytes", raw)
		c.huffman++
		return c.decode6(payload, raw)
	case 3:
		failIf(size != 1, "runs")
		c.fills++
		out := make([]byte, raw)
		for i := range out {
			out[i] = payload[0]
		}
		return out
	}
	panic(fault(fmt.Sprintf("array type %d", kind)))
}

// bitString is a string of bits, taken from the bytes that it is made of.
type bitString struct {
	bit func(i int) int // panics past the end
	at  int
}

func (s *bitString) next() int {
	s.at++
	return s.bit(s.at - 1)
}

// read is k bits, the most significant one first.
func (s *bitString) read(k int) (v int) {
	for range k {
		v = v<<1 | s.next()
	}
	return v
}

func (s *bitString) unary() (n int) {
	for s.next() == 0 {
		n++
	}
	return n
}

func forwardFromTop(b []byte) *bitString {
	return &bitString{bit: func(i int) int {
		failIf(i>>3 >= len(b), "the table is longer than the array")
		return int(b[i>>3]>>(7-i&7)) & 1
	}}
}

func forwardFromLow(b []byte) *bitString {
	return &bitString{bit: func(i int) int {
		failIf(i>>3 >= len(b), "a stream runs past the array")
		return int(b[i>>3]>>(i&7)) & 1
	}}
}

func backwardFromLow(b []byte) *bitString {
	return &bitString{bit: func(i int) int {
		failIf(i>>3 >= len(b), "a stream runs past the array")
		return int(b[len(b)-1-i>>3]>>(i&7)) & 1
	}}
}

func wholeBytes(s *bitString) int { return (s.at + 7) / 8 }

// decode3 decodes an array of three bit streams.
func (c *checker) decode3(b []byte, n int) []byte {
	codes, b := c.codes(b)
	return c.streams(codes, b, n)
}

// decode6 decodes an array of two parts with three bit streams each.
func (c *checker) decode6(b []byte, n int) []byte {
	codes, b := c.codes(b)
	failIf(len(b) < 6, "%d bytes of parts", len(b))
	m := int(b[0]) | int(b[1])<<8 | int(b[2])<<16
	b = b[3:]
	failIf(m > len(b), "a part of %d bytes, there are %d", m, len(b))
	half := (n + 1) / 2
	return append(c.streams(codes, b[:m], half), c.streams(codes, b[m:], n-half)...)
}

// codes reads a table and returns the symbols by their code, with a 1 in front that
// tells lengths apart, and what follows the table.
func (c *checker) codes(b []byte) (codes map[int]byte, rest []byte) {
	head := forwardFromTop(b)
	lens := c.codeLengths(head)
	codes = map[int]byte{}
	next, space := 0, 0
	for l := 1; l <= 11; l++ {
		for s := range 256 {
			if lens[byte(s)] == l {
				codes[1<<l|next] = byte(s)
				next++
				space += 1 << (11 - l)
			}
		}
		next <<= 1
	}
	failIf(space != 1<<11, "the codes fill %d of 2048", space)
	failIf(len(codes) < 2, "%d codes", len(codes))
	return codes, b[wholeBytes(head):]
}

// streams decodes n symbols from three bit streams.
func (c *checker) streams(codes map[int]byte, b []byte, n int) []byte {
	failIf(len(b) < 3, "%d bytes of streams", len(b))
	split := int(b[0]) | int(b[1])<<8
	b = b[2:]
	failIf(split > len(b), "split")
	streams := [3]*bitString{forwardFromLow(b[:split]), backwardFromLow(b[split:]), forwardFromLow(b[split:])}
	out := make([]byte, n)
	for i := range out {
		code := 1
		for {
			code = code<<1 | streams[i%3].next()
			if s, ok := codes[code]; ok {
				out[i] = s
				break
			}
		}
	}
	failIf(wholeBytes(streams[0]) != split, "first stream of %d bytes, not %d", wholeBytes(streams[0]), split)
	failIf(wholeBytes(streams[1])+wholeBytes(streams[2]) != len(b)-split, "streams that do not meet")
	return out
}

// codeLengths reads a code table, sparse or new.
func (c *checker) codeLengths(s *bitString) map[byte]int {
	lens := map[byte]int{}
	add := func(symbol, n int) {
		failIf(n < 1 || n > 11, "a code of %d bits", n)
		failIf(symbol > 255, "symbol %d", symbol)
		failIf(lens[byte(symbol)] != 0, "symbol %d twice", symbol)
		lens[byte(symbol)] = n
	}
	if s.read(1) == 0 {
		failIf(s.read(1) == 1, "an old dense table")
		c.sparse++
		m := s.read(8)
		failIf(m < 2, "a table of %d", m)
		w := s.read(3)
		failIf(w > 4, "width %d", w)
		for range m {
			symbol := s.read(8)
			add(symbol, s.read(w)+1)
		}
		return lens
	}
	failIf(s.read(1) == 1, "unknown table")
	k := s.read(2)
	m := s.read(8) + 1
	p := countSpans(s, m)
	u := make([]int, m+p)
	for i := range u {
		u[i] = s.unary()
	}
	list := make([]int, m)
	sum := 30
	for i := range m {
		v := u[i]<<k | s.read(k)
		v = v>>1 ^ -(v & 1)
		list[i] = v + sum>>2 + 1
		sum += v
	}
	u = u[m:]
	symbol, used := 0, 0
	if p%2 == 1 {
		symbol = s.read(u[0]+1) + 1<<(u[0]+1) - 1
		u = u[1:]
	}
	span := func(n int) {
		for range n {
			failIf(used == m, "too many symbols")
			add(symbol, list[used])
			symbol++
			used++
		}
	}
	for ; len(u) > 0; u = u[2:] {
		failIf(u[0] > 8 || u[1] > 7, "span")
		span(s.read(u[0]) + 1<<u[0])
		symbol += s.read(u[1]+1) + 1<<(u[1]+1) - 1
	}
	failIf(used >= m, "no last span")
	span(m - used)
	return lens
}

func countSpans(s *bitString, m int) int {
	if m == 256 {
		return 0
	}
	x := 2 * min(m, 257-m)
	y := bits.Len(uint(x - 1))
	z := 1<<y - x
	v := s.read(y - 1)
	if v < z {
		return v
	}
	return (v<<1 | s.next()) - z
}
