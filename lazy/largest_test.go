package lazy_test

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/tracecache/lazy"
	"example.com/tracecache/pod"
)

// repeated is a buffer of 10 bytes for each 256 KiB that it decodes to.
func repeated(raw uint64) []byte {
	be := binary.BigEndian
	blocks := uint32((raw + 1<<18 - 1) >> 18)
	b := make([]byte, 64)
	be.PutUint32(b, 0xB7756362)
	b[8], b[9], b[10], b[11] = byte(pod.MethodOodle), byte(pod.CompressorMermaid), 2, 18
	be.PutUint32(b[12:], blocks)
	be.PutUint64(b[16:], raw)
	be.PutUint64(b[24:], uint64(64+10*blocks))
	for range blocks {
		b = be.AppendUint32(b, 6)
	}
	be.PutUint32(b[4:], crc32.ChecksumIEEE(b[8:]))
	for range blocks {
		b = append(b, 0x8c, 0x0a, 0x07, 0xff, 0xff, 1)
	}
	return b
}

// A small file whose sections decode to more than a 32-bit host can address is
// refused, by default and whatever the limit.
func TestLargerThanTheHost(t *testing.T) {
	if math.MaxInt > math.MaxInt32 {
		t.Skip("a host of 64 bits")
	}
	for _, raw := range []uint64{1 << 30, math.MaxInt32 - 63, math.MaxInt32} {
		section := repeated(raw)
		b := []byte("ZTAC\x01\x00\x00\x00")
		b = append(b, make([]byte, 16+5*24)...)
		for id := range pod.Section(5) {
			binary.LittleEndian.PutUint32(b[entryAt(id):], uint32(id))
			setPlace(b, id, uint64(len(b)), uint64(len(section)))
			b = append(b, section...)
		}
		opts := [][]lazy.Option{nil}
		if raw > 1<<30 {
			opts = append(opts, []lazy.Option{lazy.WithMaxSection(math.MaxInt64)})
		}
		for _, opt := range opts {
			c := openBytes(t, b, opt...)
			_, err := c.Lookup(5)
			require.ErrorIs(t, err, lazy.ErrTooLarge)
			_, err = c.Symbols()
			require.ErrorIs(t, err, lazy.ErrTooLarge)
			require.ErrorIs(t, c.Verify(t.Context()), lazy.ErrTooLarge)
		}
	}
}
