package oodle

import (
	"encoding/binary"
	"fmt"
)

// checker decodes blocks as this package's encoder may write them: raw, Huffman
// and one-byte arrays, plain literals and differences. It goes by the format's
// description alone, bit by bit, and is stricter than a decoder needs to be: it
// refuses whatever an encoder should not do although the format has it.
type checker struct {
	in  []byte
	out []byte

	// What the block was made of.
	deltas, huffman, fills, sparse, stored, splitNear, far int
}

// fault is what a checker panics with.
type fault string

func failIf(bad bool, format string, args ...any) {
	if bad {
		panic(fault(fmt.Sprintf(format, args...)))
	}
}

// check decodes one block of n raw bytes.
func (c *checker) check(block []byte, n int) (out []byte, err error) {
	defer func() {
		if f, ok := recover().(fault); ok {
			err = fmt.Errorf("%s", string(f))
		}
	}()
	c.in, c.out = block, make([]byte, 0, n)
	if n == 0 {
		failIf(len(block) != 0, "%d bytes for an empty block", len(block))
		return nil, nil
	}
	first := c.take(2)
	failIf(first[1] != 10, "type %d", first[1])
	if first[0] == 0xCC {
		failIf(len(c.in) != n, "%d stored bytes of %d", len(c.in), n)
		return c.in, nil
	}
	failIf(first[0] != 0x8C, "block header %#x", first[0])
	v := c.uint24be()
	if v == 0x07FFFF {
		b := c.take(1)
		failIf(len(c.in) != 0, "bytes behind the quantum")
		for range n {
			c.out = append(c.out, b[0])
		}
		return c.out, nil
	}
	failIf(v>>18 != 0, "quantum flags")
	failIf(v+1 != len(c.in), "quantum of %d bytes, there are %d", v+1, len(c.in))
	failIf(v+1 >= n, "quantum of %d bytes for %d", v+1, n)
	for len(c.out) < n {
		c.chunk(min(1<<17, n-len(c.out)))
	}
	failIf(len(c.in) != 0, "%d bytes behind the last chunk", len(c.in))
	return c.out, nil
}

func (c *checker) take(n int) []byte {
	failIf(n > len(c.in), "%d bytes wanted, %d left", n, len(c.in))
	b := c.in[:n]
	c.in = c.in[n:]
	return b
}

func (c *checker) byte() int     { return int(c.take(1)[0]) }
func (c *checker) uint16le() int { return int(binary.LittleEndian.Uint16(c.take(2))) }

func (c *checker) uint24be() int {
	b := c.take(3)
	return int(b[0])<<16 | int(b[1])<<8 | int(b[2])
}

func (c *checker) uint24le() int {
	b := c.take(3)
	return int(b[2])<<16 | int(b[1])<<8 | int(b[0])
}

func (c *checker) chunk(n int) {
	if c.in[0]&0x80 == 0 {
		failIf(c.in[0]>>4 == 0, "a raw array for a chunk")
		b := c.array(n)
		failIf(len(b) != n, "a chunk of %d bytes, not %d", len(b), n)
		c.out = append(c.out, b...)
		return
	}
	h := c.uint24be()
	size, mode := h&0x7FFFF, h>>19&15
	failIf(size > n, "a chunk of %d bytes for %d", size, n)
	body := c.take(size)
	if size == n {
		failIf(mode != 0, "mode %d of a stored chunk", mode)
		c.stored++
		c.out = append(c.out, body...)
		return
	}
	failIf(mode > 1, "mode %d", mode)
	rest := c.in
	c.in = body
	c.lz(n, mode == 0)
	failIf(len(c.in) != 0, "%d bytes left of the chunk", len(c.in))
	c.in = rest
}

