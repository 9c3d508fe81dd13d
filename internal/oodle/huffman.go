package oodle

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// maxCode is the length of the longest prefix code, in bits.
const maxCode = 11

// huffman decodes arrays of prefix codes.
type huffman struct {
	codes codeList
	table huffTable
	parts [2]huffPart

	// bits has the streams' bytes, after 8 others, so that 8 bytes can be read
	// anywhere. In an array of this size an index takes no check.
	bits [maxBits + 8]byte
}

// maxBits is more than the largest array has in bytes of streams.
const maxBits = 1 << 18

// huffTable has for every value of the next maxCode bits, the first of them lowest,
// the symbol that they begin with in the high byte and the length of its code in
// the low one.
type huffTable [1 << maxCode]uint16

// decode decodes an array whose codes are in one part of three streams, or in two.
func (h *huffman) decode(dst, payload []byte, two bool) error {
	r := bitReader{src: payload}
	if err := h.codes.read(&r); err != nil {
		return err
	}
	if r.used() > len(payload) {
		return fmt.Errorf("code table: expected at most %d bytes, got %d", len(payload), r.used())
	}
	payload = payload[r.used():]
	if h.codes.n == 1 {
		if len(payload) != 0 {
			return fmt.Errorf("expected nothing after the table of one symbol, got %d bytes", len(payload))
		}
		fill(dst, h.codes.symbol[0])
		return nil
	}
	if err := h.table.build(&h.codes); err != nil {
		return err
	}
	parts, err := h.open(dst, payload, two)
	if err != nil {
		return err
	}
	if len(payload)+16 <= maxBits {
		copy(h.bits[8:], payload)
		h.steps(parts)
	}
	for i := range parts {
		if err := parts[i].finish(&h.table); err != nil {
			return err
		}
	}
	return nil
}

// open splits what follows the code table into the one or two parts of an array.
func (h *huffman) open(dst, payload []byte, two bool) ([]huffPart, error) {
	if !two {
		return h.parts[:1], h.parts[0].open(dst, payload, 0)
	}
	if len(payload) < 6 {
		return nil, fmt.Errorf("expected 6 bytes or more after the code table, got %d", len(payload))
	}
	size := int(payload[0]) | int(payload[1])<<8 | int(payload[2])<<16
	payload = payload[3:]
	if size > len(payload) {
		return nil, fmt.Errorf("first part: expected at most %d bytes, got %d", len(payload), size)
	}
	half := (len(dst) + 1) / 2
	if err := h.parts[0].open(dst[:half], payload[:size], 3); err != nil {
		return nil, err
	}
	return h.parts[:], h.parts[1].open(dst[half:], payload[size:], 3+size)
}

// build makes the table of a complete set of codes. It grows with the length of
// the codes: a table for codes up to a length, twice, is one for codes of the next
// length but for the codes of that length, which take the places that are free.
func (t *huffTable) build(c *codeList) error {
	var count [maxCode + 1]int
	slots := 0
	for _, length := range c.length[:c.n] {
		count[length]++
		slots += len(t) >> length
	}
	if slots != len(t) {
		return fmt.Errorf("codes: expected %d of %d slots in use, got %d", len(t), len(t), slots)
	}
	var at [maxCode + 2]int // where the codes of a length begin in the order of codes
	for length, n := range count {
		at[length+1] = at[length] + n
	}
	var symbols [256]uint8
	next := at
	for i, length := range c.length[:c.n] {
		symbols[next[length]] = c.symbol[i]
		next[length]++
	}
	code := 0
	for length := 1; length <= maxCode; length++ {
		half := 1 << (length - 1)
		copy(t[half:2*half], t[:half])
		code <<= 1
		for _, s := range symbols[at[length]:at[length+1]] {
			i := bits.Reverse16(uint16(code)) >> (16 - length)
			t[i] = uint16(s)<<8 | uint16(length)
			code++
		}
	}
	return nil
}

// huffPart is a part of an array: three streams that hold the codes of every third
// byte each. The first and the third are read forward, the second backward from the
// end of the part. Where the third meets the second is not stored.
type huffPart struct {
	dst     []byte
	at      int // the bytes decoded
	src     []byte
	split   uint64 // where the third stream begins
	base    uint64 // the bit of huffman.bits where src begins
	end     uint64 // the byte of it where src ends
	a, b, c uint64 // the bits used of each stream, c with those before the split
}

