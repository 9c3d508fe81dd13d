package oodle

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// kraken is scratch memory for the numbers of a chunk.
type kraken struct {
	dist   []uint32 // distances, in the order of the commands that take them
	long   []uint32 // what is added to the lengths that do not fit a byte
	length []uint32
}

// krakenArrays is what a chunk has in arrays.
type krakenArrays struct {
	literal, command []byte
	code             []byte // the high parts of distances and the sizes of the low ones
	scale            int    // 0 where the codes are of the old kind
	low              []byte // added to the scaled distances; nil for scales 0 and 1
	length           []byte
	bits             []byte // the low parts, from both ends
}

// krakenChunk decodes a chunk of the type Kraken to dst[pos:].
func (d *Decoder) krakenChunk(dst []byte, pos int, src []byte, delta bool) error {
	if len(src) < 13 {
		return fmt.Errorf("expected 13 bytes or more, got %d", len(src))
	}
	n := len(dst) - pos
	at, src, err := seed(dst, pos, src)
	if err != nil {
		return err
	}
	a, err := d.krakenArrays(src, n)
	if err != nil {
		return err
	}
	if err := d.kraken.readNumbers(&a); err != nil {
		return err
	}
	return d.kraken.run(output{buf: dst, at: at, delta: delta}, a.literal, a.command)
}

// krakenArrays reads the arrays of a chunk of n bytes.
func (d *Decoder) krakenArrays(src []byte, n int) (a krakenArrays, err error) {
	if src[0]&0x80 != 0 {
		return a, errors.New("literals: expected a long array header, got the sign of a variant that is reserved")
	}
	a.literal, src, err = d.array(src, n, 0)
	if err != nil {
		return a, fmt.Errorf("literals: %w", err)
	}
	a.command, src, err = d.array(src, n, 0)
	if err != nil {
		return a, fmt.Errorf("commands: %w", err)
	}
	if len(src) != 0 && src[0] >= 0x80 {
		a.scale = int(src[0]) - 127
		src = src[1:]
	}
	a.code, src, err = d.array(src, len(a.command), 0)
	if err != nil {
		return a, fmt.Errorf("distances: %w", err)
	}
	if a.scale > 1 {
		a.low, src, err = d.array(src, len(a.code), 0)
		if err != nil {
			return a, fmt.Errorf("low parts of distances: %w", err)
		}
		if len(a.low) != len(a.code) {
			return a, fmt.Errorf("low parts of distances: expected %d, got %d", len(a.code), len(a.low))
		}
	}
	a.length, a.bits, err = d.array(src, n/4, 0)
	if err != nil {
		return a, fmt.Errorf("lengths: %w", err)
	}
	return a, nil
}

// maxLong is the most lengths that do not fit a byte.
const maxLong = 512

// readNumbers reads the distances and the lengths. Their bits are in two streams,
// one read forward and one backward, in turn.
func (k *kraken) readNumbers(a *krakenArrays) error {
	streams := [2]bitReader{{src: a.bits}, {src: a.bits, backward: true}}
	z, ok := streams[1].zeros(18)
	if !ok {
		return errors.New("number of long lengths: expected at most 18 zero bits, got more")
	}
	long := streams[1].read(z+1) - 1
	if long > maxLong {
		return fmt.Errorf("number of long lengths: expected at most %d, got %d", maxLong, long)
	}
	k.dist = slices.Grow(k.dist[:0], len(a.code))[:len(a.code)]
	for i, c := range a.code {
		dist, err := a.distance(&streams[i&1], i, int(c))
		if err != nil {
			return err
		}
		k.dist[i] = dist
	}
	k.long = slices.Grow(k.long[:0], long)[:long]
	for i := range k.long {
		r := &streams[i&1]
		z, ok := r.zeros(12)
		if !ok {
			return errors.New("long length: expected at most 12 zero bits, got more")
		}
		k.long[i] = uint32(r.read(z+7) - 64)
	}
	if n := streams[0].used() + streams[1].used(); n != len(a.bits) {
		return fmt.Errorf("distances and lengths: expected %d bytes, got %d", len(a.bits), n)
	}
	return k.joinLengths(a.length)
}

