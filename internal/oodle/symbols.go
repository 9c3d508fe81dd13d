package oodle

import (
	"errors"
	"fmt"
	"math/bits"
)

// symbolSet is what Huffman and tANS tables share: the set of symbols that a table
// is about, as ranges and the gaps between them, and one number for each symbol.
// The numbers' unary parts come first, those of the symbols and those of the ranges
// in one.
type symbolSet struct {
	symbols [256]uint8 // ascending
	n       int
	unary   [256 + 256]uint8
	ranges  int // the number of unary parts after those of the symbols
}

// readUnary reads the unary parts for n symbols, 1 to 256.
func (s *symbolSet) readUnary(r *bitReader, n int) error {
	s.n, s.ranges = n, rangeCount(r, n)
	parts := s.unary[:n+s.ranges]
	for i := range parts {
		z, ok := r.unary(255)
		if !ok {
			return errors.New("code table: expected a 1 bit within 256 bits, got none")
		}
		parts[i] = uint8(z)
	}
	return nil
}

// rangeCount reads how many numbers describe the ranges of n symbols.
func rangeCount(r *bitReader, n int) int {
	if n == 256 {
		return 0
	}
	x := 2 * min(n, 257-n)
	y := bits.Len(uint(x - 1))
	z := 1<<y - x
	v := r.peek(y)
	if v>>1 >= z {
		r.pos += y
		return v - z
	}
	r.pos += y - 1
	return v >> 1
}

// readSymbols reads the rest of the ranges' numbers and sets the symbols.
func (s *symbolSet) readSymbols(r *bitReader) error {
	parts := s.unary[s.n : s.n+s.ranges]
	next, used := 0, 0 // symbols are below next, and used of them are in the set
	if len(parts)&1 != 0 {
		gap, err := readGap(r, parts[0])
		if err != nil {
			return err
		}
		next, parts = gap, parts[1:]
	}
	for ; len(parts) != 0; parts = parts[2:] {
		if parts[0] > 8 {
			return fmt.Errorf("symbol range: expected a size of 8 bits or fewer, got %d", parts[0])
		}
		size := r.read(int(parts[0])) + 1<<parts[0]
		if err := s.add(next, used, size); err != nil {
			return err
		}
		gap, err := readGap(r, parts[1])
		if err != nil {
			return err
		}
		next += size + gap
		used += size
	}
	if used >= s.n {
		return fmt.Errorf("symbol ranges: expected fewer than %d symbols before the last one, got %d", s.n, used)
	}
	return s.add(next, used, s.n-used)
}

// readGap reads the rest of a gap between two ranges.
func readGap(r *bitReader, part uint8) (int, error) {
	if part > 7 {
		return 0, fmt.Errorf("symbol range: expected a gap of 8 bits or fewer, got %d", part+1)
	}
	return r.read(int(part)+1) + 2<<part - 1, nil
}

// add makes the symbols from first on the set's next ones after used.
func (s *symbolSet) add(first, used, size int) error {
	if first+size > 256 || used+size > s.n {
		return fmt.Errorf("symbol range: expected at most %d symbols and the last at most 255, got %d to %d",
			s.n-used, first, first+size-1)
	}
	for i := range size {
		s.symbols[used+i] = uint8(first + i)
	}
	return nil
}
