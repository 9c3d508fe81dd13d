package oodle

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// FuzzEncode encodes data, repeated with changes up to sizes of several chunks,
// and has two decoders give it back.
func FuzzEncode(f *testing.F) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, s := range shapes {
		for _, n := range []int{0, 5, 70, 1000, 5000} {
			f.Add(s.make(r, n)[:n], uint8(n), uint32(n))
			f.Add(s.make(r, n)[:n], uint8(18<<3+n%8), uint32(40*n))
		}
	}
	var e Encoder
	var d Decoder
	f.Fuzz(func(t *testing.T, data []byte, how uint8, size uint32) {
		raw := stretch(data, int(size%(1<<min(how>>3, 18)+1)))
		c := allCompressors[how&1]
		l := allLevels[how>>1&3]
		block := e.Encode(nil, raw, c, l)
		if len(block) > len(raw)+2 {
			t.Fatalf("%d bytes for %d", len(block), len(raw))
		}
		var check checker
		got, err := check.check(block, len(raw))
		if err != nil || !bytes.Equal(got, raw) {
			t.Fatalf("the checker: %v", err)
		}
		got = make([]byte, len(raw))
		if err := d.Decode(got, block); err != nil || !bytes.Equal(got, raw) {
			t.Fatalf("the decoder: %v", err)
		}
	})
}

// stretch is data and then, up to n bytes, changed copies of it.
func stretch(data []byte, n int) []byte {
	if len(data) == 0 || n <= len(data) {
		return data[:min(len(data), MaxBlock)]
	}
	b := make([]byte, 0, n)
	for round := 0; len(b) < n; round++ {
		for i, v := range data {
			if round%3 == 2 && i%7 == round%5 {
				v += byte(round)
			}
			b = append(b, v)
		}
	}
	return b[:n]
}
