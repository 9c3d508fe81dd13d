package oodle

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// maxSources is the most arrays that another one is made of piece by piece.
const maxSources = 63

// multi decodes an array made of others: one after the other, or pieces of each in
// turn.
func (d *Decoder) multi(dst, payload []byte, depth int) error {
	if len(payload) < 6 {
		return fmt.Errorf("expected 6 bytes or more, got %d", len(payload))
	}
	if n := payload[0] & 0x7F; n < 2 {
		return fmt.Errorf("expected 2 arrays or more, got %d", n)
	}
	if payload[0]&0x80 == 0 {
		return d.concat(dst, payload[1:], int(payload[0]), depth)
	}
	defer func(used int) { d.scratch.used = used }(d.scratch.used)
	return d.interleave(dst, payload[1:], int(payload[0]&maxSources), depth)
}

// concat decodes n arrays one after the other.
func (d *Decoder) concat(dst, src []byte, n, depth int) error {
	for range n {
		h, payload, rest, err := parseArrayMax(src, len(dst))
		if err != nil {
			return err
		}
		if err := d.decodeArray(dst[:h.raw], h, payload, depth+1); err != nil {
			return err
		}
		dst, src = dst[h.raw:], rest
	}
	if len(dst) != 0 || len(src) != 0 {
		return fmt.Errorf("expected the whole array in %d others and nothing after them, got %d and %d bytes left",
			n, len(dst), len(src))
	}
	return nil
}

// interleave decodes n arrays and puts together the pieces that they are made of.
func (d *Decoder) interleave(dst, src []byte, n, depth int) (err error) {
	var sources [maxSources][]byte
	total := 0
	for i := range n {
		sources[i], src, err = d.array(src, len(dst)-total, depth+1)
		if err != nil {
			return err
		}
		total += len(sources[i])
	}
	if total != len(dst) {
		return fmt.Errorf("expected sources of %d bytes, got %d", len(dst), total)
	}
	p, err := d.pieces(src, total, depth)
	if err != nil {
		return err
	}
	for p.more() {
		i, size, err := p.next()
		if err != nil {
			return err
		}
		if i > n {
			return fmt.Errorf("piece: expected one of source 1 to %d, got %d", n, i)
		}
		from := &sources[i-1]
		if size > len(*from) {
			return fmt.Errorf("piece: expected at most %d bytes, got %d", len(*from), size)
		}
		dst = dst[copy(dst, (*from)[:size]):]
		*from = (*from)[size:]
	}
	if len(dst) != 0 {
		return fmt.Errorf("pieces: expected %d bytes more, got none", len(dst))
	}
	return p.end()
}

// pieces says of what pieces an array is made.
type pieces struct {
	source []byte // the source of each, from 1 on, and a 0 as the last
	width  []byte // how many bits the size of each has; nil where source has both
	bits   [2]bitReader
	i      int
}

// packedPieces is set where one array has a source in the low half of each byte
// and a width in the high half.
const packedPieces = 0x8000

// pieces reads the rest of an array with total bytes of sources.
func (d *Decoder) pieces(src []byte, total, depth int) (p pieces, err error) {
	if len(src) < 2 {
		return p, fmt.Errorf("pieces: expected 2 bytes or more, got %d", len(src))
	}
	flags := int(binary.LittleEndian.Uint16(src))
	p.source, src, err = d.array(src[2:], total, depth+1)
	if err != nil {
		return p, err
	}
	n := len(p.source) - 1
	if n < 1 {
		return p, errors.New("pieces: expected 1 or more and an end, got fewer")
	}
	if flags&packedPieces == 0 {
		p.width, src, err = d.array(src, n, depth+1)
		if err != nil {
			return p, err
		}
		if len(p.width) != n {
			return p, fmt.Errorf("pieces: expected %d widths, got %d", n, len(p.width))
		}
	}
	if size := flags & 0x3FFF; size != len(src) {
		return p, fmt.Errorf("pieces: expected %d bytes of sizes, got %d", size, len(src))
	}
	p.bits[0].src, p.bits[1].src, p.bits[1].backward = src, src, true
	return p, nil
}

// at is the source of the next piece, and how many bits its size has.
func (p *pieces) at() (source, width int) {
	s := p.source[p.i]
	if p.width == nil {
		return int(s & 15), int(s >> 4)
	}
	if p.i < len(p.width) {
		width = int(p.width[p.i])
	}
	return int(s), width
}

// more reports whether another piece follows.
func (p *pieces) more() bool {
	if p.i == len(p.source) {
		return false
	}
	source, _ := p.at()
	return source != 0
}

// next returns the source and the size of the next piece.
func (p *pieces) next() (source, size int, err error) {
	source, width := p.at()
	if width > 16 {
		return 0, 0, fmt.Errorf("piece: expected a size of 16 bits or fewer, got %d", width)
	}
	r := &p.bits[p.i&1]
	size = 1<<width | r.read(width)
	if r.used() > len(r.src) {
		return 0, 0, fmt.Errorf("pieces: expected at most %d bytes of sizes, got more", len(r.src))
	}
	p.i++
	return source, size, nil
}

// end checks that the end of the pieces is where it should be.
func (p *pieces) end() error {
	if p.i != len(p.source)-1 {
		return fmt.Errorf("pieces: expected their end after %d, got it after %d", len(p.source)-1, p.i)
	}
	if p.width != nil {
		return nil
	}
	_, _, err := p.next() // Where source has both, the end has a size as well.
	return err
}
