package oodle

import "encoding/binary"

const (
	rawHeaderSize    = 3
	packedHeaderSize = 5

	// minPacked is the shortest array worth a code table.
	minPacked = 32

	// minTwoParts is the shortest array in two parts of three streams, which
	// take a few bytes more and are decoded side by side.
	minTwoParts = 1024

	// worthShift: a code must save one byte in 1<<worthShift, or it is not worth
	// the time to decode it.
	worthShift = 5
)

// arrayPlan is the form in which one array will be stored.
type arrayPlan struct {
	raw    bool
	size   int    // the header included
	stored []byte // the array as it is stored, unless it is raw
	code   huffCode
}

// planRaw is the plan for n bytes as they are.
func (p *arrayPlan) planRaw(n int) {
	p.raw, p.size = true, rawHeaderSize+n
}

// plan chooses the smallest form for b.
func (p *arrayPlan) plan(b []byte, h *huffWriter) {
	p.planRaw(len(b))
	if len(b) < minPacked {
		return
	}
	h.count(b)
	if h.hist[b[0]] == uint32(len(b)) {
		p.stored = appendFill(p.stored[:0], b[0], len(b))
	} else {
		most := p.size - len(b)>>worthShift
		p.code.build(&h.hist, &h.code)
		if packedHeaderSize+p.code.cost(&h.hist)/8 >= most {
			return
		}
		if p.pack(b, h); len(p.stored) >= most {
			return
		}
	}
	p.raw, p.size = false, len(p.stored)
}

// pack stores b in its code.
func (p *arrayPlan) pack(b []byte, h *huffWriter) {
	p.stored = p.code.appendTable(append(p.stored[:0], make([]byte, packedHeaderSize)...))
	kind := arrayHuffman3
	if len(b) < minTwoParts {
		p.stored = h.appendStreams(p.stored, b, &p.code)
	} else {
		kind = arrayHuffman6
		p.stored = h.appendParts(p.stored, b, &p.code)
	}
	putPackedHeader(p.stored, kind, len(b), len(p.stored)-packedHeaderSize)
}

// append appends b in the form that was chosen for it.
func (p *arrayPlan) append(dst, b []byte) []byte {
	if !p.raw {
		return append(dst, p.stored...)
	}
	dst = append(dst, 0, 0, 0)
	putUint24(dst[len(dst)-rawHeaderSize:], len(b))
	return append(dst, b...)
}

// appendFill appends an array of n times b.
func appendFill(dst []byte, b byte, n int) []byte {
	start := len(dst)
	dst = append(dst, make([]byte, packedHeaderSize)...)
	putPackedHeader(dst[start:], arrayRLE, n, 1)
	return append(dst, b)
}

// putPackedHeader writes the long header of an array that is not raw.
func putPackedHeader(b []byte, kind, raw, packed int) {
	n := raw - 1
	b[0] = byte(kind<<4 | n>>14)
	binary.BigEndian.PutUint32(b[1:], uint32(n)<<18|uint32(packed))
}
