package oodle

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"example.com/tracecache/pod"
	"github.com/pierrec/lz4/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	allLevels      = []pod.Level{pod.LevelSuperFast, pod.LevelVeryFast, pod.LevelFast, pod.LevelNormal}
	allCompressors = []pod.Compressor{pod.CompressorSelkie, pod.CompressorMermaid}
)

// trip is an encoder and a decoder, used over and over.
type trip struct {
	e Encoder
	d Decoder
}

// all encodes raw in every way, and asks two decoders.
func (p *trip) all(t *testing.T, raw []byte) {
	t.Helper()
	for _, c := range allCompressors {
		for _, l := range allLevels {
			p.one(t, raw, c, l)
		}
	}
}

func (p *trip) one(t *testing.T, raw []byte, c pod.Compressor, l pod.Level) []byte {
	t.Helper()
	prefix := []byte("before")
	block := p.e.Encode(prefix, raw, c, l)
	require.Equal(t, "before", string(block[:len(prefix)]))
	block = block[len(prefix):]
	require.LessOrEqual(t, len(block), len(raw)+2, "compressor %v, level %v", c, l)
	var check checker
	got, err := check.check(block, len(raw))
	require.NoError(t, err, "compressor %v, level %v", c, l)
	require.True(t, bytes.Equal(raw, got), "compressor %v, level %v: other bytes", c, l)
	again := make([]byte, len(raw))
	require.NoError(t, p.d.Decode(again, block))
	require.True(t, bytes.Equal(raw, again), "compressor %v, level %v: the decoder made other bytes", c, l)
	if c == pod.CompressorSelkie {
		require.Zero(t, check.huffman+check.deltas+check.splitNear)
	}
	return block
}

func TestEncodeSmallSizes(t *testing.T) {
	var p trip
	for _, s := range shapes {
		t.Run(s.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			for n := range 601 {
				p.all(t, s.make(r, n)[:n])
			}
		})
	}
}

func TestEncodePeriods(t *testing.T) {
	var p trip
	r := rand.New(rand.NewPCG(3, 4))
	for period := 1; period <= 40; period++ {
		for _, n := range []int{20, 64, 65, 100, 255, 600, 5000, 1<<16 - 1, 1 << 16, 1<<16 + 1, 1<<17 + period} {
			b := periodic(r, n, period)
			p.all(t, b)
			if n > 300 {
				block := p.e.Encode(nil, b, pod.CompressorSelkie, pod.LevelSuperFast)
				assert.Less(t, len(block), 150, "period %d, %d bytes", period, n)
			}
		}
	}
}

func TestEncodeAroundLimits(t *testing.T) {
	var p trip
	for _, s := range shapes {
		t.Run(s.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(5, 6))
			for _, size := range []int{1 << 16, 1 << 17, 3 << 16, 1 << 18} {
				for _, d := range []int{-17, -1, 0, 1, 7, 20, 64, 65, 80} {
					n := min(size+d, MaxBlock)
					b := s.make(r, n)
					l := allLevels[r.IntN(len(allLevels))]
					c := allCompressors[r.IntN(2)]
					p.one(t, b[:min(n, len(b))], c, l)
				}
			}
		})
	}
}

// What the encoder can do turns up in data made for it.
func TestEncodeUsesTheFormat(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 16))
	var all checker
	use := func(raw []byte, l pod.Level) {
		var p trip
		block := p.one(t, raw, pod.CompressorMermaid, l)
		_, err := all.check(block, len(raw))
		require.NoError(t, err)
	}
	use(symbolRecords(r, 100_000), pod.LevelVeryFast)
	use(append(text(r, 1<<17), noise(r, 1<<17)...), pod.LevelFast)
	use(append(text(r, 1<<17), make([]byte, 1<<17)...), pod.LevelFast)

	// Pieces of 16 bytes of what stands 64 KiB and more before: more than 4095
	// far distances in one sub-chunk.
	b := noise(r, 1<<17)
	for _, i := range r.Perm(1 << 12) {
		b = append(b, b[16*i:][:16]...)
	}
	use(b, pod.LevelFast)
	assert.GreaterOrEqual(t, all.far, 4000)

	few := make([]byte, 200)
	for i := range few {
		few[i] = byte(r.IntN(3)) * 7
	}
	var h huffWriter
	var plan arrayPlan
	plan.plan(few, &h)
	all.in = plan.append(nil, few)
	all.array(len(few))

	assert.Positive(t, all.deltas, "differences")
	assert.Positive(t, all.huffman, "code tables")
	assert.Positive(t, all.sparse, "sparse tables")
	assert.Positive(t, all.fills, "arrays of one byte")
	assert.Positive(t, all.stored, "stored chunks")
	assert.Positive(t, all.splitNear, "near distances in two arrays")
}

// A symbol table is ascending addresses and numbers. What is not the same as in
// the record before, two bytes or three of 16, should take less than a byte each.
func TestEncodeRecords(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 18))
	raw := symbolRecords(r, 1<<18)
	var p trip
	for _, l := range allLevels {
		assert.Less(t, len(p.one(t, raw, pod.CompressorMermaid, l)), len(raw)/16*2, "%v", l)
		assert.Less(t, len(p.one(t, raw, pod.CompressorSelkie, l)), len(raw)/16*6, "%v", l)
	}
}