// lz decodes a chunk of n raw bytes, all that is left of c.in.
func (c *checker) lz(n int, delta bool) {
	pos := len(c.out)
	failIf(len(c.in) < 10, "a short chunk")
	if pos == 0 {
		c.out = append(c.out, c.take(8)...)
	}
	x := execution{checker: c, pos: pos, end: pos + n, recent: 8, delta: delta}
	if delta {
		c.deltas++
	}
	x.lits = c.array(n)
	cmds := c.array(n)
	split := len(cmds)
	if n > 1<<16 {
		split = c.uint16le()
		failIf(split > len(cmds), "split")
	}
	if k := c.uint16le(); k != 0xFFFF {
		for range k {
			x.near = append(x.near, c.uint16le())
		}
	} else {
		c.splitNear++
		high := c.array(n / 2)
		low := c.array(n / 2)
		failIf(len(high) != len(low), "%d high and %d low bytes", len(high), len(low))
		for i := range high {
			x.near = append(x.near, int(high[i])<<8|int(low[i]))
		}
	}
	w := c.uint24le()
	counts := [2]int{w >> 12, w & 0xFFF}
	for i := range counts {
		if counts[i] == 4095 {
			counts[i] = c.uint16le()
		}
	}
	var far [2][]int
	for i := range far {
		for range counts[i] {
			v := c.uint24le()
			failIf(v > pos+i<<16, "far offset %d", v)
			far[i] = append(far[i], v)
			c.far++
		}
	}
	x.run(0, cmds[:split], far[0])
	if n > 1<<16 {
		x.run(1, cmds[split:], far[1])
	}
	failIf(len(x.lits) != 0, "%d literals left", len(x.lits))
	failIf(len(x.near) != 0, "%d distances left", len(x.near))
	failIf(len(c.out) != pos+n, "chunk of %d bytes, not %d", len(c.out)-pos, n)
}

// execution is a chunk being executed. The length bytes are the checker's input.
type execution struct {
	*checker
	pos, end  int
	base, sub int // start and end of the sub-chunk
	recent    int
	delta     bool
	lits      []byte
	near, far []int
}

func (x *execution) run(half int, cmds []byte, far []int) {
	x.base = x.pos + half<<16
	x.sub = min(x.base+1<<16, x.end)
	x.far = far
	for _, cmd := range cmds {
		x.exec(int(cmd))
	}
	x.literals(x.sub - len(x.out))
	failIf(len(x.far) != 0, "%d far offsets left", len(x.far))
}

func (x *execution) exec(cmd int) {
	switch {
	case cmd >= 128:
		x.literals(cmd & 7)
		failIf(cmd == 0x80, "a command that does nothing")
		if n := cmd >> 3 & 15; n > 0 {
			x.match(n)
		}
	case cmd >= 24:
		x.literals(cmd & 7)
		x.nearDistance()
		x.match(cmd >> 3 & 15)
	case cmd >= 3:
		x.farDistance()
		x.match(cmd + 5)
	case cmd == 2:
		n := 29 + x.length()
		x.farDistance()
		x.match(n)
	case cmd == 1:
		x.nearDistance()
		x.match(91 + x.length())
	default:
		x.literals(64 + x.length())
	}
}

func (x *execution) length() int {
	b := x.byte()
	if b > 251 {
		b += 4 * x.uint16le()
	}
	return b
}

func (x *execution) nearDistance() {
	failIf(len(x.near) == 0, "no distance left")
	x.recent, x.near = x.near[0], x.near[1:]
}

func (x *execution) farDistance() {
	failIf(len(x.far) == 0, "no far offset left")
	x.recent, x.far = len(x.out)-x.base+x.far[0], x.far[1:]
	failIf(x.recent < 1<<16, "far distance of %d", x.recent)
}

func (x *execution) literals(n int) {
	failIf(n < 0 || n > x.sub-len(x.out), "%d literals, %d bytes left", n, x.sub-len(x.out))
	failIf(n > len(x.lits), "%d literals wanted, %d left", n, len(x.lits))
	for _, b := range x.lits[:n] {
		if x.delta {
			b += x.out[len(x.out)-x.recent]
		}
		x.out = append(x.out, b)
	}
	x.lits = x.lits[n:]
}

func (x *execution) match(n int) {
	failIf(x.recent < 8, "distance %d", x.recent)
	failIf(x.recent > len(x.out), "distance %d at %d", x.recent, len(x.out))
	failIf(n > x.sub-len(x.out), "a match across the end of its sub-chunk")
	failIf(n > x.end-16-len(x.out), "a match that ends %d bytes before the chunk does", x.end-n-len(x.out))
	for range n {
		x.out = append(x.out, x.out[len(x.out)-x.recent])
	}
}
