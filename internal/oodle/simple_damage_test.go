package oodle_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"example.com/tracecache/pod"
)

// simpleDamage is a block that breaks one rule, and one that differs in nothing
// else and is good.
type simpleDamage struct {
	rule      string
	good, bad []byte
	size      int
}

func simpleRunDamage(t *testing.T, rows []simpleDamage) {
	t.Helper()
	for _, d := range rows {
		if d.good != nil {
			_, err := simpleDecode(t, d.good, d.size)
			assert.NoError(t, err, "%s: without the damage", d.rule)
		}
		simpleRefuse(t, d.rule, d.bad, d.size)
	}
}

// simplePatch is b with other bytes from at on.
func simplePatch(b []byte, at int, v ...byte) []byte {
	b = slices.Clone(b)
	copy(b[at:], v)
	return b
}

func TestSimpleDamagedFrames(t *testing.T) {
	text := simpleText(simpleRand(21), 900, 30)
	run := simpleArray(3, false, 900, []byte("r"))
	chunks := simpleBlock(simpleTypeMermaid, run)
	long := simpleArray(3, false, simpleChunkSize, []byte("l"))
	memset := []byte{0x8C, 10, 7, 0xFF, 0xFF, 'm'}
	stored := append([]byte{0xCC, 10}, text...)
	tail := simpleBlock(simpleTypeMermaid, long, simpleStoredChunk(text))
	at := len(tail) - len(text) - 3
	summed := slices.Concat([]byte{0x8C, 0x8A}, simpleBE24(len(run)-1), []byte("sum"), run)
	rows := []simpleDamage{
		{"no header", stored, nil, 900},
		{"half a header", stored, stored[:1], 900},
		{"low bits of byte 0", stored, simplePatch(stored, 0, 0xCD), 900},
		{"bit 4 of byte 0", stored, simplePatch(stored, 0, 0xDC), 900},
		{"bit 5 of byte 0", stored, simplePatch(stored, 0, 0xEC), 900},
		{"stored block, a byte less", stored, stored[:901], 900},
		{"stored block, a byte more", stored, append(slices.Clone(stored), 0), 900},
		{"quantum of more than the raw size", nil, simpleBlock(10, text, []byte("x")), 900},
		{"quantum behind the end", chunks, simplePatch(chunks, 4, byte(len(run))), 900},
		{"quantum before the end", chunks, append(slices.Clone(chunks), 0), 900},
		{"half a quantum header", chunks, chunks[:4], 900},
		{"no quantum header", chunks, chunks[:2], 900},
		{"memset without a byte", memset, memset[:5], 900},
		{"memset with two", memset, append(slices.Clone(memset), 'm'), 900},
		{"memset with other flags", memset, simplePatch(memset, 2, 0x0B), 900},
		{"memset with no flags", memset, simplePatch(memset, 2, 0x03), 900},
		{"half a checksum", nil, []byte{0x8C, 0x8A, 0, 0, 0, 1, 2}, 900},
		{"checksum that is not announced", summed, simplePatch(summed, 1, 0x0A), 900},
		{"checksum that is not there", chunks, simplePatch(chunks, 1, 0x8A), 900},
		{"no chunk", nil, simpleBlock(10, long), simpleChunkSize + 900},
		{"chunk of 3 bytes", nil, simpleBlock(10, long, []byte{0x88, 0, 0}), simpleChunkSize + 900},
		{"stored chunk, larger than raw", nil, simpleBlock(10, long, simpleStoredChunk(append(text, 'x'))), simpleChunkSize + 900},
		{"stored chunk of mode 1", tail, simplePatch(tail, at, 0x88), simpleChunkSize + 900},
		{"stored chunk of mode 15", tail, simplePatch(tail, at, 0xF8), simpleChunkSize + 900},
		{"stored chunk, a byte less", tail, simpleBlock(10, long, simpleStoredChunk(text)[:902]), simpleChunkSize + 900},
		{"bytes behind the last chunk", tail, simpleBlock(10, long, simpleStoredChunk(text), []byte{1}), simpleChunkSize + 900},
		{"array behind the last chunk", chunks, simpleBlock(10, run, run), 900},
		{"chunk array of too few bytes", chunks, simpleBlock(10, simpleArray(3, false, 899, []byte("r"))), 900},
		{"chunk array of too many bytes", chunks, simpleBlock(10, simpleArray(3, false, 901, []byte("r"))), 900},
		{"first chunk array too long", nil, simpleBlock(10, simpleArray(3, false, 140000, []byte("r"))), 140000},
	}
	for _, kind := range []byte{0, 1, 4, 7, 9, 13, 127} {
		rows = append(rows, simpleDamage{fmt.Sprintf("type %d", kind), chunks, simplePatch(chunks, 1, kind), 900})
		rows = append(rows, simpleDamage{fmt.Sprintf("stored, type %d", kind), stored, simplePatch(stored, 1, kind), 900})
	}
	simpleRunDamage(t, rows)
}

