package oodle_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// simpleConcat is the payload of a concatenation.
func simpleConcat(arrays ...[]byte) []byte {
	return append([]byte{byte(len(arrays))}, bytes.Join(arrays, nil)...)
}

// simpleConcatHalves is b as an array of two arrays.
func simpleConcatHalves(b []byte) []byte {
	half := len(b) / 2
	code := simpleIfShorter(simpleHuffman(2, false))
	return simpleArray(5, false, len(b), simpleConcat(code(b[:half]), code(b[half:])))
}

// simpleMultiHalves is b as a multi-array of two sources.
func simpleMultiHalves(b []byte) []byte {
	half := len(b) / 2
	m := simpleMulti{sources: [][]byte{b[:half], b[half:]}}
	m.interval(1, half)
	m.interval(2, len(b)-half)
	return simpleArray(5, false, len(b), m.payload(simpleIfShorter(simpleHuffman(2, false)), nil, nil))
}

// simpleMulti is a multi-array of one output.
type simpleMulti struct {
	sources    [][]byte
	index, log []byte
	bits       [2]simpleBits
	packed     bool
	spare      byte // bit 6 of the first byte, bit 14 of the flags
	end        byte // the source that marks the end, 0 but in a damaged one
}

// interval takes n bytes of a source, which is counted from 1.
func (m *simpleMulti) interval(source, n int) {
	log := simpleFloorLog(n)
	m.bits[len(m.log)&1].put(n, log)
	m.index, m.log = append(m.index, byte(source)), append(m.log, byte(log))
}

// payload is the payload, with coders of the arrays; nil is type 0.
func (m simpleMulti) payload(code, indexes, logs func([]byte) []byte) []byte {
	b := []byte{0x80 | m.spare<<6 | byte(len(m.sources))}
	for _, s := range m.sources {
		b = append(b, simpleCoded(code, s)...)
	}
	index := append(slices.Clone(m.index), m.end)
	bits := m.bits
	if m.packed {
		// The end has a length, too, of which nothing is read.
		const log = 3
		bits[len(m.log)&1] = slices.Clone(bits[len(m.log)&1])
		bits[len(m.log)&1].put(5, log)
		for i := range index {
			index[i] |= append(m.log, log)[i] << 4
		}
	}
	area := append(bits[0].high(), simpleBackward(bits[1].high())...)
	flags := len(area) | int(m.spare)<<14
	if m.packed {
		flags |= 0x8000
	}
	b = append(b, simpleLE16(flags)...)
	b = append(b, simpleCoded(indexes, index)...)
	if !m.packed {
		b = append(b, simpleCoded(logs, m.log)...)
	}
	return append(b, area...)
}

// simpleSplit cuts b into intervals of at most the given size and gives each to one
// of n sources.
func simpleSplit(r *rand.Rand, b []byte, n, most int) (m simpleMulti) {
	m.sources = make([][]byte, n)
	for len(b) > 0 {
		s, k := r.IntN(n), min(1+r.IntN(most), len(b))
		m.sources[s] = append(m.sources[s], b[:k]...)
		m.interval(s+1, k)
		b = b[k:]
	}
	return m
}

func TestSimpleConcat(t *testing.T) {
	r := simpleRand(15)
	text := simpleText(r, 800, 4)
	for name, code := range simpleCoders() {
		payload := simpleConcat(code(text), simpleRaw(true, text[:9]), code(text[:700]), simpleRaw(false, nil))
		simpleCheckPayload(t, name, 5, payload, slices.Concat(text, text[:9], text[:700]))
	}
	// The greatest count.
	var arrays [][]byte
	var raw []byte
	for i := range 127 {
		run := slices.Repeat([]byte{byte(i)}, 100+i)
		arrays, raw = append(arrays, simpleArray(3, i&1 == 0, len(run), run[:1])), append(raw, run...)
	}
	simpleCheckPayload(t, "127 arrays", 5, simpleConcat(arrays...), raw)
	simpleCheckPayload(t, "2 arrays", 5, simpleConcat(arrays[:2]...), raw[:201])
}

