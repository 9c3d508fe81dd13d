package oodle_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/tracecache/internal/oodle"
	"example.com/tracecache/pod"
)

// The types of blocks, and the two modes of literals.
const (
	simpleTypeKraken  = 6
	simpleTypeMermaid = 10

	simpleDelta = 0
	simplePlain = 1
)

// simpleChunkSize is the raw size of a chunk, the last of a block aside.
const simpleChunkSize = 128 << 10

// simpleBlock is a block with one quantum of the given payload.
func simpleBlock(kind byte, payload ...[]byte) []byte {
	p := bytes.Join(payload, nil)
	return slices.Concat([]byte{0x8C, kind}, simpleBE24(len(p)-1), p)
}

// simpleStoredChunk is a chunk that is stored.
func simpleStoredChunk(raw []byte) []byte {
	return append(simpleBE24(0x800000|len(raw)), raw...)
}

// simpleLZChunk is a chunk of literals and commands.
func simpleLZChunk(mode int, body []byte) []byte {
	return append(simpleBE24(0x800000|mode<<19|len(body)), body...)
}

// simpleWarm decodes everything that the tests of these files write, so that every
// block meets the scratch memory of another.
var simpleWarm oodle.Decoder

// simpleDecode decodes to a slice with guarded neighbours.
func simpleDecode(t *testing.T, src []byte, size int) ([]byte, error) {
	t.Helper()
	const guard = 512
	buf := bytes.Repeat([]byte{0xA5}, size+2*guard)
	err := simpleWarm.Decode(buf[guard:guard+size], slices.Clone(src))
	for i := range guard {
		if buf[i] != 0xA5 || buf[guard+size+i] != 0xA5 {
			require.Fail(t, "a write outside of dst", "%d bytes off", i)
		}
	}
	return buf[guard : guard+size], err
}

// simpleCheck says whether src decodes to raw.
func simpleCheck(t *testing.T, what string, src, raw []byte) bool {
	t.Helper()
	got, err := simpleDecode(t, src, len(raw))
	return assert.NoError(t, err, what) && assert.True(t, bytes.Equal(raw, got), "%s: other bytes", what)
}

// simpleRefuse says whether src is refused as damaged.
func simpleRefuse(t *testing.T, what string, src []byte, size int) bool {
	t.Helper()
	_, err := simpleDecode(t, src, size)
	return assert.ErrorIs(t, err, pod.ErrCorrupt, what)
}

// simpleRand is the source of one test's variety, the same everywhere.
func simpleRand(seed uint64) *rand.Rand {
	return rand.New(rand.NewPCG(seed, 77))
}

// simpleText is n bytes of at most kinds values, the low ones the most frequent.
// Each of the values is there if n allows.
func simpleText(r *rand.Rand, n, kinds int) []byte {
	values := r.Perm(256)[:kinds]
	b := make([]byte, n)
	for i := range b {
		k := i
		if i >= kinds {
			k = min(r.IntN(kinds), r.IntN(kinds), r.IntN(kinds))
		}
		b[i] = byte(values[k])
	}
	return b
}

func TestSimpleFrames(t *testing.T) {
	r := simpleRand(1)
	text := simpleText(r, 3000, 20)
	simpleCheck(t, "stored block", append([]byte{0xCC, 10}, text...), text)
	simpleCheck(t, "stored block, no restart", append([]byte{0x4C, 10}, text...), text)
	for _, kind := range []byte{5, 6, 10, 11, 12} {
		simpleCheck(t, fmt.Sprintf("stored block of type %d", kind), append([]byte{0xCC, kind}, text...), text)
	}
	simpleCheck(t, "stored quantum", simpleBlock(simpleTypeMermaid, text), text)
	simpleCheck(t, "stored quantum of Kraken", simpleBlock(simpleTypeKraken, text), text)
	simpleCheck(t, "stored quantum of 1 byte", []byte{0x8C, 10, 0, 0, 0, 'x'}, []byte("x"))

	flagged := simpleBlock(simpleTypeMermaid, text)
	flagged[2] |= 2 << 2 // two flags without a meaning, of which one alone marks a memset
	simpleCheck(t, "flags of the quantum", flagged, text)

	for _, n := range []int{1, 2, 63, 64, 65, 1000, 131071, 131073, 262144} {
		for _, v := range []byte{0, 'x'} {
			for _, kind := range []byte{6, 10, 0x80 | 10} { // a checksum is not there even where flagged
				block := []byte{0x8C, kind, 7, 0xFF, 0xFF, v}
				simpleCheck(t, fmt.Sprintf("memset of %d", n), block, bytes.Repeat([]byte{v}, n))
			}
		}
	}

	withSum := slices.Concat([]byte{0x8C, 0x8A}, simpleBE24(len(text)-1), []byte("sum"), text)
	simpleCheck(t, "checksum, stored quantum", withSum, text)
	run := simpleArray(3, false, 5000, []byte("r"))
	withSum = slices.Concat([]byte{0x8C, 0x8A}, simpleBE24(len(run)-1), []byte("sum"), run)
	simpleCheck(t, "checksum, chunks", withSum, bytes.Repeat([]byte("r"), 5000))

	simpleCheck(t, "empty", nil, nil)
}

func TestSimpleStoredChunks(t *testing.T) {
	r := simpleRand(2)
	noise := simpleText(r, simpleChunkSize, 256)
	run := bytes.Repeat([]byte{'z'}, simpleChunkSize)
	for _, n := range []int{1, 100, simpleChunkSize - 1, simpleChunkSize} {
		raw := slices.Concat(run, noise[:n])
		block := simpleBlock(simpleTypeMermaid, simpleArray(3, false, simpleChunkSize, run[:1]), simpleStoredChunk(noise[:n]))
		simpleCheck(t, fmt.Sprintf("array, then %d stored", n), block, raw)
		block[1] = simpleTypeKraken
		simpleCheck(t, fmt.Sprintf("Kraken: array, then %d stored", n), block, raw)

		raw = slices.Concat(noise, run[:max(n, 8)])
		block = simpleBlock(simpleTypeMermaid, simpleStoredChunk(noise), simpleArray(3, false, max(n, 8), run[:1]))
		if n >= 100 { // else it is no shorter than what it stands for
			simpleCheck(t, fmt.Sprintf("stored, then array of %d", n), block, raw)
		}
	}
}
