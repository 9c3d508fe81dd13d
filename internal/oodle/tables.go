package oodle

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// mermaidTables reads the seed to the output and the tables to m. It returns how
// many commands are of the first half, and the far distances of each.
func (d *Decoder) mermaidTables(m *mermaid, pos int, src []byte) (split int, far [2][]byte, err error) {
	if len(src) < 10 {
		return 0, far, fmt.Errorf("expected 10 bytes or more, got %d", len(src))
	}
	n := len(m.buf) - pos
	m.at, src, err = seed(m.buf, pos, src)
	if err != nil {
		return 0, far, err
	}
	m.literals, src, err = d.arrayTo(m.literal[:n], src)
	if err != nil {
		return 0, far, fmt.Errorf("literals: %w", err)
	}
	m.commands, src, err = d.arrayTo(m.command[:n], src)
	if err != nil {
		return 0, far, fmt.Errorf("commands: %w", err)
	}
	split = m.commands
	if n > halfSize {
		if len(src) < 2 {
			return 0, far, errTables
		}
		split, src = int(binary.LittleEndian.Uint16(src)), src[2:]
		if split > m.commands {
			return 0, far, fmt.Errorf("commands of the first half: expected at most %d, got %d", m.commands, split)
		}
	}
	src, err = d.nearDistances(m, src, n/2)
	if err != nil {
		return 0, far, fmt.Errorf("near distances: %w", err)
	}
	far, m.length, err = farDistances(src, pos)
	if err != nil {
		return 0, far, fmt.Errorf("far distances: %w", err)
	}
	return split, far, nil
}

var errTables = errors.New("expected more tables, got the end of the chunk")

// nearDistances reads at most most distances of 2 bytes.
func (d *Decoder) nearDistances(m *mermaid, src []byte, most int) (rest []byte, err error) {
	if len(src) < 2 {
		return nil, errTables
	}
	n := int(binary.LittleEndian.Uint16(src))
	src = src[2:]
	if n != 0xFFFF {
		if len(src) < 2*n {
			return nil, errTables
		}
		m.nears = copy(m.near[:], src[:2*n])
		return src[2*n:], nil
	}
	high, src, err := d.array(src, most, 0)
	if err != nil {
		return nil, err
	}
	low, src, err := d.array(src, most, 0)
	if err != nil {
		return nil, err
	}
	if len(low) != len(high) {
		return nil, fmt.Errorf("expected %d low bytes, as many as high ones, got %d", len(high), len(low))
	}
	m.nears = 2 * len(high)
	interleave(m.near[:m.nears], low, high)
	return src, nil
}

// interleave writes the bytes of a and b, which are of one length, to dst in turn.
func interleave(dst, a, b []byte) {
	for len(a) >= 4 && len(b) >= 4 && len(dst) >= 8 {
		binary.LittleEndian.PutUint64(dst, spread(binary.LittleEndian.Uint32(a))|spread(binary.LittleEndian.Uint32(b))<<8)
		dst, a, b = dst[8:], a[4:], b[4:]
	}
	for i := range a {
		dst[2*i], dst[2*i+1] = a[i], b[i]
	}
}

// spread puts a zero byte above every byte of v.
func spread(v uint32) uint64 {
	x := uint64(v)
	x = (x | x<<16) & 0x0000FFFF0000FFFF
	return (x | x<<8) & 0x00FF00FF00FF00FF
}

// farDistances reads the distances of both halves of the chunk at pos. They count
// from where the half begins, and may not go beyond the start of the block.
func farDistances(src []byte, pos int) (far [2][]byte, rest []byte, err error) {
	const escape = 0xFFF // of a count that follows
	if len(src) < 3 {
		return far, nil, errTables
	}
	v := int(src[0]) | int(src[1])<<8 | int(src[2])<<16
	src = src[3:]
	count := [2]int{v >> 12, v & 0xFFF}
	for i, n := range count {
		if n == escape {
			if len(src) < 2 {
				return far, nil, errTables
			}
			count[i], src = int(binary.LittleEndian.Uint16(src)), src[2:]
		}
	}
	for i, n := range count {
		if len(src) < 3*n {
			return far, nil, errTables
		}
		far[i], src = src[:3*n], src[3*n:]
		for f := far[i]; len(f) != 0; f = f[3:] {
			if v, most := farDistance(f), pos+i*halfSize; v > most {
				return far, nil, fmt.Errorf("expected at most %d, got %d", most, v)
			}
		}
	}
	return far, src, nil
}

// farDistance is the first distance of a list that is not empty.
func farDistance(far []byte) int {
	return int(far[0]) | int(far[1])<<8 | int(far[2])<<16
}
