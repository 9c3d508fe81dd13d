package oodle

import (
	"encoding/binary"
	"math/bits"
)

// The windows below hold the bits of a stream from a bit position on, 57 or more
// of them. Bits past the end of the bytes are zero, so reading needs no checks:
// whoever reads compares the position with the end afterwards.

// windowBits is how many bits of a window may be used.
const windowBits = 57

// forwardLSB is the window at bit pos of p read forward, each byte from its lowest
// bit up. The next bit is the lowest.
func forwardLSB(p []byte, pos int) uint64 {
	return forwardBytes(p, pos>>3) >> (pos & 7)
}

// backwardLSB is the window at bit pos of p read from its last byte down, each
// byte from its lowest bit up. The next bit is the lowest.
func backwardLSB(p []byte, pos int) uint64 {
	return bits.ReverseBytes64(backwardBytes(p, pos>>3)) >> (pos & 7)
}

// forwardMSB is the window at bit pos of p read forward, each byte from its
// highest bit down. The next bit is the highest.
func forwardMSB(p []byte, pos int) uint64 {
	return bits.ReverseBytes64(forwardBytes(p, pos>>3)) << (pos & 7)
}

// backwardMSB is the window at bit pos of p read from its last byte down, each
// byte from its highest bit down. The next bit is the highest.
func backwardMSB(p []byte, pos int) uint64 {
	return backwardBytes(p, pos>>3) << (pos & 7)
}

// forwardBytes are the eight bytes of p from i on, the first one lowest.
func forwardBytes(p []byte, i int) uint64 {
	if i <= len(p)-8 {
		return binary.LittleEndian.Uint64(p[i:])
	}
	var tail [8]byte
	copy(tail[:], p[min(i, len(p)):])
	return binary.LittleEndian.Uint64(tail[:])
}

// backwardBytes are the eight bytes of p that end i bytes before its end, the last
// one highest.
func backwardBytes(p []byte, i int) uint64 {
	if end := len(p) - i; end >= 8 {
		return binary.LittleEndian.Uint64(p[end-8 : end])
	} else if end > 0 {
		var head [8]byte
		copy(head[8-end:], p[:end])
		return binary.LittleEndian.Uint64(head[:])
	}
	return 0
}

// byteLen is the number of bytes that n bits begin.
func byteLen(n int) int { return (n + 7) >> 3 }

// bitReader reads numbers, the most significant bit first, from bytes that are
// read forward or, where backward is set, from the last one down.
type bitReader struct {
	src      []byte
	pos      int // the bits used
	backward bool
}

// window is the window at the next bit, which is the highest.
func (r *bitReader) window() uint64 {
	if r.backward {
		return backwardMSB(r.src, r.pos)
	}
	return forwardMSB(r.src, r.pos)
}

// peek is the number that the next n <= windowBits bits make.
func (r *bitReader) peek(n int) int {
	return int(r.window() >> (64 - uint(n)))
}

// read is the number that the next n <= 30 bits make.
func (r *bitReader) read(n int) int {
	v := r.peek(n)
	r.pos += n
	return v
}

// zeros counts the zero bits before the next one bit, which it leaves in place. ok
// is false, and the position undefined, where there are more than most or the
// stream ends first.
func (r *bitReader) zeros(most int) (n int, ok bool) {
	for n <= most && r.pos < 8*len(r.src) {
		z := bits.LeadingZeros64(r.window())
		if z < windowBits {
			r.pos += z
			n += z
			return n, n <= most
		}
		r.pos += windowBits
		n += windowBits
	}
	return n, false
}

// unary counts the zero bits before the next one bit and takes that too. ok is as
// of zeros.
func (r *bitReader) unary(most int) (n int, ok bool) {
	n, ok = r.zeros(most)
	r.pos++
	return n, ok
}

// used is the number of bytes that reading has begun. It is more than there are
// where bits past the end were read.
func (r *bitReader) used() int { return byteLen(r.pos) }

// zigzag is the signed number that v stands for: 0, -1, 1, -2, 2 and so on.
func zigzag(v int) int { return v>>1 ^ -(v & 1) }
