package oodle_test

import (
	"math/bits"
	"slices"
)

// The files simple_*_test.go write every piece of the format that the decoder
// reads. They are made from the format's description alone, share nothing with the
// package, and look for the shortest form of nothing.

// simpleBits is a string of bits, one per byte.
type simpleBits []byte

// put appends the low n bits of v, the most significant one first.
func (b *simpleBits) put(v, n int) {
	for n--; n >= 0; n-- {
		*b = append(*b, byte(v>>n&1))
	}
}

// putLow appends the low n bits of v, the least significant one first.
func (b *simpleBits) putLow(v, n int) {
	for i := range n {
		*b = append(*b, byte(v>>i&1))
	}
}

// unary appends n zeros and a one.
func (b *simpleBits) unary(n int) {
	b.put(1, n+1)
}

// high is the bits in bytes, each filled from its bit 7 down.
func (b simpleBits) high() []byte {
	out := make([]byte, (len(b)+7)/8)
	for i, v := range b {
		out[i/8] |= v << (7 - i%8)
	}
	return out
}

// low is the bits in bytes, each filled from its bit 0 up.
func (b simpleBits) low() []byte {
	out := make([]byte, (len(b)+7)/8)
	for i, v := range b {
		out[i/8] |= v << (i % 8)
	}
	return out
}

// simpleBackward is b in the order of a reader that takes the last byte first.
func simpleBackward(b []byte) []byte {
	b = slices.Clone(b)
	slices.Reverse(b)
	return b
}

// simpleFloorLog is the position of the highest bit of v.
func simpleFloorLog(v int) int {
	return bits.Len(uint(v)) - 1
}

// simpleZigzag is the number for v in the order 0, -1, 1, -2, 2 …
func simpleZigzag(v int) int {
	if v < 0 {
		return -2*v - 1
	}
	return 2 * v
}

// simpleLE16, simpleBE24 and simpleLE24 are v in bytes.
func simpleLE16(v int) []byte { return []byte{byte(v), byte(v >> 8)} }
func simpleLE24(v int) []byte { return []byte{byte(v), byte(v >> 8), byte(v >> 16)} }
func simpleBE24(v int) []byte { return []byte{byte(v >> 16), byte(v >> 8), byte(v)} }
