package oodle

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
)

// shapes are kinds of data, each of any length.
var shapes = []struct {
	name string
	make func(r *rand.Rand, n int) []byte
}{
	{"zeros", func(_ *rand.Rand, n int) []byte { return make([]byte, n) }},
	{"noise", noise},
	{"few", func(r *rand.Rand, n int) []byte {
		b := noise(r, n)
		for i := range b {
			b[i] &= 3
		}
		return b
	}},
	{"text", text},
	{"records", func(r *rand.Rand, n int) []byte { return symbolRecords(r, n) }},
	{"packed", packed},
	{"halves", func(r *rand.Rand, n int) []byte {
		return append(text(r, n/2), noise(r, n-n/2)...)
	}},
	{"twice", func(r *rand.Rand, n int) []byte {
		b := noise(r, (n+1)/2)
		return append(b, b...)[:n]
	}},
	{"mixture", mixture},
}

func noise(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// packed is bytes that are compressed already.
func packed(r *rand.Rand, n int) []byte {
	var b bytes.Buffer
	for b.Len() < n {
		w, _ := flate.NewWriter(&b, flate.BestSpeed)
		_, _ = w.Write(text(r, 8*n+100))
		_ = w.Close()
	}
	return b.Bytes()[:n:n]
}

func text(r *rand.Rand, n int) []byte {
	var b []byte
	for len(b) < n {
		b = fmt.Appendf(b, "runtime.(*mheap).alloc%d.func%d\x00", r.IntN(500), r.IntN(20))
	}
	return b[:n:n]
}

// symbolRecords is a table of ascending addresses with numbers beside them.
func symbolRecords(r *rand.Rand, n int) []byte {
	var b []byte
	address := uint64(0x401000)
	for i := uint32(0); len(b) < n; i++ {
		b = binary.LittleEndian.AppendUint64(b, address)
		b = binary.LittleEndian.AppendUint64(b, uint64(i))
		address += 32 * uint64(1+r.IntN(30))
	}
	return b[:n:n]
}

// mixture is pieces of the other shapes, repetitions of all periods, and copies of
// what stands somewhere before.
func mixture(r *rand.Rand, n int) []byte {
	var b []byte
	for len(b) < n {
		k := 1 + r.IntN(1<<r.IntN(14))
		switch r.IntN(6) {
		case 0:
			b = append(b, noise(r, k)...)
		case 1:
			b = append(b, text(r, k)...)
		case 2:
			b = append(b, symbolRecords(r, k)...)
		case 3:
			b = append(b, periodic(r, k, 1+r.IntN(40))...)
		default:
			if at := r.IntN(len(b) + 1); at < len(b) {
				b = append(b, b[at:min(at+k, len(b))]...)
			}
		}
	}
	return b[:n:n]
}

func periodic(r *rand.Rand, n, period int) []byte {
	b := noise(r, min(n, period))
	for len(b) < n {
		b = append(b, b[len(b)-period])
	}
	return b
}
