package oodle

import (
	"encoding/binary"
	"errors"
	"fmt"
)

var (
	errRuns     = errors.New("runs: expected more commands and literals, got the end")
	errRunSpace = errors.New("runs: expected less output, got more than fits")
)

// runs decodes an array of literals and runs of one byte. Both its ends are read:
// literals at the front, commands at the back.
func (d *Decoder) runs(dst, payload []byte, depth int) error {
	switch {
	case len(payload) == 0:
		return errors.New("runs: expected 1 byte or more, got 0")
	case len(payload) == 1:
		fill(dst, payload[0])
		return nil
	case payload[0] == 0:
		return writeRuns(dst, payload[1:])
	}
	defer func(used int) { d.scratch.used = used }(d.scratch.used)
	buf, err := d.runBuffer(payload, len(dst), depth)
	if err != nil {
		return err
	}
	return writeRuns(dst, buf)
}

// runBuffer returns the literals and commands of payload, which begins with an
// array of their first part.
func (d *Decoder) runBuffer(payload []byte, size, depth int) ([]byte, error) {
	// A command may write nothing, so the output does not bound their number.
	most := 2*size + 64
	h, nested, rest, err := parseArrayMax(payload, most)
	if err != nil {
		return nil, err
	}
	if h.raw+len(rest) > most {
		return nil, fmt.Errorf("runs: expected at most %d bytes of them, got %d", most, h.raw+len(rest))
	}
	buf, err := d.take(h.raw + len(rest))
	if err != nil {
		return nil, err
	}
	copy(buf[h.raw:], rest)
	return buf, d.decodeArray(buf[:h.raw], h, nested, depth+1)
}

// writeRuns carries out the commands at the back of buf.
func writeRuns(dst, buf []byte) error {
	var value byte // what runs are made of
	for len(buf) != 0 {
		c := buf[len(buf)-1]
		var literals, run int
		if c == 0 || c >= 0x30 {
			buf = buf[:len(buf)-1]
			literals, run = int(^c&15), int(c>>4)
		} else if c == 1 {
			buf = buf[:len(buf)-1]
			if len(buf) == 0 {
				return errRuns
			}
			value, buf = buf[0], buf[1:]
			continue
		} else {
			if len(buf) < 2 {
				return errRuns
			}
			v := int(binary.LittleEndian.Uint16(buf[len(buf)-2:]))
			buf = buf[:len(buf)-2]
			switch {
			case c >= 0x10:
				v -= 0x1000
				literals, run = v&63, v>>6
			case c >= 9:
				run = (v - 0x8FF) * 128
			default:
				literals = (v - 0x1FF) * 64
			}
		}
		if literals > len(buf) {
			return errRuns
		}
		if literals+run > len(dst) {
			return errRunSpace
		}
		copy(dst, buf[:literals])
		fill(dst[literals:literals+run], value)
		dst, buf = dst[literals+run:], buf[literals:]
	}
	if len(dst) != 0 {
		return fmt.Errorf("runs: expected %d bytes more of output, got none", len(dst))
	}
	return nil
}
