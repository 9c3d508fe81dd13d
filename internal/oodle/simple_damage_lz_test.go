package oodle_test

import (
	"fmt"
	"slices"
	"testing"
)

// simpleBroken is a chunk of some commands, as it is and after a change of it,
// which may be to its fields or to its body.
func simpleBroken(rule string, fields func(*simpleLZ), body func([]byte) []byte) simpleDamage {
	l := simpleLZSample()
	good := simpleBlock(simpleTypeMermaid, simpleLZChunk(simplePlain, l.body(len(l.out), simpleForm{})))
	size := len(l.out)
	if fields != nil {
		fields(&l)
	}
	b := l.body(size, simpleForm{})
	if body != nil {
		b = body(b)
	}
	return simpleDamage{rule, good, simpleBlock(simpleTypeMermaid, simpleLZChunk(simplePlain, b)), size}
}

// simpleLZSample is a chunk of two sub-chunks with every kind of command in both.
func simpleLZSample() simpleLZ {
	var l simpleLZ
	r := simpleRand(24)
	l.start([]byte("abcdefgh"))
	for half := range 2 {
		l.fresh([]byte("xy"), 8, 5)
		l.again([]byte("zzz"), 15)
		l.longLits(simpleText(r, 64, 64))
		l.longLits(simpleText(r, 64+300, 64))
		l.nearLong(20, 91)
		l.nearLong(30, 91+253)
		l.farMatch(max(len(l.out)-l.base(), 8), 8)
		l.farMatch(max(len(l.out)-l.base(), 8), 28)
		l.farMatch(max(len(l.out)-l.base(), 8), 500)
		if half == 0 {
			l.again([]byte("ab"), 9)
			l.nearLong(8, l.left()-10)
			l.tail([]byte("0123456789"))
			l.next()
		}
	}
	l.tail([]byte("the tail"))
	return l
}

func TestSimpleDamagedCommands(t *testing.T) {
	command := func(at int, c byte) func(*simpleLZ) {
		return func(l *simpleLZ) { l.cmd[at] = c }
	}
	insert := func(c ...byte) func(*simpleLZ) {
		return func(l *simpleLZ) { l.cmd, l.split = slices.Concat(c, l.cmd), l.split+len(c) }
	}
	last := func(c ...byte) func(*simpleLZ) {
		return func(l *simpleLZ) { l.cmd = append(l.cmd, c...) }
	}
	rows := []simpleDamage{
		simpleBroken("near distance missing", func(l *simpleLZ) { l.near = l.near[:len(l.near)-1] }, nil),
		simpleBroken("all near distances missing", func(l *simpleLZ) { l.near = nil }, nil),
		simpleBroken("one near match more", last(3<<3), nil),
		simpleBroken("far distance missing in half 0", func(l *simpleLZ) { l.far[0] = l.far[0][:2] }, nil),
		simpleBroken("far distance missing in half 1", func(l *simpleLZ) { l.far[1] = l.far[1][:2] }, nil),
		simpleBroken("no far distance in half 1", func(l *simpleLZ) { l.far[1] = nil }, nil),
		simpleBroken("one short far match more", last(3), nil),
		simpleBroken("literal missing", func(l *simpleLZ) { l.plain = l.plain[1:] }, nil),
		simpleBroken("literals missing in a command", func(l *simpleLZ) { l.plain = l.plain[:len(l.plain)-9] }, nil),
		simpleBroken("no literals", func(l *simpleLZ) { l.plain = nil }, nil),
		simpleBroken("length missing", func(l *simpleLZ) { l.lens = l.lens[:len(l.lens)-3] }, nil),
		simpleBroken("one byte of a length", func(l *simpleLZ) { l.lens = l.lens[:len(l.lens)-2] }, nil),
		simpleBroken("two bytes of a length", func(l *simpleLZ) { l.lens = l.lens[:len(l.lens)-1] }, nil),
		simpleBroken("no lengths", func(l *simpleLZ) { l.lens = nil }, nil),
		simpleBroken("length left", func(l *simpleLZ) { l.lens = append(l.lens, 0) }, nil),
		simpleBroken("distance 7", func(l *simpleLZ) { l.near[0] = 7 }, nil),
		simpleBroken("distance 1", func(l *simpleLZ) { l.near[0] = 1 }, nil),
		simpleBroken("distance 0", func(l *simpleLZ) { l.near[0] = 0 }, nil),
		simpleBroken("distance before the block", func(l *simpleLZ) { l.near[0] = 11 }, nil),
		simpleBroken("distance 65535", func(l *simpleLZ) { l.near[0] = 65535 }, nil),
		simpleBroken("distance 7 of a long match", func(l *simpleLZ) { l.near[1] = 7 }, nil),
		simpleBroken("long match before the block", func(l *simpleLZ) { l.near[1] = 2000 }, nil),
		simpleBroken("far distance before half 0", func(l *simpleLZ) { l.far[0][1]++ }, nil),
		simpleBroken("far distance before half 1", func(l *simpleLZ) { l.far[1][1] = simpleHalf + 1 }, nil),
		simpleBroken("greatest far distance", func(l *simpleLZ) { l.far[1][1] = 1<<24 - 1 }, nil),
		simpleBroken("split beyond the commands", func(l *simpleLZ) { l.split = len(l.cmd) + 1 }, nil),
		simpleBroken("split 65535", func(l *simpleLZ) { l.split = 65535 }, nil),
		simpleBroken("all commands in half 0", func(l *simpleLZ) { l.split = len(l.cmd) }, nil),
		simpleBroken("no commands in half 0", func(l *simpleLZ) { l.split = 0 }, nil),
		simpleBroken("literals where a match was", command(2, 0x87), nil),
		simpleBroken("another match in front", insert(0x80|15<<3), nil),
	}
	for n := range 10 {
		rows = append(rows, simpleBroken(fmt.Sprintf("body of %d bytes", n), nil, func(b []byte) []byte { return b[:n] }))
	}
	for mode := 2; mode < 16; mode++ {
		d := simpleBroken(fmt.Sprintf("mode %d", mode), nil, nil)
		d.bad = simplePatch(d.bad, 5, 0x80|byte(mode)<<3)
		rows = append(rows, d)
	}
	simpleRunDamage(t, rows)
}

