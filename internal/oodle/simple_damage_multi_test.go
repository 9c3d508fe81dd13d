package oodle_test

import (
	"fmt"
	"slices"
	"testing"
)

func TestSimpleDamagedRLE(t *testing.T) {
	lits := simpleText(simpleRand(40), 64, 64)
	var r simpleRLE
	r.set('f')
	r.short(lits[:15], 15)
	r.medium(lits[:63], 127)
	r.longCopy(lits)
	r.longFill(2560)
	size, good := len(r.out), r.payload()
	short := func(b []byte) []byte { return simpleRaw(true, b) }
	more := func(payload []byte, commands ...byte) []byte {
		return append(payload[:len(payload):len(payload)], commands...)
	}
	less := func(c func(r *simpleRLE)) []byte {
		x := r
		x.out = nil
		c(&x)
		return x.payload()
	}
	rows := []simpleDamage{
		simplePayloadDamage("no payload", 3, size, good, nil),
		simplePayloadDamage("no commands", 3, size, good, []byte{0, 5}),
		simplePayloadDamage("only the mark", 3, size, nil, []byte{0, 0}),
		simplePayloadDamage("a fill without a byte", 3, size, good, []byte{0, 1}),
		simplePayloadDamage("output not full", 3, size+1, nil, good),
		simplePayloadDamage("output too small", 3, size-1, nil, good),
		simplePayloadDamage("output much too small", 3, 600, nil, good),
		simplePayloadDamage("short fill more", 3, size, good, more(good, 0x3F)),
		simplePayloadDamage("medium fill more", 3, size, good, more(good, 0x40, 0x10)),
		simplePayloadDamage("long fill more", 3, size, good, more(good, 0x00, 0x09)),
		simplePayloadDamage("greatest long fill", 3, size, good, more(good, 0xFF, 0x0F)),
		simplePayloadDamage("15 literals more", 3, size, good, more(good, 0x00)),
		simplePayloadDamage("63 literals more", 3, size, good, more(good, 0x3F, 0x10)),
		simplePayloadDamage("64 literals more", 3, size, good, more(good, 0x00, 0x02)),
		simplePayloadDamage("greatest long copy", 3, size, good, more(good, 0xFF, 0x08)),
		simplePayloadDamage("literal missing", 3, size, good, less(func(x *simpleRLE) { x.front = x.front[1:] })),
		simplePayloadDamage("literals missing", 3, size, good, less(func(x *simpleRLE) { x.front = x.front[64:] })),
		simplePayloadDamage("literal left", 3, size, good, less(func(x *simpleRLE) { x.front = append(x.front[:len(x.front):len(x.front)], 'l') })),
		simplePayloadDamage("nested array cut", 3, size, r.nested(50, short), r.nested(50, short)[:20]),
		simplePayloadDamage("nested array of type 7", 3, size, nil, []byte{0x70, 0, 4, 0, 1, 1, 1}),
	}
	// A command of two bytes of which there is one, in front of a whole one.
	for _, c := range []byte{0x02, 0x08, 0x09, 0x0F, 0x10, 0x2F} {
		rows = append(rows, simplePayloadDamage(fmt.Sprintf("command %#x of one byte", c), 3, 2560, nil, []byte{0, c, 0x13, 0x09}))
		rows = append(rows, simplePayloadDamage(fmt.Sprintf("only command %#x", c), 3, 2560, nil, []byte{0, c}))
	}
	// More than the buffer may have, with the bytes behind the array.
	two := func(n int) []byte {
		return append(simpleArray(3, false, n, []byte{1}), 1, 1, 1, 1, 1, 1, 1, 1, 0x13, 0x09)
	}
	rows = append(rows, simplePayloadDamage("buffer", 3, 2560, two(2*2560+54), two(2*2560+56)))
	// Commands that do nothing, of which there may not be any number.
	nothing := func(n int) []byte { return append(simpleArray(3, false, n, []byte{1}), 0x13, 0x09) }
	rows = append(rows, simplePayloadDamage("200000 commands for nothing", 3, 2560, nothing(2000), nothing(200000)))
	simpleRunDamage(t, rows)
}

func TestSimpleDamagedConcat(t *testing.T) {
	run := func(n int) []byte { return simpleArray(3, false, n, []byte("r")) }
	good := simpleConcat(run(300), run(200), run(100))
	array := slices.Clone(good)
	count := func(n byte) []byte { return simplePatch(array, 0, n) }
	simpleRunDamage(t, []simpleDamage{
		simplePayloadDamage("no arrays", 5, 600, good, count(0)),
		simplePayloadDamage("1 array", 5, 600, good, count(1)),
		simplePayloadDamage("1 array that is all", 5, 600, nil, simpleConcat(run(600))),
		simplePayloadDamage("an array left", 5, 600, good, count(2)),
		simplePayloadDamage("an array missing", 5, 600, good, count(4)),
		simplePayloadDamage("127 arrays", 5, 600, good, count(127)),
		simplePayloadDamage("a byte left", 5, 600, good, append(good[:len(good):len(good)], 0)),
		simplePayloadDamage("too few bytes", 5, 601, nil, good),
		simplePayloadDamage("too many bytes", 5, 599, nil, good),
		simplePayloadDamage("too many bytes in the first", 5, 100, nil, good),
		simplePayloadDamage("no payload", 5, 600, good, nil),
		simplePayloadDamage("5 bytes", 5, 600, good, []byte{2, 0x80, 0, 0x80, 0}),
		simplePayloadDamage("cut", 5, 600, good, good[:12]),
		simplePayloadDamage("array of type 6", 5, 600, good, simplePatch(good, 7, 0x60)),
	})
}

