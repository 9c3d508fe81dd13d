package oodle_test

import (
	"bytes"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/tracecache/internal/oodle"
	"example.com/tracecache/pod"
)

func TestDecodeVectors(t *testing.T) {
	for name, dir := range map[string]string{
		"own":     "testdata",
		"shared":  filepath.Join(sharedVectors, "oodle"),
		"genuine": filepath.Join(sharedVectors, "oodle-genuine"),
	} {
		t.Run(name, func(t *testing.T) {
			vectors := readVectors(t, dir)
			if len(vectors) == 0 && name != "own" {
				t.Skip("no folder " + dir)
			}
			require.NotEmpty(t, vectors)
			var d oodle.Decoder
			for _, v := range vectors {
				got, err := decodeGuarded(t, &d, len(v.raw), v.block)
				require.NoError(t, err, v.name)
				require.True(t, bytes.Equal(v.raw, got), v.name)
			}
		})
	}
}

// decodeGuarded decodes a block between bytes that must stay what they are, and from
// a slice whose neighbours differ from one call to the next: what is decoded may
// not depend on them.
func decodeGuarded(t testing.TB, d *oodle.Decoder, rawSize int, block []byte) ([]byte, error) {
	t.Helper()
	const guard = 64
	var got [2][]byte
	var errs [2]error
	for i, g := range []byte{0x5A, 0xA5} {
		dst := bytes.Repeat([]byte{g}, guard+rawSize+guard)
		src := bytes.Repeat([]byte{^g}, guard+len(block)+guard)
		copy(src[guard:], block)
		errs[i] = d.Decode(dst[guard:guard+rawSize], src[guard:guard+len(block)])
		got[i] = dst[guard : guard+rawSize]
		for _, side := range [][]byte{dst[:guard], dst[guard+rawSize:]} {
			require.Equal(t, bytes.Repeat([]byte{g}, guard), side, "bytes beside the output")
		}
		require.True(t, bytes.Equal(block, src[guard:guard+len(block)]), "the block was changed")
	}
	// What an error says may depend on earlier blocks; that it is one may not.
	require.Equal(t, errs[0] == nil, errs[1] == nil)
	if errs[0] == nil {
		require.True(t, bytes.Equal(got[0], got[1]), "the output depends on what is beside it or the block")
	}
	return got[0], errs[0]
}

// The sizes of both sides are known to the byte: with one byte less or more of
// either, a block is damaged.
func TestDecodeOtherSizes(t *testing.T) {
	var d oodle.Decoder
	for _, v := range readVectors(t, "testdata") {
		for name, block := range map[string][]byte{
			"one byte less":     v.block[:len(v.block)-1],
			"one byte more":     append(bytes.Clone(v.block), 0),
			"another after it":  append(bytes.Clone(v.block), v.block...),
			"half":              v.block[:len(v.block)/2],
			"the header":        v.block[:2],
			"a byte":            v.block[:1],
			"nothing":           nil,
			"without the first": v.block[1:],
		} {
			_, err := decodeGuarded(t, &d, len(v.raw), block)
			require.ErrorIs(t, err, pod.ErrCorrupt, "%s: %s", v.name, name)
		}
		if len(v.block) == 6 {
			continue // A block of one value is of any size.
		}
		// One byte less of output may go well: literals that are left are ignored.
		for _, n := range []int{0, len(v.raw) / 2, len(v.raw) + 1} {
			if n <= oodle.MaxBlock {
				_, err := decodeGuarded(t, &d, n, v.block)
				require.ErrorIs(t, err, pod.ErrCorrupt, "%s: %d bytes", v.name, n)
			}
		}
	}
}

// Every prefix of the small vectors, and many of the large ones.
func TestDecodeTruncated(t *testing.T) {
	var d oodle.Decoder
	for _, v := range readVectors(t, "testdata") {
		for n := 0; n < len(v.block); n += 1 + len(v.block)/200 {
			require.ErrorIs(t, d.Decode(make([]byte, len(v.raw)), v.block[:n]), pod.ErrCorrupt, "%s: %d bytes", v.name, n)
		}
	}
}

// A block with some bytes changed decodes to something or is an error, and the next
// block decodes as if nothing had been.
func TestDecodeDamaged(t *testing.T) {
	var d oodle.Decoder
	rng := rand.New(rand.NewPCG(1, 2))
	for _, v := range readVectors(t, "testdata") {
		for range 20 {
			block := bytes.Clone(v.block)
			for range 1 + rng.IntN(3) {
				// Mostly near the front, where the headers are.
				at := rng.IntN(len(block))
				if rng.IntN(2) == 0 {
					at %= 64
				}
				block[at] ^= byte(1 + rng.IntN(255))
			}
			if _, err := decodeGuarded(t, &d, len(v.raw), block); err != nil {
				require.True(t, pod.Damaged(err) || block[1] != v.block[1] && errorIsUnsupported(err), "%s: %v", v.name, err)
			}
		}
		got := make([]byte, len(v.raw))
		require.NoError(t, d.Decode(got, v.block), v.name)
		require.True(t, bytes.Equal(v.raw, got), v.name)
	}
}

func TestDecodeAllocatesNothing(t *testing.T) {
	var d oodle.Decoder
	for _, v := range readVectors(t, "testdata") {
		dst := make([]byte, len(v.raw))
		assert.Zero(t, testing.AllocsPerRun(5, func() {
			if err := d.Decode(dst, v.block); err != nil {
				t.Error(err)
			}
		}), v.name)
	}
}

func TestDecodersWorkSideBySide(t *testing.T) {
	vectors := readVectors(t, "testdata")
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			var d oodle.Decoder
			for j := range vectors {
				v := vectors[(i*7+j)%len(vectors)]
				got := make([]byte, len(v.raw))
				assert.NoError(t, d.Decode(got, v.block), v.name)
				assert.True(t, bytes.Equal(v.raw, got), v.name)
			}
		})
	}
	wg.Wait()
}
