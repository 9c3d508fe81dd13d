package oodle_test

import (
	"bytes"
	"encoding/binary"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/tracecache/internal/oodle"
	"example.com/tracecache/pod"
)

// FuzzDecode decodes vectors with some bytes changed: no panic, nothing outside of
// the output touched, the same result whatever the decoder did before, and not
// much time. Each four bytes of change are a position and what is put there: a
// value, or, where the fourth byte is odd, the bytes of the block there 64 further.
func FuzzDecode(f *testing.F) {
	vectors := readVectors(f, "testdata")
	for i := range vectors {
		f.Add(uint8(i), uint32(len(vectors[i].raw)), []byte{})
		f.Add(uint8(i), uint32(len(vectors[i].raw)), []byte{2, 0, 0x80, 0, 9, 0, 1, 2})
		f.Add(uint8(i), uint32(len(vectors[i].raw)), []byte{20, 0, 0, 1, 40, 0, 0xFF, 0})
	}
	var used oodle.Decoder
	f.Fuzz(func(t *testing.T, n uint8, rawSize uint32, change []byte) {
		v := vectors[int(n)%len(vectors)]
		block := bytes.Clone(v.block)
		for ; len(change) >= 4; change = change[4:] {
			at := int(binary.LittleEndian.Uint16(change)) % len(block)
			block[at] = change[2]
			if change[3]&1 != 0 {
				copy(block[at:min(at+16, len(block))], block[min(at+64, len(block)):])
			}
		}
		size := len(v.raw)
		if rawSize <= oodle.MaxBlock {
			size = int(rawSize)
		}
		start := time.Now()
		got, err := decodeGuarded(t, &used, size, block)
		require.Less(t, time.Since(start), 5*time.Second)
		var fresh oodle.Decoder
		again := make([]byte, size)
		require.Equal(t, err == nil, fresh.Decode(again, block) == nil)
		if err == nil {
			require.True(t, bytes.Equal(got, again), "the output depends on the block before")
			return
		}
		if !errorIsUnsupported(err) {
			require.ErrorIs(t, err, pod.ErrCorrupt)
		}
	})
}
