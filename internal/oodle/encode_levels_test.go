package oodle_test

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"example.com/tracecache/internal/oodle"
	"example.com/tracecache/pod"
)

// A higher level never gives more bytes, of data too that misleads the better
// searches: records whose low bytes are noise, and noise that is no record.
func TestLevelsImprove(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	records := func(size int, noisy func(b []byte, i int)) []byte {
		b := make([]byte, oodle.MaxBlock/size*size)
		for i := 0; i < len(b); i += size {
			noisy(b[i:i+size], i/size)
		}
		return b
	}
	geometric := make([]byte, oodle.MaxBlock)
	for i := range geometric {
		for rng.IntN(3) > 0 && geometric[i] < 30 {
			geometric[i]++
		}
	}
	for name, src := range map[string][]byte{
		"low byte": records(16, func(b []byte, i int) {
			binary.LittleEndian.PutUint64(b, 0x7f0000000000+uint64(i)<<8+uint64(rng.IntN(256)))
		}),
		"heap stats": records(40, func(b []byte, i int) {
			binary.LittleEndian.PutUint32(b, uint32(i))
			for at := 8; at < 40; at += 8 {
				binary.LittleEndian.PutUint64(b[at:], uint64(rng.IntN(1<<14)))
			}
		}),
		"symbols with holes": records(16, func(b []byte, i int) {
			binary.LittleEndian.PutUint64(b, 0x401000+uint64(i)*40+uint64(rng.IntN(32)))
			if i%2 == 0 {
				binary.LittleEndian.PutUint32(b[8:], uint32(i/2))
			}
		}),
		"geometric": geometric,
	} {
		for _, c := range []pod.Compressor{pod.CompressorSelkie, pod.CompressorMermaid} {
			var e oodle.Encoder
			last := len(src) + 2
			for l := pod.LevelSuperFast; l <= pod.LevelNormal; l++ {
				n := len(e.Encode(nil, src, c, l))
				assert.LessOrEqual(t, n, last, "%s, %v %v", name, c, l)
				last = n
			}
		}
	}
}