// distance reads distance i, which has the given code.
func (a *krakenArrays) distance(r *bitReader, i, code int) (uint32, error) {
	var dist uint64
	switch {
	case a.scale == 0 && code < 0xF0:
		n := code>>4 + 4
		dist = uint64(1<<n|r.read(n))<<4 + uint64(code&15) - 248
	case a.scale == 0:
		n := code - 0xF0 + 4
		dist = 0x7EFF00 + uint64(1<<n|r.read(n))<<12
		dist += uint64(r.read(12))
	default:
		n := code >> 3
		if n > 26 {
			return 0, fmt.Errorf("distance: expected at most 26 low bits, got %d", n)
		}
		dist = uint64(8+code&7)<<n | uint64(r.read(n)) - 8
		if a.scale > 1 {
			dist = dist*uint64(a.scale) + uint64(a.low[i])
		}
	}
	// No match can be that far away, so any large number will do.
	return uint32(min(dist, math.MaxInt32)), nil
}

// joinLengths makes lengths of their bytes and of the long ones.
func (k *kraken) joinLengths(bytes []byte) error {
	k.length = slices.Grow(k.length[:0], len(bytes))[:len(bytes)]
	long := k.long
	for i, b := range bytes {
		k.length[i] = uint32(b) + 3
		if b < 0xFF {
			continue
		}
		if len(long) == 0 {
			return fmt.Errorf("long lengths: expected more than %d, got no more", len(k.long))
		}
		k.length[i] += long[0]
		long = long[1:]
	}
	if len(long) != 0 {
		return fmt.Errorf("long lengths: expected %d, got %d more", len(k.long)-len(long), len(long))
	}
	return nil
}

var errNumbers = errors.New("expected more distances or lengths, got the end")

// run carries out the commands. The literals that are left are the end of the chunk.
func (k *kraken) run(o output, literal, command []byte) error {
	recent := [3]int{firstDistance, firstDistance, firstDistance}
	last := firstDistance
	dists, lengths := k.dist, k.length
	for i, c := range command {
		n := int(c & 3)
		if n == 3 {
			if len(lengths) == 0 {
				return fmt.Errorf("command %d: %w", i, errNumbers)
			}
			n, lengths = int(lengths[0]), lengths[1:]
		}
		if n > len(literal) {
			return fmt.Errorf("command %d: %w", i, errLiterals)
		}
		if err := o.write(literal[:n], last); err != nil {
			return fmt.Errorf("command %d: %w", i, err)
		}
		literal = literal[n:]

		switch c >> 6 {
		case 0:
		case 1:
			recent[0], recent[1] = recent[1], recent[0]
		case 2:
			recent[0], recent[1], recent[2] = recent[2], recent[0], recent[1]
		case 3:
			if len(dists) == 0 {
				return fmt.Errorf("command %d: %w", i, errNumbers)
			}
			recent[0], recent[1], recent[2] = int(dists[0]), recent[0], recent[1]
			dists = dists[1:]
		}
		last = recent[0]

		n = int(c>>2&15) + 2
		if n == 15+2 {
			if len(lengths) == 0 {
				return fmt.Errorf("command %d: %w", i, errNumbers)
			}
			n, lengths = 14+int(lengths[0]), lengths[1:]
		}
		if err := o.match(last, n); err != nil {
			return fmt.Errorf("command %d: %w", i, err)
		}
	}
	if len(dists) != 0 || len(lengths) != 0 {
		return fmt.Errorf("expected all distances and lengths in use, got %d and %d left", len(dists), len(lengths))
	}
	if n := len(o.buf) - o.at; n != len(literal) {
		return fmt.Errorf("literals: expected %d after the last command, got %d", n, len(literal))
	}
	return o.write(literal, last)
}