// simpleEdge is a chunk of n bytes that a command ends at the right place, and one
// where it goes a byte too far.
func simpleEdge(rule string, n, half int, fill func(l *simpleLZ, more int)) simpleDamage {
	block := func(more int) []byte {
		var l simpleLZ
		l.start([]byte("abcdefgh"))
		if half == 1 {
			l.nearLong(8, simpleHalf-8)
			l.next()
		}
		fill(&l, more)
		if half == 0 {
			l.split = len(l.cmd)
			if n > simpleHalf {
				l.next()
				l.tail([]byte("the rest"))
			}
		}
		return simpleBlock(simpleTypeMermaid, simpleLZChunk(simplePlain, l.body(n, simpleForm{})))
	}
	return simpleDamage{fmt.Sprintf("%s, %d bytes", rule, n), block(0), block(1), n}
}

// Every kind of command, one byte beyond its sub-chunk and beyond the chunk.
func TestSimpleDamagedEdges(t *testing.T) {
	var rows []simpleDamage
	for _, e := range []struct{ n, half, room int }{
		{2000, 0, 1992},
		{simpleHalf, 0, simpleHalf - 8},
		{simpleHalf + 8, 0, simpleHalf - 8},
		{simpleHalf + 2000, 1, 2000},
		{simpleChunkSize, 1, simpleHalf},
	} {
		for rule, end := range map[string]func(l *simpleLZ, more int){
			"fresh match": func(l *simpleLZ, more int) { l.nearLong(8, e.room-14); l.fresh(nil, 8, 14+more) },
			"again":       func(l *simpleLZ, more int) { l.nearLong(8, e.room-14); l.again(nil, 14+more) },
			"literals":    func(l *simpleLZ, more int) { l.nearLong(8, e.room-6); l.again([]byte("1234567")[:6+more], 0) },
			"literals and a match": func(l *simpleLZ, more int) {
				l.nearLong(8, e.room-10)
				l.again([]byte("1234567"), 3+more)
			},
			"long literals": func(l *simpleLZ, more int) {
				l.nearLong(8, e.room-99)
				l.longLits(slices.Repeat([]byte("l"), 99+more))
			},
			"long match": func(l *simpleLZ, more int) { l.nearLong(8, e.room+more) },
			"short far":  func(l *simpleLZ, more int) { l.nearLong(8, e.room-20); l.farMatch(len(l.out), 20+more) },
			"long far":   func(l *simpleLZ, more int) { l.nearLong(8, e.room-1000); l.farMatch(len(l.out), 1000+more) },
		} {
			rows = append(rows, simpleEdge(rule, e.n, e.half, end))
		}
	}
	simpleRunDamage(t, rows)
}

