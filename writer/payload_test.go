package writer

import (
	"encoding/binary"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPayloadIsReadAnywhere compares every range of a small string table, and
// some of one of several chunks, with the bytes written out.
func TestPayloadIsReadAnywhere(t *testing.T) {
	for _, n := range []int{0, 1, 7, 3*chunkStrings + 5} {
		in := newInterner(false, formatLimits)
		var offsets, packed []byte
		for i := range n {
			s := strings.Repeat(string(rune('a'+i%26)), i)[:min(i, 3+i%5)]
			if i > 0 {
				s += string(rune(0x4E00 + i)) // None twice; one is empty.
			}
			_, err := in.intern(s, in.hash(s), place{})
			require.NoError(t, err)
			offsets = binary.LittleEndian.AppendUint32(offsets, uint32(len(packed)))
			packed = append(append(packed, s...), 0)
		}
		want := binary.LittleEndian.AppendUint32(nil, uint32(n))
		want = append(append(want, offsets...), packed...)
		p, err := in.payload()
		require.NoError(t, err)
		r := p.reader()
		require.Equal(t, int64(len(want)), r.Size())

		check := func(off, size int) {
			got := make([]byte, size)
			k, err := p.ReadAt(got, int64(off))
			if off+size > len(want) {
				require.Equal(t, io.EOF, err)
			} else {
				require.NoError(t, err)
			}
			require.Equal(t, min(size, len(want)-off), k)
			require.Equal(t, string(want[off:off+k]), string(got[:k]))
		}
		if len(want) < 100 {
			for off := range len(want) + 1 {
				for size := range len(want) + 2 {
					check(off, size)
				}
			}
			require.NoError(t, iotest.TestReader(r, want))
			continue
		}
		rng := rand.New(rand.NewPCG(1, uint64(n)))
		for range 2000 {
			check(rng.IntN(len(want)), rng.IntN(1<<rng.IntN(18)))
		}
	}
}

func TestRecordsPart(t *testing.T) {
	const size = 16
	var want []byte
	for i := range 20 {
		want = binary.LittleEndian.AppendUint64(want, uint64(i)*0x0101010101010101)
		want = binary.LittleEndian.AppendUint64(want, ^uint64(i))
	}
	p := payload{recordsPart(20, size, func(dst []byte, i int) {
		assert.Len(t, dst, size)
		binary.LittleEndian.PutUint64(dst, uint64(i)*0x0101010101010101)
		binary.LittleEndian.PutUint64(dst[8:], ^uint64(i))
	})}
	for off := range len(want) {
		for n := range len(want) - off {
			got := make([]byte, n)
			_, err := p.ReadAt(got, int64(off))
			require.NoError(t, err)
			require.Equal(t, want[off:off+n], got)
		}
	}
}
