package oodle

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

// maxStateBits is the binary logarithm of the most states that a tANS table has.
const maxStateBits = 11

// tansStates is how many states take turns in decoding.
const tansStates = 5

// tans decodes arrays in a tabled asymmetric numeral system.
type tans struct {
	set    symbolSet
	weight [256]uint16
	bits   int // the binary logarithm of the number of states
	table  tansTable
}

// tansTable has for every state the symbol in the low byte, the number of bits to
// read in the next one, and in the upper half what to add to them for the state
// after.
type tansTable [1 << maxStateBits]uint32

// decode decodes an array.
func (t *tans) decode(dst, payload []byte) error {
	if len(payload) < 8 || len(dst) < tansStates {
		return fmt.Errorf("expected 8 stored and %d decoded bytes or more, got %d and %d",
			tansStates, len(payload), len(dst))
	}
	r := bitReader{src: payload}
	if r.read(1) != 0 {
		return errors.New("expected a first bit of 0, got 1")
	}
	t.bits = r.read(2) + 8
	t.weight = [256]uint16{}
	var err error
	if r.read(1) != 0 {
		err = t.readDense(&r)
	} else {
		err = t.readSparse(&r)
	}
	if err != nil {
		return err
	}
	if r.used() > len(payload) {
		return fmt.Errorf("weights: expected at most %d bytes, got %d", len(payload), r.used())
	}
	t.build()
	return t.decodeStates(dst, payload[r.used():])
}

// readDense reads the weights of symbols in ranges, each as the difference to an
// average of those before.
func (t *tans) readDense(r *bitReader) error {
	low := r.read(3)
	n := r.read(8) + 1
	if n < 2 {
		return errors.New("weights: expected 2 or more, got 1")
	}
	if err := t.set.readUnary(r, n); err != nil {
		return err
	}
	if err := t.set.readSymbols(r); err != nil {
		return err
	}
	average, total := 6, 0 // average is times 4
	for i, s := range t.set.symbols[:n] {
		e := low + int(t.set.unary[i])
		if e > 15 {
			return fmt.Errorf("weight: expected at most 15 bits, got %d", e)
		}
		v := r.read(e) + 1<<e - 1<<low
		a := average >> 2
		limit := 2 * a
		if v <= limit {
			v = a + zigzag(v)
		}
		average += min(limit, v) - a
		total += v + 1
		if total > 1<<t.bits {
			break
		}
		t.weight[s] = uint16(v + 1)
	}
	return t.checkTotal(total)
}

// readSparse reads the weights of symbols that are listed one by one in the order
// of their weights. The last weight is what is left for it.
func (t *tans) readSparse(r *bitReader) error {
	n := r.read(3) + 1
	width := r.read(4)
	if width == 0 || width > t.bits {
		return fmt.Errorf("weights: expected 1 to %d bits, got %d", t.bits, width)
	}
	weight, total := 0, 0
	for range n {
		s := r.read(8)
		weight += r.read(width)
		if weight == 0 || t.weight[s] != 0 {
			return fmt.Errorf("weights: expected a first one of symbol %d, above 0, got %d", s, weight)
		}
		if total += weight; total >= 1<<t.bits {
			return fmt.Errorf("weights: expected a sum below %d before the last one, got %d", 1<<t.bits, total)
		}
		t.weight[s] = uint16(weight)
	}
	s := r.read(8)
	last := 1<<t.bits - total
	if last < max(weight, 2) || t.weight[s] != 0 {
		return fmt.Errorf("weights: expected a last one of another symbol, %d or more, got %d of %d",
			max(weight, 2), last, s)
	}
	t.weight[s] = uint16(last)
	return nil
}

func (t *tans) checkTotal(total int) error {
	if total != 1<<t.bits {
		return fmt.Errorf("weights: expected a sum of %d, got %d", 1<<t.bits, total)
	}
	return nil
}

// build makes the table of states from the weights, whose sum is the number of
// states.
func (t *tans) build() {
	states := 1 << t.bits
	shared := states
	for _, w := range t.weight {
		if w == 1 {
			shared--
		}
	}
	// A symbol of weight 1 has a state of its own behind the others. The states
	// of the others are dealt out to four parts.
	var cursor [4]int
	for j := 1; j < len(cursor); j++ {
		cursor[j] = cursor[j-1] + shared>>2
		if shared&3 > j-1 {
			cursor[j]++
		}
	}
	single, dealt := shared, 0
	for s, w := range t.weight {
		switch w {
		case 0:
			continue
		case 1:
			t.table[single%len(t.table)] = uint32(s) | uint32(t.bits)<<8
			single++
			continue
		}
		x := uint32(w)
		for j := range cursor {
			n := (int(w) + (dealt-j-1)&3) >> 2
			for i := range n {
				width := t.bits + 1 - bits.Len32(x)
				base := x << width & uint32(states-1)
				t.table[(cursor[j]+i)%len(t.table)] = uint32(s) | uint32(width)<<8 | base<<16
				x++
			}
			cursor[j] += n
		}
		dealt += int(w)
	}
}

// decodeStates decodes the streams src, one read forward and one backward.
func (t *tans) decodeStates(dst, src []byte) error {
	var f, b int // the bits used of each
	var state [tansStates]uint32
	for i := range state {
		var window uint64
		if i&1 == 0 {
			window = forwardLSB(src, f)
			f += t.bits
		} else {
			window = backwardLSB(src, b)
			b += t.bits
		}
		state[i] = uint32(window) & (1<<t.bits - 1)
	}
	body, tail := dst[:len(dst)-tansStates], dst[len(dst)-tansStates:]
	i := 0
	for last := len(src) - 8; len(body)-i >= 2*tansStates && f>>3 <= last && b>>3 <= last; i += 2 * tansStates {
		out := body[i : i+2*tansStates]
		f += t.step(out[:tansStates], binary.LittleEndian.Uint64(src[f>>3:])>>(f&7), &state)
		end := len(src) - b>>3
		b += t.step(out[tansStates:], binary.BigEndian.Uint64(src[end-8:end])>>(b&7), &state)
	}
	for backward := false; i < len(body); backward = !backward {
		out := body[i:min(i+tansStates, len(body))]
		if backward {
			b += t.step(out, backwardLSB(src, b), &state)
		} else {
			f += t.step(out, forwardLSB(src, f), &state)
		}
		i += len(out)
	}
	for i, s := range state {
		if s > 0xFF {
			return fmt.Errorf("last states: expected at most 255, got %d", s)
		}
		tail[i] = byte(s)
	}
	if n := byteLen(f) + byteLen(b); n != len(src) {
		return fmt.Errorf("bit streams: expected %d bytes, got %d", len(src), n)
	}
	return nil
}

// step decodes up to one symbol of each state with the bits of the window, and
// returns how many bits it took.
func (t *tans) step(out []byte, window uint64, state *[tansStates]uint32) int {
	used := 0
	for i := range min(len(out), len(state)) {
		e := t.table[state[i]%uint32(len(t.table))]
		out[i] = byte(e)
		n := e >> 8 & 0xFF
		state[i] = e>>16 + uint32(window)&(1<<n-1)
		window >>= n & 63
		used += int(n)
	}
	return used
}
