package view

import (
	"encoding/binary"
	"math"
	"runtime"
	"structs"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type rec struct {
	_ structs.HostLayout
	A uint64
	B uint32
	C uint8
	_ [3]uint8
	D float64
}

const recSize = 24

// recBytes lays out the records by hand.
func recBytes(recs ...rec) []byte {
	var b []byte
	for _, r := range recs {
		b = binary.LittleEndian.AppendUint64(b, r.A)
		b = binary.LittleEndian.AppendUint32(b, r.B)
		b = append(b, r.C, 0, 0, 0)
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(r.D))
	}
	return b
}

var recs = []rec{
	{A: 0x0102030405060708, B: 0x11121314, C: 0x21, D: 1.5},
	{A: math.MaxUint64, B: math.MaxUint32, C: 0xff, D: math.Inf(-1)},
}

func TestSliceAtEveryAlignment(t *testing.T) {
	want := recBytes(recs...)
	for off := range 16 {
		mem := MakeAligned(off + len(want) + 16)
		b := mem[off : off+len(want)]
		copy(b, want)
		got, err := Slice[rec](b)
		require.NoError(t, err)
		assert.Equal(t, recs, got, "offset %d", off)
		assert.Equal(t, len(got), cap(got))

		inPlace := unsafe.Pointer(unsafe.SliceData(got)) == unsafe.Pointer(unsafe.SliceData(b))
		aligned := uintptr(off)%unsafe.Alignof(rec{}) == 0
		assert.Equal(t, aligned && !bigEndian, inPlace, "offset %d", off)
		assert.Equal(t, aligned, Aligned[rec](b), "offset %d", off)
	}
}

// The three ways to see records give the same answer; decode is the one that a
// big-endian host takes, and works on every host.
func TestWaysAgree(t *testing.T) {
	b := recBytes(recs...)
	assert.Equal(t, recs, decode[rec](b, len(recs)))
	if !bigEndian {
		assert.Equal(t, recs, move[rec](b, len(recs)))
	}
	assert.Equal(t, b, Append(nil, recs))
	assert.Equal(t, []byte("x"), Append([]byte("x"), []rec(nil)))
}

func TestSliceSizes(t *testing.T) {
	b := recBytes(recs...)
	for n := range len(b) + 1 {
		got, err := Slice[rec](b[:n])
		if n%recSize != 0 {
			assert.ErrorIs(t, err, ErrSize)
			assert.Nil(t, got)
			continue
		}
		require.NoError(t, err)
		assert.Len(t, got, n/recSize)
	}
}

func TestNotARecord(t *testing.T) {
	assert.Panics(t, func() { _, _ = Slice[struct{ P *int }](nil) })
	assert.Panics(t, func() { _, _ = Slice[struct{}](nil) })
	assert.Panics(t, func() {
		_, _ = Slice[struct {
			A uint32
			B uint8
		}](nil)
	})
	assert.Panics(t, func() { Append(nil, []string{"a"}) })
}

func TestMake(t *testing.T) {
	sizes := []int{hugePage - 8, 2 * hugePage, 3*hugePage + 5}
	for n := range 100 {
		sizes = append(sizes, n)
	}
	for _, n := range sizes {
		a, e := MakeAligned(n), MakeEndAligned(n)
		for _, b := range [][]byte{a, e} {
			require.Len(t, b, n)
			assert.Equal(t, n, cap(b))
			for i := range b {
				b[i] = byte(i) // the race and checkptr builds see an overrun
			}
		}
		if n > 0 {
			assert.Zero(t, uintptr(unsafe.Pointer(unsafe.SliceData(a)))%8)
			assert.Zero(t, (uintptr(unsafe.Pointer(unsafe.SliceData(e)))+uintptr(n))%8)
		}
		runtime.GC()
		for _, b := range [][]byte{a, e} {
			for i := range b {
				if b[i] != byte(i) {
					require.Fail(t, "somebody else has the memory", "byte %d of %d", i, n)
				}
			}
		}

		recs := Make[rec](n / recSize)
		assert.Len(t, recs, n/recSize)
		assert.Equal(t, n/recSize, cap(recs))
		for i := range recs {
			if recs[i] != (rec{}) {
				require.Fail(t, "not zero", "record %d of %d", i, n)
			}
		}
	}
}

func TestString(t *testing.T) {
	b := []byte("hello")
	s := String(b[1:3])
	assert.Equal(t, "el", s)
	assert.Equal(t, unsafe.SliceData(b[1:]), unsafe.StringData(s))
	assert.Equal(t, "", String(nil))
	assert.Equal(t, "", String(b[5:]))
}

func TestPrefaultChangesNothing(t *testing.T) {
	b := make([]byte, 300_000)
	for i := range b {
		b[i] = byte(i)
	}
	for _, part := range [][]byte{nil, b[:1], b[5:4096], b[4090:], b} {
		Prefault(part)
	}
	for i := range b {
		if b[i] != byte(i) {
			require.Fail(t, "changed", "byte %d", i)
		}
	}
	Prefault(MakeAligned(1 << 20))
}
