package oodle_test

import (
	"encoding/binary"
	"slices"
)

// simpleLZ is a Mermaid chunk in the making. Its methods are the commands; each
// appends to out what the command stands for, so that out is what a decoder must
// give.
type simpleLZ struct {
	pos          int    // where the chunk begins in out
	out          []byte // the block up to here
	seed         []byte
	plain, delta []byte // the literals in both modes
	cmd          []byte
	split        int
	half         int // the sub-chunk
	near         []int
	far          [2][]int
	lens         []byte
	recent       int
}

// simpleHalf is the raw size of a sub-chunk, the last of a chunk aside.
const simpleHalf = 64 << 10

// start begins a chunk behind the block's bytes so far. The seed is there for the
// first chunk alone.
func (l *simpleLZ) start(seed []byte) {
	*l = simpleLZ{pos: len(l.out), out: append(l.out, seed...), seed: seed, recent: 8}
}

// next begins the second sub-chunk.
func (l *simpleLZ) next() {
	l.half, l.split = 1, len(l.cmd)
}

// left is the room in the sub-chunk.
func (l *simpleLZ) left() int {
	return l.base() + simpleHalf - len(l.out)
}

func (l *simpleLZ) base() int {
	return l.pos + l.half*simpleHalf
}

// tail appends literals that no command stands for.
func (l *simpleLZ) tail(b []byte) {
	for _, c := range b {
		l.plain = append(l.plain, c)
		l.delta = append(l.delta, c-l.out[len(l.out)-l.recent])
		l.out = append(l.out, c)
	}
}

func (l *simpleLZ) match(dist, n int) {
	l.recent = dist
	for range n {
		l.out = append(l.out, l.out[len(l.out)-dist])
	}
}

func (l *simpleLZ) length(v int) {
	if v <= 251 {
		l.lens = append(l.lens, byte(v))
		return
	}
	b := 252 + v&3
	l.lens = append(l.lens, byte(b))
	l.lens = append(l.lens, simpleLE16((v-b)>>2)...)
}

// fresh is the command of up to 7 literals and a match of 3 to 15 bytes at a new
// distance.
func (l *simpleLZ) fresh(lits []byte, dist, n int) {
	l.cmd = append(l.cmd, byte(n<<3|len(lits)))
	l.tail(lits)
	l.near = append(l.near, dist)
	l.match(dist, n)
}

// again is the command of up to 7 literals and a match of up to 15 bytes at the
// last distance.
func (l *simpleLZ) again(lits []byte, n int) {
	l.cmd = append(l.cmd, byte(0x80|n<<3|len(lits)))
	l.tail(lits)
	l.match(l.recent, n)
}

// longLits is the command of 64 literals and more.
func (l *simpleLZ) longLits(lits []byte) {
	l.cmd = append(l.cmd, 0)
	l.length(len(lits) - 64)
	l.tail(lits)
}

// nearLong is the command of a match of 91 bytes and more.
func (l *simpleLZ) nearLong(dist, n int) {
	l.cmd = append(l.cmd, 1)
	l.length(n - 91)
	l.near = append(l.near, dist)
	l.match(dist, n)
}

// farMatch is the command of a match that is 8 to 28 bytes long, or longer than
// that, with a distance of its own list. Its source is not behind the sub-chunk's
// start.
func (l *simpleLZ) farMatch(dist, n int) {
	if n <= 28 {
		l.cmd = append(l.cmd, byte(n-5))
	} else {
		l.cmd = append(l.cmd, 2)
		l.length(n - 29)
	}
	l.far[l.half] = append(l.far[l.half], dist-(len(l.out)-l.base()))
	l.match(dist, n)
}

// simpleForm is how the arrays of a chunk are written; nil stands for type 0.
type simpleForm struct {
	delta    bool
	lit, cmd func([]byte) []byte
	near     func([]byte) []byte // nil: the distances are no array at all
}

func simpleCoded(f func([]byte) []byte, b []byte) []byte {
	if f == nil {
		return simpleRaw(false, b)
	}
	return f(b)
}

// body is the chunk of n raw bytes.
func (l *simpleLZ) body(n int, form simpleForm) []byte {
	lit := l.plain
	if form.delta {
		lit = l.delta
	}
	b := slices.Concat(l.seed, simpleCoded(form.lit, lit), simpleCoded(form.cmd, l.cmd))
	if n > simpleHalf {
		b = append(b, simpleLE16(l.split)...)
	}
	var high, low, pairs []byte
	for _, d := range l.near {
		high, low = append(high, byte(d>>8)), append(low, byte(d))
		pairs = append(pairs, byte(d), byte(d>>8))
	}
	if form.near == nil {
		b = slices.Concat(b, simpleLE16(len(l.near)), pairs)
	} else {
		b = slices.Concat(b, []byte{0xFF, 0xFF}, form.near(high), form.near(low))
	}
	counts := [2]int{len(l.far[0]), len(l.far[1])}
	b = append(b, simpleLE24(min(counts[0], 4095)<<12|min(counts[1], 4095))...)
	for _, c := range counts {
		if c >= 4095 {
			b = binary.LittleEndian.AppendUint16(b, uint16(c))
		}
	}
	for _, far := range l.far {
		for _, d := range far {
			b = append(b, simpleLE24(d)...)
		}
	}
	return append(b, l.lens...)
}
