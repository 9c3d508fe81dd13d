package container_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/tracecache/internal/container"
	"example.com/tracecache/pod"
)

// FuzzContainer opens any bytes and decodes what opens: no panic, and no memory
// that the bytes do not justify.
func FuzzContainer(f *testing.F) {
	for _, method := range methods {
		for _, size := range []int{0, 10, 3000} {
			f.Add(newBuild(f, byte(method), 10, mixed(size)).bytes(), true)
		}
	}
	f.Add(oodleBuild(pod.CompressorMermaid).bytes(), true)
	bomb := newBuild(f, 0x5A, 30, names(2<<17))
	f.Add(bomb.bytes(), true)
	f.Fuzz(func(t *testing.T, file []byte, fixCRC bool) {
		const limit = 8 << 20 // What a caller allows a buffer to decompress to.
		file = bytes.Clone(file)
		if count := 0; fixCRC && len(file) >= 64 { // Else almost every input ends at the CRC.
			if file[8] != 0 {
				count = int(min(uint32(len(file)), binary.BigEndian.Uint32(file[12:])))
			}
			if end := 64 + 4*count; end <= len(file) {
				binary.BigEndian.PutUint32(file[4:], crc32.ChecksumIEEE(file[8:end]))
			}
		}
		buf, err := container.Open(bytes.NewReader(file), int64(len(file)), math.MaxInt64)
		if err != nil {
			var e *pod.Error
			require.ErrorAs(t, err, &e)
			require.True(t, pod.Damaged(err) || errors.Is(err, pod.ErrUnsupported), "%v", err)
			require.Nil(t, buf)
			return
		}
		require.LessOrEqual(t, buf.RawSize(), int64(len(file))<<17, "more than stored bytes can hold")
		if buf.RawSize() > limit {
			return
		}
		var total int64
		for i := range buf.NumBlocks() {
			_, n := buf.RawRange(i)
			total += n
			if err := buf.DecodeBlock(i, make([]byte, n)); err != nil {
				require.True(t, errors.Is(err, pod.ErrCorrupt) || errors.Is(err, pod.ErrUnsupported), "%v", err)
			}
		}
		require.Equal(t, buf.RawSize(), total)
	})
}
