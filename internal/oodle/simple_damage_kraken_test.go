package oodle_test

import (
	"fmt"
	"slices"
	"testing"
)

// simpleKrakenSample is a chunk of two long lengths and some of everything else.
func simpleKrakenSample() simpleKraken {
	var k simpleKraken
	k.start([]byte("abcdefgh"))
	k.command([]byte("xyz"), 3, 9, 16)
	k.command([]byte("12"), 3, 20, 17)
	k.command([]byte("12"), 1, 0, 17)
	k.command(nil, 2, 0, 2)
	k.command(slices.Repeat([]byte("lit"), 100), 3, 30, 900)
	k.command(slices.Repeat([]byte("l"), 40), 3, 18, 40)
	k.tail([]byte("the tail"))
	return k
}

func TestSimpleDamagedKraken(t *testing.T) {
	size := len(simpleKrakenSample().out)
	var rows []simpleDamage
	broken := func(rule string, form simpleKrakenForm, change func(k *simpleKraken), body func([]byte) []byte) {
		k := simpleKrakenSample()
		good := simpleBlock(simpleTypeKraken, simpleLZChunk(simplePlain, k.body(simpleKrakenForm{scale: form.scale})))
		if change != nil {
			change(&k)
		}
		b := k.body(form)
		if body != nil {
			b = body(b)
		}
		bad := simpleBlock(simpleTypeKraken, simpleLZChunk(simplePlain, b))
		rows = append(rows, simpleDamage{fmt.Sprintf("%s, scale %d", rule, form.scale), good, bad, size})
	}
	for scale := range 3 {
		form := simpleKrakenForm{scale: scale}
		for n := range 13 {
			broken(fmt.Sprintf("%d bytes", n), form, nil, func(b []byte) []byte { return b[:n] })
		}
		code := func(change func(codes []byte)) func(k *simpleKraken) {
			return func(k *simpleKraken) { k.changeCodes = change }
		}
		broken("distance missing", form, func(k *simpleKraken) { k.dists = k.dists[:3] }, nil)
		broken("all distances missing", form, func(k *simpleKraken) { k.dists = nil }, nil)
		broken("distance left", form, func(k *simpleKraken) { k.dists = append(k.dists, 10) }, nil)
		broken("more distances than commands", form, func(k *simpleKraken) { k.dists = append(k.dists, 10, 10, 10, 10) }, nil)
		broken("length missing", form, func(k *simpleKraken) { k.lengths = k.lengths[:len(k.lengths)-1] }, nil)
		broken("all lengths missing", form, func(k *simpleKraken) { k.lengths = nil }, nil)
		broken("length left", form, func(k *simpleKraken) { k.lengths = append(k.lengths, 3) }, nil)
		broken("lengths for more than a quarter", form, func(k *simpleKraken) {
			k.lengths = append(k.lengths, slices.Repeat([]int{3}, size/4)...)
		}, nil)
		broken("long length left", form, func(k *simpleKraken) { k.long = []int{5} }, nil)
		broken("long length announced", form, func(k *simpleKraken) { k.count = 1 }, nil)
		broken("long length not announced", form, func(k *simpleKraken) { k.count = -1 }, nil)
		broken("513 long lengths", form, func(k *simpleKraken) { k.long = make([]int, 511) }, nil)
		broken("262142 long lengths announced", form, func(k *simpleKraken) { k.count = 262140 }, nil)
		broken("too many zeros in a long length", form, func(k *simpleKraken) { k.long = []int{1<<19 - 64} }, nil)
		broken("bits left in front", form, func(k *simpleKraken) { k.bits[0] = make(simpleBits, 8) }, nil)
		broken("bits left behind", form, func(k *simpleKraken) { k.bits[1] = make(simpleBits, 8) }, nil)
		broken("a byte more of bits", form, nil, func(b []byte) []byte { return append(b, 0) })
		broken("a byte less of bits", form, nil, func(b []byte) []byte { return b[:len(b)-1] })
		broken("no bits", form, nil, func(b []byte) []byte { return b[:len(b)-9] })
		broken("literal missing", form, func(k *simpleKraken) { k.plain = k.plain[1:] }, nil)
		broken("no literals", form, func(k *simpleKraken) { k.plain = nil }, nil)
		broken("literal left", form, func(k *simpleKraken) { k.plain = append(k.plain, 'l') }, nil)
		broken("command missing", form, func(k *simpleKraken) { k.cmd = k.cmd[:5] }, nil)
		broken("command more", form, func(k *simpleKraken) { k.cmd = append(k.cmd, 0) }, nil)
		broken("longer match", form, func(k *simpleKraken) { k.cmd[3] += 4 }, nil)
		broken("length beyond the end", form, func(k *simpleKraken) { k.lengths[len(k.lengths)-1] += 100 }, nil)
		broken("literals beyond the end", form, func(k *simpleKraken) { k.lengths[3] += 1000 }, nil)
		broken("distance before the block", form, func(k *simpleKraken) { k.dists[0] = 12 }, nil)
		broken("distance far before the block", form, func(k *simpleKraken) { k.dists[0] = 200000 }, nil)
		broken("literals for beyond the end", simpleKrakenForm{scale: scale, lit: func([]byte) []byte {
			return simpleArray(3, false, size, []byte{'l'})
		}}, func(k *simpleKraken) { k.lengths[3] += 1000 }, nil)
		broken("the literals' array is short", simpleKrakenForm{scale: scale, lit: func(b []byte) []byte { return simpleRaw(true, b) }}, nil, nil)
		broken("more literals than bytes", simpleKrakenForm{scale: scale, lit: func([]byte) []byte {
			return simpleArray(3, false, size+1, []byte{'l'})
		}}, nil, nil)
		switch scale {
		case 0:
			broken("greatest distance", form, code(func(c []byte) { c[0] = 0xFF }), nil)
			broken("smallest of the greatest distances", form, code(func(c []byte) { c[0] = 0xF0 }), nil)
		default:
			broken("distance of 27 bits", form, code(func(c []byte) { c[0] = 27 << 3 }), nil)
			broken("distance of 31 bits", form, code(func(c []byte) { c[0] = 0xFF }), nil)
			broken("greatest distance", form, code(func(c []byte) { c[0] = 26<<3 | 7 }), nil)
			broken("distance 7", form, func(k *simpleKraken) { k.dists[0] = 7 }, nil)
			broken("distance 1", form, func(k *simpleKraken) { k.dists[0] = 1 }, nil)
			broken("distance 0", form, func(k *simpleKraken) { k.dists[0] = 0 }, nil)
		}
	}
	// The arrays of a chunk with a scale, each of one element more.
	k := simpleKrakenSample()
	good := k.body(simpleKrakenForm{scale: 2})
	at := 8 + 3 + len(k.plain) + 3 + len(k.cmd) + 1
	n := len(k.dists)
	for rule, bad := range map[string][]byte{
		"fewer low parts":      slices.Concat(good[:at+3+n], simpleRaw(false, make([]byte, n-1)), good[at+2*(3+n):]),
		"more low parts":       slices.Concat(good[:at+3+n], simpleRaw(false, make([]byte, n+1)), good[at+2*(3+n):]),
		"no low parts":         slices.Concat(good[:at+3+n], good[at+2*(3+n):]),
		"chunk ends at scale":  good[:at],
		"chunk ends before it": good[:at-1],
		"chunk ends at codes":  good[:at+3+n],
		"chunk ends at low":    good[:at+2*(3+n)],
	} {
		rows = append(rows, simpleDamage{rule, nil, simpleBlock(simpleTypeKraken, simpleLZChunk(simplePlain, bad)), size})
	}
	for size := 1; size < 8; size++ {
		bad := simpleBlock(simpleTypeKraken, simpleLZChunk(simplePlain, make([]byte, 13)))
		rows = append(rows, simpleDamage{fmt.Sprintf("%d bytes", size), nil, bad, size})
	}
	for mode := 2; mode < 16; mode++ {
		bad := simpleBlock(simpleTypeKraken, simpleLZChunk(mode, good))
		rows = append(rows, simpleDamage{fmt.Sprintf("mode %d", mode), nil, bad, size})
	}
	simpleRunDamage(t, rows)
}
