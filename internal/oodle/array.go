package oodle

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// The kinds of arrays.
const (
	arrayRaw      = 0
	arrayTANS     = 1
	arrayHuffman3 = 2 // one part of three bit streams
	arrayRLE      = 3
	arrayHuffman6 = 4 // two parts of three bit streams
	arrayMulti    = 5
)

// maxDepth is how many arrays may be around an array. Encoders nest two.
const maxDepth = 8

// arrayHeader is what stands before an array's payload.
type arrayHeader struct {
	kind int
	raw  int // size when decoded
	comp int // size of the payload
}

// parseArray splits src into the header and the payload of the array that it
// begins with, and what follows the array.
func parseArray(src []byte) (h arrayHeader, payload, rest []byte, err error) {
	if len(src) < 2 {
		return h, nil, nil, fmt.Errorf("array header: expected 2 bytes or more, got %d", len(src))
	}
	short := src[0]&0x80 != 0
	h.kind = int(src[0]>>4) & 7
	size := 3
	switch {
	case h.kind > arrayMulti:
		return h, nil, nil, fmt.Errorf("array type: expected 0 to %d, got %d", arrayMulti, h.kind)
	case h.kind == arrayRaw && short:
		size = 2
	case h.kind != arrayRaw && !short:
		size = 5
	}
	if len(src) < size {
		return h, nil, nil, fmt.Errorf("array header: expected %d bytes, got %d", size, len(src))
	}
	switch size {
	case 2:
		h.comp = int(binary.BigEndian.Uint16(src)) & 0xFFF
		h.raw = h.comp
	case 3:
		v := int(src[0])<<16 | int(src[1])<<8 | int(src[2])
		if h.kind == arrayRaw {
			if v > 0x3FFFF {
				return h, nil, nil, fmt.Errorf("raw array: expected at most %d bytes, got %d", 0x3FFFF, v)
			}
			h.comp, h.raw = v, v
		} else {
			h.comp = v & 0x3FF
			h.raw = h.comp + v>>10&0x3FF + 1
		}
	case 5:
		v := binary.BigEndian.Uint32(src[1:])
		h.comp = int(v & 0x3FFFF)
		h.raw = int(src[0]&15)<<14 | int(v>>18) + 1
		if h.comp >= h.raw {
			return h, nil, nil, fmt.Errorf("array of %d bytes: expected fewer stored ones, got %d", h.raw, h.comp)
		}
	}
	if src = src[size:]; h.comp > len(src) {
		return h, nil, nil, fmt.Errorf("array payload: expected %d bytes, got %d", h.comp, len(src))
	}
	return h, src[:h.comp], src[h.comp:], nil
}

// parseArrayMax is parseArray with a limit to the decoded size.
func parseArrayMax(src []byte, most int) (h arrayHeader, payload, rest []byte, err error) {
	h, payload, rest, err = parseArray(src)
	if err == nil && h.raw > most {
		err = fmt.Errorf("array: expected at most %d decoded bytes, got %d", most, h.raw)
	}
	return h, payload, rest, err
}

// array decodes the array of at most most bytes that src begins with, which depth
// arrays are around, and returns it and what follows it in src. A raw array stays
// where it is. Other arrays are in scratch memory.
func (d *Decoder) array(src []byte, most, depth int) (decoded, rest []byte, err error) {
	h, payload, rest, err := parseArrayMax(src, most)
	if err != nil {
		return nil, nil, err
	}
	if h.kind == arrayRaw {
		return payload, rest, nil
	}
	decoded, err = d.take(h.raw)
	if err != nil {
		return nil, nil, err
	}
	return decoded, rest, d.decodeArray(decoded, h, payload, depth)
}

// arrayTo decodes the array that src begins with, around which no other is, to the
// front of dst. It returns its size and what follows it in src.
func (d *Decoder) arrayTo(dst, src []byte) (n int, rest []byte, err error) {
	h, payload, rest, err := parseArrayMax(src, len(dst))
	if err != nil {
		return 0, nil, err
	}
	return h.raw, rest, d.decodeArray(dst[:h.raw], h, payload, 0)
}

// decodeArray decodes the payload of an array with header h to dst, which is of
// the array's size and may not overlap it.
func (d *Decoder) decodeArray(dst []byte, h arrayHeader, payload []byte, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("nested arrays: expected at most %d around one another, got more", maxDepth)
	}
	var err error
	switch h.kind {
	case arrayRaw:
		copy(dst, payload)
	case arrayTANS:
		err = d.tans.decode(dst, payload)
	case arrayHuffman3, arrayHuffman6:
		if d.huffman == nil {
			d.huffman = new(huffman)
		}
		err = d.huffman.decode(dst, payload, h.kind == arrayHuffman6)
	case arrayRLE:
		err = d.runs(dst, payload, depth)
	case arrayMulti:
		err = d.multi(dst, payload, depth)
	}
	if err != nil {
		return fmt.Errorf("array of type %d: %w", h.kind, err)
	}
	return nil
}

// errWork is that of arrays whose nested arrays are out of all proportion.
var errWork = errors.New("nested arrays: expected sizes like that of the chunk, got far more")

// take returns n bytes of scratch memory with undefined contents, until d.scratch
// is set back. It counts them against the work of a chunk: an array may nest a
// larger one, which may nest a larger one, and so on, so that without a limit a few
// bytes could make much work.
func (d *Decoder) take(n int) ([]byte, error) {
	if n > d.work {
		return nil, errWork
	}
	d.work -= n
	return d.scratch.take(n), nil
}