// The types that exist and are not read here are no damage, and the error names
// them.
func TestSimpleOtherTypes(t *testing.T) {
	for kind, name := range map[byte]string{5: "LZNA", 11: "BitKnit", 12: "Leviathan"} {
		_, err := simpleDecode(t, []byte{0x8C, kind, 0, 0, 0, 1}, 100)
		assert.ErrorIs(t, err, pod.ErrUnsupported)
		assert.NotErrorIs(t, err, pod.ErrCorrupt)
		assert.ErrorContains(t, err, name)
	}
}

// simpleSamples is blocks that have everything.
func simpleSamples() map[string]simpleDamage {
	r := simpleRand(22)
	samples := map[string]simpleDamage{}
	for name, form := range simpleArrayForms() {
		block, raw := simpleBlockOf(simpleRand(24), 5000, form)
		samples[name] = simpleDamage{good: block, size: len(raw)}
	}
	text := simpleText(r, 700, 5)
	for name, code := range simpleCoders() {
		if array := code(text); array[0] < 0x80 {
			samples["chunk, "+name] = simpleDamage{good: simpleBlock(simpleTypeMermaid, array), size: len(text)}
		} else {
			samples["literals, "+name] = simpleDamage{good: simpleAsLiterals(array, len(text)), size: len(text) + len(simpleRun)}
		}
	}
	for scale := range 3 {
		var k simpleKraken
		k.start([]byte("abcdefgh"))
		k.random(r, 6000)
		form := simpleKrakenForm{scale: scale, code: simpleWorthwhile(simpleHuffman(2, false))}
		block := simpleBlock(simpleTypeKraken, simpleLZChunk(simplePlain, k.body(form)))
		samples[fmt.Sprintf("Kraken, scale %d", scale)] = simpleDamage{good: block, size: len(k.out)}
	}
	array, raw := simpleDeep(5, true)
	samples["deep"] = simpleDamage{good: simpleBlock(simpleTypeMermaid, array), size: len(raw)}
	return samples
}

// Every block ends where it ends: no beginning of it and nothing longer is a
// block, also where the header has the size that is there, and its raw size is no
// other.
func TestSimpleCutBlocks(t *testing.T) {
	for name, s := range simpleSamples() {
		simpleCheckSize(t, name, s.good, s.size)
		for n := range len(s.good) {
			simpleRefuse(t, fmt.Sprintf("%s: %d bytes", name, n), s.good[:n], s.size)
			if n <= 5 {
				continue
			}
			payload := s.good[5:n]
			cut := simpleBlock(s.good[1], payload)
			simpleRefuse(t, fmt.Sprintf("%s: payload of %d bytes", name, len(payload)), cut, s.size)
			if s.good[5] >= 0x80 && len(payload) > 3 { // a chunk of commands
				cut = simpleBlock(s.good[1], simpleLZChunk(int(s.good[5]>>3&15), payload[3:]))
				simpleRefuse(t, fmt.Sprintf("%s: chunk of %d bytes", name, len(payload)-3), cut, s.size)
			}
		}
		more := append(slices.Clone(s.good[5:]), 0)
		simpleRefuse(t, name+": a byte more", append(slices.Clone(s.good), 0), s.size)
		simpleRefuse(t, name+": a byte more in the quantum", simpleBlock(s.good[1], more), s.size)
		if s.good[5] >= 0x80 {
			more = simpleLZChunk(int(s.good[5]>>3&15), more[3:])
			simpleRefuse(t, name+": a byte more in the chunk", simpleBlock(s.good[1], more), s.size)
		}
		// A byte less may be a literal that nobody needs.
		for _, d := range []int{-s.size + 1, -s.size + 100, 1, 1000, simpleChunkSize, 2*simpleChunkSize - s.size} {
			simpleRefuse(t, fmt.Sprintf("%s: %d bytes more to decode", name, d), s.good, s.size+d)
		}
	}
}

func simpleCheckSize(t *testing.T, what string, src []byte, size int) {
	t.Helper()
	_, err := simpleDecode(t, src, size)
	assert.NoError(t, err, what)
}

// Bytes that are changed at random give an error or other bytes, and never a write
// outside: simpleDecode looks.
func TestSimpleFlippedBytes(t *testing.T) {
	for name, s := range simpleSamples() {
		r := simpleRand(23)
		for range 1500 {
			b := bytes.Clone(s.good)
			for range 1 + r.IntN(3) {
				b[2+r.IntN(len(b)-2)] = byte(r.IntN(256))
			}
			if _, err := simpleDecode(t, b, s.size); err != nil {
				assert.ErrorIs(t, err, pod.ErrCorrupt, name)
			}
		}
	}
}