// open makes p the part payload that decodes to dst and is at off of all the bytes
// after the code table.
func (p *huffPart) open(dst, payload []byte, off int) error {
	if len(payload) < 3 {
		return fmt.Errorf("bit streams: expected 3 bytes or more, got %d", len(payload))
	}
	split := int(binary.LittleEndian.Uint16(payload))
	src := payload[2:]
	if split > len(src) {
		return fmt.Errorf("first bit stream: expected at most %d bytes, got %d", len(src), split)
	}
	*p = huffPart{dst: dst, src: src, split: uint64(split), c: 8 * uint64(split)}
	at := 8 + uint64(off) + 2
	p.base, p.end = 8*at, at+uint64(len(src))
	return nil
}

// stepSymbols is how many symbols of each stream a window is sure to hold.
const stepSymbols = windowBits / maxCode

// next returns the symbol that the window's next bits are the code of, the window
// without them, and used with the table's entry added to it, which has their number
// in its low byte.
func (t *huffTable) next(window, used uint64) (byte, uint64, uint64) {
	e := uint64(t[window%uint64(len(t))])
	return byte(e >> 8), window >> (e & 63), used + e
}

// steps decodes the parts but for an end of each. It does a step of one and of the
// other in turn: they do not wait for each other, so the processor has more to do at
// a time. A stream may run into another one, or past the end into bytes of an
// earlier array, which finish finds out.
//
// The step is not a loop, as that takes a quarter longer.
func (h *huffman) steps(parts []huffPart) {
	for k := range parts {
		p := &parts[k]
		p.a += p.base
		p.c += p.base
	}
	p, other := &parts[0], &parts[len(parts)-1]
	for len(p.dst)-p.at >= 3*stepSymbols {
		out := (*[3 * stepSymbols]byte)(p.dst[p.at : p.at+3*stepSymbols])
		a := binary.LittleEndian.Uint64(h.bits[p.a>>3%maxBits:]) >> (p.a & 7)
		b := binary.BigEndian.Uint64(h.bits[(p.end-p.b>>3-8)%maxBits:]) >> (p.b & 7)
		c := binary.LittleEndian.Uint64(h.bits[p.c>>3%maxBits:]) >> (p.c & 7)
		var na, nb, nc uint64
		out[0], a, na = h.table.next(a, na)
		out[1], b, nb = h.table.next(b, nb)
		out[2], c, nc = h.table.next(c, nc)
		out[3], a, na = h.table.next(a, na)
		out[4], b, nb = h.table.next(b, nb)
		out[5], c, nc = h.table.next(c, nc)
		out[6], a, na = h.table.next(a, na)
		out[7], b, nb = h.table.next(b, nb)
		out[8], c, nc = h.table.next(c, nc)
		out[9], a, na = h.table.next(a, na)
		out[10], b, nb = h.table.next(b, nb)
		out[11], c, nc = h.table.next(c, nc)
		out[12], _, na = h.table.next(a, na)
		out[13], _, nb = h.table.next(b, nb)
		out[14], _, nc = h.table.next(c, nc)
		p.a += na & 0xFF
		p.b += nb & 0xFF
		p.c += nc & 0xFF
		p.at += 3 * stepSymbols
		p, other = other, p
	}
	for k := range parts {
		p := &parts[k]
		p.a -= p.base
		p.c -= p.base
	}
}

// finish decodes the symbols that are left one by one, and checks that the streams
// end where they should.
func (p *huffPart) finish(t *huffTable) error {
	dst := p.dst[p.at:]
	for i := range dst {
		var window uint64
		var pos *uint64
		switch i % 3 {
		case 0:
			window, pos = forwardLSB(p.src, int(p.a)), &p.a
		case 1:
			window, pos = backwardLSB(p.src, int(p.b)), &p.b
		case 2:
			window, pos = forwardLSB(p.src, int(p.c)), &p.c
		}
		e := t[window%uint64(len(t))]
		dst[i] = byte(e >> 8)
		*pos += uint64(e & 0xFF)
	}
	if n := byteLen(int(p.a)); n != int(p.split) {
		return fmt.Errorf("first bit stream: expected %d bytes, got %d", p.split, n)
	}
	if n := byteLen(int(p.b)) + byteLen(int(p.c)); n != len(p.src) {
		return fmt.Errorf("second and third bit streams: expected %d bytes, got %d", len(p.src)-int(p.split), n-int(p.split))
	}
	return nil
}