func TestSimpleDamagedTables(t *testing.T) {
	l := simpleLZSample()
	size := len(l.out)
	wrap := func(form simpleForm) []byte {
		return simpleBlock(simpleTypeMermaid, simpleLZChunk(simplePlain, l.body(size, form)))
	}
	good := wrap(simpleForm{})
	run := func(n int) func([]byte) []byte {
		return func([]byte) []byte { return simpleArray(3, false, n, []byte{0x80}) }
	}
	halves := func(high, low int) func([]byte) []byte {
		sizes := []int{high, low}
		return func([]byte) []byte {
			n := sizes[0]
			sizes = sizes[1:]
			if n == 0 {
				return []byte{0, 0, 0}
			}
			return simpleArray(3, false, n, []byte{9})
		}
	}
	n := len(l.near)
	rows := []simpleDamage{
		{"more literals than bytes", good, wrap(simpleForm{lit: run(size + 1)}), size},
		{"more commands than bytes", good, wrap(simpleForm{cmd: run(size + 1)}), size},
		{"literals, greatest count", good, wrap(simpleForm{lit: run(1 << 18)}), size},
		{"more high bytes", good, wrap(simpleForm{near: halves(n+1, n)}), size},
		{"more low bytes", good, wrap(simpleForm{near: halves(n, n+1)}), size},
		{"no low bytes", good, wrap(simpleForm{near: halves(n, 0)}), size},
		{"distances for more than half the bytes", good, wrap(simpleForm{near: halves(size/2+1, size/2+1)}), size},
	}
	// The bytes behind the commands: split, near count, the distances, far counts.
	at := 8 + 3 + len(l.plain) + 3 + len(l.cmd) + 2
	far := at + 2 + 2*n
	rows = append(rows,
		simpleBroken("more near distances than bytes", nil, func(b []byte) []byte { return simplePatch(b, at, 0xFE, 0xFF) }),
		simpleBroken("more far distances than bytes", nil, func(b []byte) []byte { return simplePatch(b, far, 0x00, 0xE0, 0xFF) }),
		simpleBroken("more far distances in half 1", nil, func(b []byte) []byte { return simplePatch(b, far, 0xFE, 0x3F, 0x00) }),
		simpleBroken("escaped count of 65535", nil, func(b []byte) []byte {
			return slices.Concat(b[:far], []byte{0xFF, 0x0F, 0, 0xFF, 0xFF}, b[far+3:])
		}),
		simpleBroken("escaped count, no bytes", nil, func(b []byte) []byte { return append(b[:far:far], 0xFF, 0x0F, 0) }),
		simpleBroken("escaped counts, two bytes", nil, func(b []byte) []byte { return append(b[:far:far], 0xFF, 0xFF, 0xFF, 0, 0) }),
		simpleBroken("no far counts", nil, func(b []byte) []byte { return b[:far] }),
		simpleBroken("half the far counts", nil, func(b []byte) []byte { return b[:far+2] }),
		simpleBroken("half the split", nil, func(b []byte) []byte { return b[:at-1] }),
		simpleBroken("half the near count", nil, func(b []byte) []byte { return b[:at+1] }),
		simpleBroken("half a far distance", nil, func(b []byte) []byte { return b[:far+5] }),
	)
	// A chunk of less than the seed.
	for size := 1; size < 8; size++ {
		bad := simpleBlock(simpleTypeMermaid, simpleLZChunk(simplePlain, make([]byte, 10)))
		rows = append(rows, simpleDamage{fmt.Sprintf("%d bytes", size), nil, bad, size})
	}
	simpleRunDamage(t, rows)
}
