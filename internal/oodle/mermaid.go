package oodle

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// halfSize is the raw size of what a run of commands writes: the whole of a chunk
// or one of its two halves.
const halfSize = chunkSize / 2

// firstDistance is the last distance when a chunk begins.
const firstDistance = 8

// lengthEscape is the largest length that fits a byte.
const lengthEscape = 251

// mermaid is the state of a chunk and its tables. The tables are arrays of the size
// that the largest chunk has, so that the index of a loop can be shown to be inside
// without a look at the table's size; what is behind a chunk's own table is of an
// earlier chunk.
type mermaid struct {
	output
	base int // where this half of the chunk begins
	dist int // the last distance

	literals, nears, commands int // sizes of the tables below, in bytes
	literalAt, nearAt         int // how much of them has been used

	far    []byte // distances of 3 bytes, of this half
	length []byte // 1 or 3 bytes each

	literal [chunkSize + 8]byte
	command [chunkSize]byte
	near    [chunkSize + 2]byte // distances of 2 bytes
}

// mermaidChunk decodes a chunk of the types Mermaid and Selkie to block[pos:end].
func (d *Decoder) mermaidChunk(block *[MaxBlock]byte, pos, end int, src []byte, delta bool) error {
	if d.mermaid == nil {
		d.mermaid = new(mermaid)
	}
	m := d.mermaid
	m.output = output{buf: block[:end], at: pos, delta: delta}
	m.dist = firstDistance
	m.literalAt, m.nearAt = 0, 0
	split, far, err := d.mermaidTables(m, pos, src)
	if err != nil {
		return err
	}
	for half := range far {
		m.base = pos + half*halfSize
		m.buf = block[:min(m.base+halfSize, end)]
		m.far = far[half]
		if half == 0 {
			err = m.run(block, 0, split)
		} else {
			err = m.run(block, split, m.commands)
		}
		if err != nil {
			return err
		}
		if len(m.buf) == end {
			break
		}
	}
	if len(m.length) != 0 {
		return fmt.Errorf("lengths: expected none left, got %d bytes", len(m.length))
	}
	return nil
}

// run carries out the commands first to end of a half, and fills it with literals.
func (m *mermaid) run(block *[MaxBlock]byte, first, end int) error {
	for i := first; ; i++ {
		ok := false
		if m.delta {
			i, ok = m.runDelta(block, i, end)
		} else {
			i, ok = m.runPlain(block, i, end)
		}
		if m.literalAt > m.literals {
			return fmt.Errorf("before command %d: %w", i, errLiterals)
		}
		if m.nearAt > m.nears {
			return fmt.Errorf("before command %d: %w", i, errNears)
		}
		if !ok {
			return fmt.Errorf("command %d: match at %d: expected a distance from %d to %d, got %d", i, m.at, minDistance, m.at, m.dist)
		}
		if i == end {
			return m.copyLiterals(len(m.buf) - m.at)
		}
		if err := m.one(int(m.command[i])); err != nil {
			return fmt.Errorf("command %d: %w", i, err)
		}
	}
}

// The commands. Those from commandRepeat on have a number of literals and the
// length of a match at the last distance, those from commandNear on of one at a new
// distance.
const (
	commandLiterals = 0
	commandLongNear = 1
	commandLongFar  = 2
	commandFar      = 3
	commandNear     = 24
	commandRepeat   = 128
)

// What the commands' lengths count from.
const (
	minLongLiterals = 64
	minLongNear     = 91
	minLongFar      = 29
	minFar          = 8
)

// one carries out command c.
func (m *mermaid) one(c int) error {
	switch {
	case c >= commandNear:
		if err := m.copyLiterals(c & 7); err != nil {
			return err
		}
		if c < commandRepeat {
			if err := m.takeNear(); err != nil {
				return err
			}
		}
		return m.match(m.dist, c>>3&15)
	case c >= commandFar:
		if err := m.takeFar(); err != nil {
			return err
		}
		return m.match(m.dist, c-commandFar+minFar)
	}
	var err error
	least := minLongLiterals
	switch c {
	case commandLongNear:
		least, err = minLongNear, m.takeNear()
	case commandLongFar:
		least, err = minLongFar, m.takeFar()
	}
	if err != nil {
		return err
	}
	n, err := m.takeLength()
	if err != nil {
		return err
	}
	if c == commandLiterals {
		return m.copyLiterals(least + n)
	}
	return m.match(m.dist, least+n)
}

// copyLiterals writes the next n literals.
func (m *mermaid) copyLiterals(n int) error {
	if n > m.literals-m.literalAt {
		return errLiterals
	}
	m.literalAt += n
	return m.write(m.literal[m.literalAt-n:m.literalAt], m.dist)
}

var errNears = errors.New("near distances: expected more, got the end")

// takeNear makes the next near distance the last one.
func (m *mermaid) takeNear() error {
	if m.nearAt >= m.nears {
		return errNears
	}
	m.dist = int(binary.LittleEndian.Uint16(m.near[m.nearAt:]))
	m.nearAt += 2
	return nil
}

// takeFar makes the next far distance, which counts from where the half begins, the
// last one.
func (m *mermaid) takeFar() error {
	if len(m.far) == 0 {
		return errors.New("far distances: expected more, got the end")
	}
	m.dist, m.far = m.at-m.base+farDistance(m.far), m.far[3:]
	return nil
}

// takeLength takes the next length.
func (m *mermaid) takeLength() (int, error) {
	if len(m.length) == 0 || m.length[0] > lengthEscape && len(m.length) < 3 {
		return 0, errors.New("lengths: expected more, got the end")
	}
	n := int(m.length[0])
	if n <= lengthEscape {
		m.length = m.length[1:]
		return n, nil
	}
	n += 4 * int(binary.LittleEndian.Uint16(m.length[1:]))
	m.length = m.length[3:]
	return n, nil
}
