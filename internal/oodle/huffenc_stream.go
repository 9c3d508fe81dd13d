package oodle

import (
	"encoding/binary"
	"slices"
)

const (
	splitSize = 2 // in front of three bit streams: the size of the first
	partSize  = 3 // in front of two parts: the size of the first
)

// huffWriter writes the bit streams of arrays.
type huffWriter struct {
	hist   [256]uint32
	counts [4][256]uint32 // scratch of count
	stream []byte         // scratch of third
	code   huffScratch
}

// count sets hist to the number of times that each byte occurs in b.
func (h *huffWriter) count(b []byte) {
	// Four counters each, since in data of few values one would wait for its
	// own last increment.
	clear(h.counts[0][:])
	clear(h.counts[1][:])
	clear(h.counts[2][:])
	clear(h.counts[3][:])
	for ; len(b) >= 4; b = b[4:] {
		h.counts[0][b[0]]++
		h.counts[1][b[1]]++
		h.counts[2][b[2]]++
		h.counts[3][b[3]]++
	}
	for _, s := range b {
		h.counts[0][s]++
	}
	for s := range h.hist {
		h.hist[s] = h.counts[0][s] + h.counts[1][s] + h.counts[2][s] + h.counts[3][s]
	}
}

// appendParts appends the two halves of b, the first one the longer, each in three
// streams.
func (h *huffWriter) appendParts(dst, b []byte, c *huffCode) []byte {
	start := len(dst)
	dst = append(dst, 0, 0, 0)
	half := (len(b) + 1) / 2
	dst = h.appendStreams(dst, b[:half], c)
	size := len(dst) - start - partSize
	dst[start], dst[start+1], dst[start+2] = byte(size), byte(size>>8), byte(size>>16)
	return h.appendStreams(dst, b[half:], c)
}

// appendStreams appends the symbols of b in turn to three streams: one to read
// forward, one to read backward from the end, and between them one to read
// forward. The size of the first stands in front.
func (h *huffWriter) appendStreams(dst, b []byte, c *huffCode) []byte {
	first := h.third(b, c)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(first)))
	dst = append(dst, first...)
	dst = append(dst, h.third(b[2:], c)...)
	back := h.third(b[1:], c)
	slices.Reverse(back)
	return append(dst, back...)
}

// third returns the codes of every third byte of b, from the first on, the first
// bit of the stream being the lowest one of the first byte. The result is valid
// until the next call.
func (h *huffWriter) third(b []byte, c *huffCode) []byte {
	// Room for the longest codes, and for the store of a whole word at the end.
	h.stream = slices.Grow(h.stream[:0], (len(b)+2)/3*maxCode/8+9)
	out := h.stream[:cap(h.stream)]
	var acc uint64
	var n uint // bits in acc, fewer than 8 between words
	at := 0
	// Four codes are at most 44 bits and fit beside what is left.
	for ; len(b) >= 12; b = b[12:] {
		s0, s1, s2, s3 := b[0], b[3], b[6], b[9]
		acc |= uint64(c.codes[s0]) << (n & 63)
		n += uint(c.lens[s0])
		acc |= uint64(c.codes[s1]) << (n & 63)
		n += uint(c.lens[s1])
		acc |= uint64(c.codes[s2]) << (n & 63)
		n += uint(c.lens[s2])
		acc |= uint64(c.codes[s3]) << (n & 63)
		n += uint(c.lens[s3])
		binary.LittleEndian.PutUint64(out[at:], acc)
		at += int(n >> 3)
		acc >>= n & 56
		n &= 7
	}
	for i := 0; i < len(b); i += 3 {
		acc |= uint64(c.codes[b[i]]) << (n & 63)
		n += uint(c.lens[b[i]])
	}
	binary.LittleEndian.PutUint64(out[at:], acc)
	return out[:at+int(n+7)>>3]
}
