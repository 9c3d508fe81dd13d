package oodle

import (
	"errors"
	"fmt"
)

// codeList is the list of the symbols that have a code and the codes' lengths, in
// the order that codes of a length are given out.
type codeList struct {
	symbol [256]uint8
	length [256]uint8
	n      int
	set    symbolSet
}

// add appends a symbol with a code of length bits.
func (c *codeList) add(symbol, length int) error {
	if length < 1 || length > maxCode {
		return fmt.Errorf("code length: expected 1 to %d, got %d", maxCode, length)
	}
	c.symbol[c.n], c.length[c.n] = uint8(symbol), uint8(length)
	c.n++
	return nil
}

// read reads a code table of any form. It may read past the end.
func (c *codeList) read(r *bitReader) error {
	c.n = 0
	switch form := r.peek(2); form {
	case 0:
		r.pos += 2
		return c.readSparse(r)
	case 1:
		r.pos += 2
		return c.readDense(r)
	case 2:
		r.pos += 2
		return c.readRanges(r)
	}
	return errors.New("code table: expected a form of 0, 1 or 2, got 3")
}

// readSparse reads the form that lists symbols one by one.
func (c *codeList) readSparse(r *bitReader) error {
	n := r.read(8)
	switch n {
	case 0:
		return errors.New("code table: expected 1 symbol or more, got 0")
	case 1:
		return c.add(r.read(8), maxCode)
	}
	width := r.read(3)
	if width > 4 {
		return fmt.Errorf("code table: expected lengths of 4 bits or fewer, got %d", width)
	}
	for range n {
		if err := c.add(r.read(8), r.read(width)+1); err != nil {
			return err
		}
	}
	return nil
}

// readDense reads the form with runs of symbols that have codes, runs of symbols
// that have none, and each length as the difference to an average of those before.
func (c *codeList) readDense(r *bitReader) error {
	low := r.read(2)
	average := 32 // times 4
	symbol := 0
	gap := r.read(1) == 0
	for symbol < 256 {
		if gap {
			n, err := readGamma(r)
			if err != nil {
				return err
			}
			if symbol += n; symbol > 256 {
				return fmt.Errorf("code table: expected at most 256 symbols, got %d", symbol)
			} else if symbol == 256 {
				break
			}
		}
		gap = true
		n, err := readGamma(r)
		if err != nil {
			return err
		}
		if symbol+n > 256 {
			return fmt.Errorf("code table: expected at most 256 symbols, got %d", symbol+n)
		}
		for range n {
			z, ok := r.unary(20 >> low)
			if !ok {
				return fmt.Errorf("code length: expected at most %d zero bits, got more", 20>>low)
			}
			length := zigzag(z<<low|r.read(low)) + (average+2)>>2
			if err := c.add(symbol, length); err != nil {
				return err
			}
			average = length + (3*average+2)>>2
			symbol++
		}
	}
	if c.n < 2 {
		return fmt.Errorf("code table: expected 2 symbols or more, got %d", c.n)
	}
	return nil
}

// readGamma reads a number from 1 on in Elias' gamma code, or nearly so.
func readGamma(r *bitReader) (int, error) {
	z, ok := r.unary(7)
	if !ok {
		return 0, errors.New("code table: expected at most 7 zero bits, got more")
	}
	return (2<<z | r.read(z+1)) - 1, nil
}

// readRanges reads the form with ranges of symbols, which newer encoders write.
func (c *codeList) readRanges(r *bitReader) error {
	low := r.read(2)
	n := r.read(8) + 1
	if err := c.set.readUnary(r, n); err != nil {
		return err
	}
	sum := 30 // of the differences to the average, which it makes
	for i, u := range c.set.unary[:n] {
		v := zigzag(int(u)<<low | r.read(low))
		if err := c.add(i, v+sum>>2+1); err != nil {
			return err
		}
		sum += v
	}
	if err := c.set.readSymbols(r); err != nil {
		return err
	}
	c.symbol = c.set.symbols
	return nil
}
