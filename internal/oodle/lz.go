package oodle

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// output is where literals and matches go.
type output struct {
	buf   []byte // the block up to where the commands may write
	at    int    // the position of the next byte
	delta bool   // literals are differences to the byte one distance before
}

// minDistance is the smallest distance of a match. It lets eight bytes be copied at
// once.
const minDistance = 8

var errLiterals = errors.New("literals: expected more, got the end of the array")

// write writes the literals p, as differences to those dist before where that is
// the mode. dist must be of an earlier match, or 8 where 8 bytes are written.
func (o *output) write(p []byte, dist int) error {
	if len(p) > len(o.buf)-o.at {
		return fmt.Errorf("literals at %d: expected at most %d, got %d", o.at, len(o.buf)-o.at, len(p))
	}
	to := o.buf[o.at : o.at+len(p)]
	o.at += len(p)
	if !o.delta {
		copy(to, p)
		return nil
	}
	from := o.buf[o.at-len(p)-dist:]
	for ; len(to) >= 8 && len(p) >= 8; to, p, from = to[8:], p[8:], from[8:] {
		binary.LittleEndian.PutUint64(to, addBytes(binary.LittleEndian.Uint64(p), binary.LittleEndian.Uint64(from)))
	}
	for i := range to {
		to[i] = p[i] + from[i]
	}
	return nil
}

// addBytes adds the bytes of a to those of b, each on its own.
func addBytes(a, b uint64) uint64 {
	const high = 0x8080808080808080
	return (a&^high + b&^high) ^ (a^b)&high
}

// match writes the n bytes that begin dist bytes before. They may overlap what is
// written.
func (o *output) match(dist, n int) error {
	if dist < minDistance || dist > o.at {
		return fmt.Errorf("match at %d: expected a distance from %d to %d, got %d", o.at, minDistance, o.at, dist)
	}
	if n > len(o.buf)-o.at {
		return fmt.Errorf("match at %d: expected a length of at most %d, got %d", o.at, len(o.buf)-o.at, n)
	}
	from := o.at - dist
	for end := o.at + n; o.at < end; {
		// What is written repeats the bytes before, so it is as good a source.
		o.at += copy(o.buf[o.at:end], o.buf[from:o.at])
	}
	return nil
}
