package oodle_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// simpleRaw is an array of type 0.
func simpleRaw(short bool, raw []byte) []byte {
	if short {
		return append([]byte{0x80 | byte(len(raw)>>8), byte(len(raw))}, raw...)
	}
	return append(simpleBE24(len(raw)), raw...)
}

// simpleArray is an array of type 1 to 5 with the given payload.
func simpleArray(kind byte, short bool, raw int, payload []byte) []byte {
	comp := len(payload)
	if short {
		v := 1<<23 | int(kind)<<20 | (raw-comp-1)<<10 | comp
		return append(simpleBE24(v), payload...)
	}
	w := uint64(kind)<<36 | uint64(raw-1)<<18 | uint64(comp)
	return append([]byte{byte(w >> 32), byte(w >> 24), byte(w >> 16), byte(w >> 8), byte(w)}, payload...)
}

// simpleFits says whether an array of type 1 to 5 can have such a payload.
func simpleFits(short bool, raw int, payload []byte) bool {
	if short {
		return len(payload) < 1<<10 && raw-len(payload)-1 < 1<<10 && raw > len(payload)
	}
	return len(payload) < raw && raw <= 1<<18
}

// simpleRun is what stands beside an array so that its block is shorter than its
// bytes.
var simpleRun = bytes.Repeat([]byte{'-'}, 1000)

// simpleInConcat is a block whose chunk is the concatenation of an array of n
// bytes and simpleRun.
func simpleInConcat(array []byte, n int) []byte {
	payload := slices.Concat([]byte{2}, array, simpleArray(3, false, len(simpleRun), simpleRun[:1]))
	return simpleBlock(simpleTypeMermaid, simpleArray(5, false, n+len(simpleRun), payload))
}

// simpleAsLiterals is a block of simpleRun and n literals, which are the array.
func simpleAsLiterals(array []byte, n int) []byte {
	l := simpleLZ{}
	l.start(simpleRun[:8])
	l.nearLong(8, len(simpleRun)-8)
	l.split = len(l.cmd)
	form := simpleForm{lit: func([]byte) []byte { return array }}
	return simpleBlock(simpleTypeMermaid, simpleLZChunk(simplePlain, l.body(len(simpleRun)+n, form)))
}

// simpleCheckArray checks that an array decodes to raw wherever it may stand.
func simpleCheckArray(t *testing.T, what string, array, raw []byte) {
	t.Helper()
	simpleCheck(t, what+", in a concatenation", simpleInConcat(array, len(raw)), slices.Concat(raw, simpleRun))
	simpleCheck(t, what+", as literals", simpleAsLiterals(array, len(raw)), slices.Concat(simpleRun, raw))
	if array[0] < 0x80 && len(array) < len(raw) {
		simpleCheck(t, what+", as the chunk", simpleBlock(simpleTypeMermaid, array), raw)
	}
}

// simpleCheckPayload checks a payload under the headers that can have it, at least
// one.
func simpleCheckPayload(t *testing.T, what string, kind byte, payload, raw []byte) {
	t.Helper()
	done := false
	for _, short := range []bool{false, true} {
		if simpleFits(short, len(raw), payload) {
			simpleCheckArray(t, fmt.Sprintf("%s, short %t", what, short), simpleArray(kind, short, len(raw), payload), raw)
			done = true
		}
	}
	require.True(t, done, "%s: %d bytes, payload %d, which no header can have", what, len(raw), len(payload))
}

func TestSimpleRawArrays(t *testing.T) {
	r := simpleRand(3)
	for _, n := range []int{0, 1, 2, 255, 256, 257, 4095, 4096, 70000} {
		raw := simpleText(r, n, 256)
		simpleCheckArray(t, fmt.Sprintf("%d raw", n), simpleRaw(false, raw), raw)
		if n < 4096 {
			simpleCheckArray(t, fmt.Sprintf("%d raw, short", n), simpleRaw(true, raw), raw)
		}
	}
}

// A chunk that is an array of type 0 is longer than its bytes, so it needs
// another one beside it.
func TestSimpleRawArrayAsChunk(t *testing.T) {
	raw := simpleText(simpleRand(4), simpleChunkSize, 256)
	rest := bytes.Repeat([]byte{'q'}, 500)
	run := simpleArray(3, false, len(rest), rest[:1])
	simpleCheck(t, "first", simpleBlock(simpleTypeMermaid, simpleRaw(false, raw), run), slices.Concat(raw, rest))

	whole := bytes.Repeat(rest[:1], simpleChunkSize)
	run = simpleArray(3, false, len(whole), rest[:1])
	simpleCheck(t, "last", simpleBlock(simpleTypeMermaid, run, simpleRaw(false, raw[:999])), slices.Concat(whole, raw[:999]))
}
