package oodle

import "encoding/binary"

// The loops of this file carry out commands that have a number of literals and the
// length of a match in them, from first on and up to end. They return the first
// command that they did not do: it is of another kind, or near the end of the half.
// They are not ok where a distance is wrong.
//
// They read literals and near distances without a look at how many there are, and
// take what is there when they are used up: the caller compares the cursors. Each
// command copies 8 literals and 16 bytes of a match and goes on behind those that
// it is about. So neither the lengths nor the choice of the distance takes a
// branch.
//
// Nearly all the time for a Selkie block is spent here, which is why there are two
// loops. All indexes are into arrays and the compiler can see that they are inside,
// so there are no checks but those that are written out, and few values to keep in
// registers. A change is best judged by the benchmark.

// fastMargin is how much room in the output a command needs that is not looked at
// closely: 8 literals, of which 7 count, and 16 bytes of a match.
const fastMargin = 32

// positionMargin is fastMargin for positions that are minDistance smaller, which is
// how the loops count: a match begins at most there.
const positionMargin = fastMargin + minDistance

// runPlain is the loop for literals that are stored as they are.
func (m *mermaid) runPlain(block *[MaxBlock]byte, first, end int) (next int, ok bool) {
	limit := uint(len(m.buf)) - positionMargin
	if limit > MaxBlock-positionMargin || uint(end) > chunkSize {
		return first, true // The half is shorter than the margin.
	}
	i, ok := uint(first), true
	p := uint(m.at) - minDistance
	dist := uint(m.dist)
	literalAt, nearAt := uint(m.literalAt), uint(m.nearAt)
	for i < uint(end) && p <= limit {
		c := uint(m.command[i])
		if c < commandNear {
			break
		}
		v := binary.LittleEndian.Uint64(m.literal[literalAt%chunkSize:])
		binary.LittleEndian.PutUint64(block[p+minDistance:], v)
		n := c & 7
		literalAt += n
		p += n
		fresh := c/commandRepeat - 1 // all ones where the distance is a new one
		dist ^= (dist ^ uint(binary.LittleEndian.Uint16(m.near[nearAt%chunkSize:]))) & fresh
		nearAt += fresh & 2
		s := p + minDistance - dist
		if s > p { // The distance is below the smallest, or reaches beyond the block.
			ok = false
			break
		}
		from, to := (*[16]byte)(block[s:]), (*[16]byte)(block[p+minDistance:])
		binary.LittleEndian.PutUint64(to[:], binary.LittleEndian.Uint64(from[:]))
		binary.LittleEndian.PutUint64(to[8:], binary.LittleEndian.Uint64(from[8:]))
		p += c >> 3 & 15
		i++
	}
	m.at, m.dist = int(p)+minDistance, int(dist)
	m.literalAt, m.nearAt = int(literalAt), int(nearAt)
	return int(i), ok
}

// runDelta is the loop for literals that are differences to the bytes one
// distance before.
func (m *mermaid) runDelta(block *[MaxBlock]byte, first, end int) (next int, ok bool) {
	limit := uint(len(m.buf)) - positionMargin
	if limit > MaxBlock-positionMargin || uint(end) > chunkSize {
		return first, true // The half is shorter than the margin.
	}
	i, ok := uint(first), true
	p := uint(m.at) - minDistance
	dist := uint(m.dist)
	literalAt, nearAt := uint(m.literalAt), uint(m.nearAt)
	for i < uint(end) && p <= limit {
		c := uint(m.command[i])
		if c < commandNear {
			break
		}
		v := binary.LittleEndian.Uint64(m.literal[literalAt%chunkSize:])
		s := p + minDistance - dist
		if s > p { // It cannot be: the distance is that of an earlier match.
			ok = false
			break
		}
		v = addBytes(v, binary.LittleEndian.Uint64(block[s:]))
		binary.LittleEndian.PutUint64(block[p+minDistance:], v)
		n := c & 7
		literalAt += n
		p += n
		fresh := c/commandRepeat - 1 // all ones where the distance is a new one
		dist ^= (dist ^ uint(binary.LittleEndian.Uint16(m.near[nearAt%chunkSize:]))) & fresh
		nearAt += fresh & 2
		s = p + minDistance - dist
		if s > p { // The distance is below the smallest, or reaches beyond the block.
			ok = false
			break
		}
		from, to := (*[16]byte)(block[s:]), (*[16]byte)(block[p+minDistance:])
		binary.LittleEndian.PutUint64(to[:], binary.LittleEndian.Uint64(from[:]))
		binary.LittleEndian.PutUint64(to[8:], binary.LittleEndian.Uint64(from[8:]))
		p += c >> 3 & 15
		i++
	}
	m.at, m.dist = int(p)+minDistance, int(dist)
	m.literalAt, m.nearAt = int(literalAt), int(nearAt)
	return int(i), ok
}