// simpleMultiSample is a multi-array of three sources, for a chunk of 1500 bytes.
func simpleMultiSample(packed bool) simpleMulti {
	run := func(c string, n int) []byte { return slices.Repeat([]byte(c), n) }
	m := simpleMulti{packed: packed, sources: [][]byte{run("a", 500), run("b", 600), run("c", 400)}}
	for _, i := range [][2]int{{1, 300}, {2, 77}, {3, 1}, {1, 200}, {3, 399}, {2, 523}} {
		m.interval(i[0], i[1])
	}
	return m
}

func TestSimpleDamagedMulti(t *testing.T) {
	var rows []simpleDamage
	for _, packed := range []bool{false, true} {
		good := simpleMultiSample(packed).payload(simpleRLEOrRaw, nil, nil)
		broken := func(rule string, change func(m *simpleMulti)) {
			m := simpleMultiSample(packed)
			change(&m)
			rule = fmt.Sprintf("%s, packed %t", rule, packed)
			rows = append(rows, simplePayloadDamage(rule, 5, 1500, good, m.payload(simpleRLEOrRaw, nil, nil)))
		}
		broken("source 4 of 3", func(m *simpleMulti) { m.index[2] = 4 })
		broken("source 15 of 3", func(m *simpleMulti) { m.index[2] = 15 })
		broken("another source", func(m *simpleMulti) { m.index[2] = 2 })
		broken("an end too early", func(m *simpleMulti) { m.index[2] = 0 })
		broken("an end in front", func(m *simpleMulti) { m.index[0] = 0 })
		broken("an end twice", func(m *simpleMulti) { m.index[5] = 0 })
		broken("no end", func(m *simpleMulti) { m.end = 1 })
		broken("no end, but all is there", func(m *simpleMulti) {
			last := 1 // what a decoder may take the end for: no bits, or the 5 in 3 bits of a packed one
			if packed {
				last = 13
			}
			*m = simpleMulti{packed: packed, sources: m.sources, end: 1}
			m.interval(2, 600)
			m.interval(3, 400)
			m.interval(1, 500-last)
		})
		broken("a longer interval", func(m *simpleMulti) { m.log[0]++ })
		broken("a shorter interval", func(m *simpleMulti) { m.log[0]-- })
		broken("the longest interval", func(m *simpleMulti) { m.log[0] = 15 })
		broken("an interval missing", func(m *simpleMulti) { m.index, m.log = m.index[:5], m.log[:5] })
		broken("no intervals", func(m *simpleMulti) { m.index, m.log = nil, nil })
		broken("an interval more", func(m *simpleMulti) { m.interval(1, 1) })
		broken("a source that nobody takes", func(m *simpleMulti) { m.sources = append(m.sources, []byte("four")) })
		broken("a larger source", func(m *simpleMulti) { m.sources[0] = slices.Repeat(m.sources[0], 2) })
		broken("a smaller source", func(m *simpleMulti) { m.sources[0] = m.sources[0][1:] })
		broken("a source less", func(m *simpleMulti) { m.sources = m.sources[:2] })
		broken("no bits", func(m *simpleMulti) { m.bits = [2]simpleBits{} })
		broken("no bits in front", func(m *simpleMulti) { m.bits[0], m.bits[1] = nil, m.bits[1][:4] })
		if !packed {
			broken("an interval of 17 bits", func(m *simpleMulti) { m.log[0] = 17 })
			broken("an interval of 255 bits", func(m *simpleMulti) { m.log[0] = 255 })
			broken("a length less", func(m *simpleMulti) { m.log = m.log[:5] })
			broken("a length more", func(m *simpleMulti) { m.log = append(m.log, 0) })
			broken("source 255", func(m *simpleMulti) { m.index[2] = 255 })
		}
		// What is behind the sources: flags and size of the bits, then the rest.
		at := 1 + 3*6
		size := int(good[at])
		rows = append(rows,
			simplePayloadDamage("fewer bits", 5, 1500, good, simplePatch(good, at, byte(size-1))),
			simplePayloadDamage("more bits", 5, 1500, good, simplePatch(good, at, byte(size+1))),
			simplePayloadDamage("greatest size of bits", 5, 1500, good, simplePatch(good, at, 0xFF, good[at+1]|0x3F)),
			simplePayloadDamage("the other kind", 5, 1500, good, simplePatch(good, at+1, good[at+1]^0x80)),
			simplePayloadDamage("a byte more", 5, 1500, good, append(good[:len(good):len(good)], 0)),
			simplePayloadDamage("output a byte larger", 5, 1501, nil, good),
			simplePayloadDamage("output a byte smaller", 5, 1499, nil, good),
			simplePayloadDamage("output smaller than a source", 5, 550, nil, good),
			simplePayloadDamage("cut", 5, 1500, good, good[:15]),
		)
		for n := at; n < len(good); n++ {
			rows = append(rows, simplePayloadDamage(fmt.Sprintf("cut at %d", n), 5, 1500, good, good[:n]))
		}
		// More intervals than bytes: a run of zeros for the sources.
		code := func(n int) func([]byte) []byte {
			return func([]byte) []byte { return simpleArray(3, false, n, []byte{0}) }
		}
		rows = append(rows,
			simplePayloadDamage("1501 intervals", 5, 1500, nil, simpleMultiSample(packed).payload(simpleRLEOrRaw, code(1501), nil)),
			simplePayloadDamage("200000 intervals", 5, 1500, nil, simpleMultiSample(packed).payload(simpleRLEOrRaw, code(200000), nil)),
			simplePayloadDamage("200000 lengths", 5, 1500, nil, simpleMultiSample(false).payload(simpleRLEOrRaw, nil, code(200000))))
	}
	simpleRunDamage(t, rows)
}