// Tables of symbols and of names, as the container cuts them into blocks or shorter.
func TestEncodeIsSmallerThanLZ4(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 24))
	var e Encoder
	var c lz4.Compressor
	for _, s := range shapes {
		if s.name != "records" && s.name != "text" {
			continue
		}
		for _, n := range []int{4 << 10, 5000, 16 << 10, 50_000, 1 << 16, 1 << 17, 200_000, 1 << 18} {
			raw := s.make(r, n)
			dst := make([]byte, lz4.CompressBlockBound(n))
			other, err := c.CompressBlock(raw, dst)
			require.NoError(t, err)
			least := other
			for _, l := range allLevels {
				got := len(e.Encode(nil, raw, pod.CompressorMermaid, l))
				assert.Less(t, got, other*85/100, "%s of %d, %v", s.name, n, l)
				assert.LessOrEqual(t, got, least+least/50, "%s of %d, %v: larger than the level below", s.name, n, l)
				least = min(least, got)
				if l > pod.LevelSuperFast {
					assert.LessOrEqual(t, len(e.Encode(nil, raw, pod.CompressorSelkie, l)), other, "%s of %d, Selkie %v", s.name, n, l)
				}
			}
		}
	}
}

// The parses of a chunk are compared by sizes known before they are written.
func TestPlannedSize(t *testing.T) {
	r := rand.New(rand.NewPCG(25, 26))
	var e Encoder
	for _, s := range shapes {
		for _, n := range []int{100, 70_000, 1 << 17} {
			for _, c := range allCompressors {
				e.compressor, e.level = c, pod.LevelFast
				e.match.reset(s.make(r, n)[:n], c, pod.LevelFast)
				tables := e.parse(0, n)
				assert.Len(t, tables.append(nil), tables.size, "%s of %d, %v", s.name, n, c)
			}
		}
	}
}

func TestFindStride(t *testing.T) {
	r := rand.New(rand.NewPCG(19, 20))
	assert.Equal(t, 16, findStride(symbolRecords(r, 1<<16)))
	assert.Equal(t, 0, findStride(text(r, 1<<16)))
	assert.Equal(t, 0, findStride(noise(r, 1<<16)))
	for _, size := range strides {
		b := make([]byte, 1<<16)
		for i := range b {
			b[i] = byte(i % size * 37)
			if i%size == 3 {
				b[i] = byte(r.Uint32())
			}
		}
		assert.Equal(t, size, findStride(b))
	}
}

// The bytes depend on nothing that was encoded before, and nothing is allocated
// for them but the result.
func TestEncoderReuse(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	var used Encoder
	dst := make([]byte, 0, 2*MaxBlock)
	for _, s := range shapes {
		for _, n := range []int{MaxBlock, 100, 70_000} {
			raw := s.make(r, n)[:n]
			for _, c := range allCompressors {
				for _, l := range allLevels {
					var fresh Encoder
					want := fresh.Encode(nil, raw, c, l)
					require.True(t, bytes.Equal(want, used.Encode(dst, raw, c, l)), "%s %v %v", s.name, c, l)
				}
			}
		}
	}
	for _, raw := range [][]byte{mixture(r, MaxBlock), noise(r, MaxBlock)} {
		dst := make([]byte, 0, len(raw)+11)
		for _, l := range allLevels {
			used.Encode(dst, raw, pod.CompressorMermaid, l)
			assert.Zero(t, testing.AllocsPerRun(2, func() { used.Encode(dst, raw, pod.CompressorMermaid, l) }), "%v", l)
		}
	}
}

func TestEncodeEmptyAndUniform(t *testing.T) {
	var e Encoder
	assert.Equal(t, "x", string(e.Encode([]byte("x"), nil, pod.CompressorMermaid, pod.LevelNormal)))
	assert.Equal(t, []byte{0x8C, 0x0A, 0x07, 0xFF, 0xFF, 9}, e.Encode(nil, bytes.Repeat([]byte{9}, 100), pod.CompressorSelkie, pod.LevelFast))
	assert.Equal(t, []byte{0xCC, 0x0A, 1, 2, 3}, e.Encode(nil, []byte{1, 2, 3}, pod.CompressorMermaid, pod.LevelFast))
}

func TestEncodeRefusesMisuse(t *testing.T) {
	var e Encoder
	for want, call := range map[string]func(){
		"oodle: expected a block of at most 262144 bytes, got 262145": func() {
			e.Encode(nil, make([]byte, MaxBlock+1), pod.CompressorMermaid, pod.LevelFast)
		},
		"oodle: expected compressor Selkie or Mermaid, got Kraken": func() {
			e.Encode(nil, []byte("a"), pod.CompressorKraken, pod.LevelFast)
		},
		"oodle: expected level SuperFast to Normal, got Optimal1": func() {
			e.Encode(nil, []byte("a"), pod.CompressorMermaid, pod.LevelNormal+1)
		},
		"oodle: expected level SuperFast to Normal, got None": func() {
			e.Encode(nil, []byte("a"), pod.CompressorMermaid, 0)
		},
	} {
		assert.PanicsWithValue(t, want, call)
	}
}