func TestSimpleMulti(t *testing.T) {
	r := simpleRand(16)
	text := simpleText(r, 2500, 4)
	for _, n := range []int{1, 2, 3, 15, 16, 63} {
		for _, most := range []int{9, 64, 1000} {
			for _, packed := range []bool{false, true} {
				if packed && n > 15 {
					continue
				}
				raw := slices.Concat(text, slices.Repeat([]byte{'x'}, 2000))
				m := simpleSplit(r, text, n, most)
				m.packed = packed
				// A source of one interval that is worth the array.
				if n < 63 && (n < 15 || !packed) {
					m.sources = append(m.sources, raw[len(text):])
					m.interval(len(m.sources), 2000)
				} else {
					m.sources[n-1] = append(m.sources[n-1], raw[len(text):]...)
					m.interval(n, 2000)
				}
				what := fmt.Sprintf("%d sources, up to %d, packed %t", n, most, packed)
				simpleCheckMulti(t, what, m, raw)
				m.spare = 1
				simpleCheckMulti(t, what+", spare bits", m, raw)
			}
		}
	}
}

// simpleCheckMulti checks m with raw and coded arrays.
func simpleCheckMulti(t *testing.T, what string, m simpleMulti, raw []byte) {
	t.Helper()
	code := func(b []byte) []byte {
		if len(simpleSymbols(b)) < 2 || len(b) < 100 {
			return simpleRLEOrRaw(b)
		}
		return simpleHuffman(2, false)(b)
	}
	payload := m.payload(code, nil, nil)
	if len(payload) < len(raw) {
		simpleCheckPayload(t, what, 5, payload, raw)
	}
	if len(m.index) > 200 {
		payload = m.payload(code, simpleIfShorter(simpleHuffman(4, false)), simpleIfShorter(simpleTANS(false)))
		simpleCheckPayload(t, what+", coded", 5, payload, raw)
	}
}

// simpleIfShorter is the coder for bytes that it makes shorter; others stay raw.
func simpleIfShorter(code func([]byte) []byte) func([]byte) []byte {
	return func(b []byte) []byte {
		if coded := code(b); len(coded) < len(b) {
			return coded
		}
		return simpleRaw(false, b)
	}
}

// simpleRLEOrRaw is b as a run where it is one.
func simpleRLEOrRaw(b []byte) []byte {
	if len(b) > 1 && len(simpleSymbols(b)) == 1 {
		return simpleArray(3, false, len(b), b[:1])
	}
	return simpleRaw(false, b)
}

// Intervals of up to 1<<16 and more bytes.
func TestSimpleMultiLongInterval(t *testing.T) {
	raw := slices.Concat(slices.Repeat([]byte{'a'}, 1<<16+5), slices.Repeat([]byte{'b'}, 1<<15+77))
	for _, swap := range []bool{false, true} {
		m := simpleMulti{sources: [][]byte{raw[:1<<16+5], raw[1<<16+5:]}}
		if swap {
			m.interval(2, 1<<15+77)
			m.interval(1, 1<<16+5)
		} else {
			m.interval(1, 1<<16+5)
			m.interval(2, 1<<15+77)
		}
		want := raw
		if swap {
			want = slices.Concat(m.sources[1], m.sources[0])
		}
		simpleCheckPayload(t, fmt.Sprintf("swap %t", swap), 5, m.payload(simpleRLEOrRaw, nil, nil), want)
	}
}

// simpleDeep is an array of arrays, so many levels below the outer one.
func simpleDeep(levels int, rle bool) (array, raw []byte) {
	raw = slices.Repeat([]byte{'d'}, 1000)
	array = simpleArray(3, false, len(raw), raw[:1])
	for i := range levels {
		if rle && i&1 == 0 {
			// An RLE array that copies its nested array and adds a run.
			var r simpleRLE
			r.medium(nil, 0)
			for _, b := range slices.Collect(slices.Chunk(raw[:len(raw)/64*64], 64*64)) {
				r.longCopy(b)
			}
			r.medium(raw[len(raw)/64*64:], 20)
			back := r.back()
			array = simpleArray(3, false, len(r.out), append(slices.Clone(array), back...))
			raw = r.out
			continue
		}
		array = simpleArray(5, false, len(raw)+4, simpleConcat(array, simpleRaw(true, []byte("four"))))
		raw = append(slices.Clone(raw), "four"...)
	}
	return array, raw
}

func TestSimpleDepth(t *testing.T) {
	for _, rle := range []bool{false, true} {
		for levels := range 9 {
			array, raw := simpleDeep(levels, rle)
			simpleCheck(t, fmt.Sprintf("%d levels", levels), simpleBlock(simpleTypeMermaid, array), raw)
		}
		for _, levels := range []int{12, 100, 1000} {
			array, raw := simpleDeep(levels, rle && levels < 100)
			simpleRefuse(t, fmt.Sprintf("%d levels", levels), simpleBlock(simpleTypeMermaid, array), len(raw))
		}
	}
}
