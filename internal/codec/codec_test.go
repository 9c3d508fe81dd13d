package codec_test

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/tracecache/internal/codec"
	"example.com/tracecache/pod"
)

// names is n bytes that look like the names of functions. It is the same on
// every host.
func names(n int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	var b []byte
	for len(b) < n {
		b = fmt.Appendf(b, "runtime.(*mheap).alloc%d.func%d\x00", r.IntN(500), r.IntN(20))
	}
	return b[:n:n]
}

// noise is n bytes that do not compress.
func noise(n int) []byte {
	b := make([]byte, n)
	r := rand.New(rand.NewPCG(3, 4))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func mustCodec(t testing.TB, m pod.Method) codec.Codec {
	t.Helper()
	c, err := codec.ForMethod(m)
	require.NoError(t, err)
	return c
}

func TestForMethodNamesWhatIsUnknown(t *testing.T) {
	for m, want := range map[pod.Method]string{
		1:   "unsupported: compression method(1)",
		77:  "unsupported: compression method(77)",
		255: "unsupported: compression method(255)",
	} {
		c, err := codec.ForMethod(m)
		assert.Nil(t, c)
		require.ErrorIs(t, err, pod.ErrUnsupported)
		assert.EqualError(t, err, want)
	}
}

func TestCheckLevel(t *testing.T) {
	for _, test := range []struct {
		method pod.Method
		most   int
		want   string
	}{
		{pod.MethodNone, 0, "compression level: expected 0 to 0 for none, got 1"},
		{pod.MethodLZ4, 9, "compression level: expected 0 to 9 for lz4, got 10"},
		{pod.MethodZstd, 22, "compression level: expected 0 to 22 for zstd, got 23"},
		{pod.MethodOodle, 4, "compression level: expected 0 to 4 for oodle, got 5"},
	} {
		c := mustCodec(t, test.method)
		for level := range test.most + 1 {
			assert.NoError(t, c.CheckLevel(level))
		}
		assert.EqualError(t, c.CheckLevel(test.most+1), test.want)
		assert.Error(t, c.CheckLevel(-1))
	}
}

// decodeLZ4 is the LZ4 block format written out.
func decodeLZ4(src []byte) (out []byte, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("source too short")
		}
	}()
	length := func(n int) int {
		if n == 15 {
			for more := byte(255); more == 255; {
				more, src = src[0], src[1:]
				n += int(more)
			}
		}
		return n
	}
	for {
		token := int(src[0])
		src = src[1:]
		n := length(token >> 4)
		out, src = append(out, src[:n]...), src[n:]
		if len(src) == 0 {
			return out, nil
		}
		back := int(src[0]) | int(src[1])<<8
		src = src[2:]
		for range length(token&15) + 4 {
			out = append(out, out[len(out)-back])
		}
	}
}

func decodeZstd(src []byte) ([]byte, error) {
	d, err := zstd.NewReader(bytes.NewReader(src), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	var out bytes.Buffer
	_, err = out.ReadFrom(d)
	return out.Bytes(), err
}

func TestRoundTrip(t *testing.T) {
	independent := map[pod.Method]func([]byte) ([]byte, error){
		pod.MethodLZ4: decodeLZ4, pod.MethodZstd: decodeZstd,
	}
	levels := map[pod.Method][]int{pod.MethodLZ4: {0, 1, 5, 9}, pod.MethodZstd: {0, 1, 3, 7, 19, 22}}
	sizes := []int{1, 2, 15, 100, 1023, 1024, 4096, 1 << 16, 1<<17 - 1, 1<<17 + 1, 1 << 18, 1<<18 + 1, 1<<20 + 7}
	if raceEnabled {
		sizes = sizes[:len(sizes)-3]
	}
	for method, decode := range independent {
		c := mustCodec(t, method)
		for _, level := range levels[method] {
			for _, size := range sizes {
				for kind, src := range map[string][]byte{
					"names": names(size), "noise": noise(size), "zeros": make([]byte, size),
				} {
					at := fmt.Sprintf("%v level %d, %d bytes of %s", method, level, size, kind)
					dst := make([]byte, size)
					n := c.Encode(dst, src, level)
					require.Less(t, n, size, at)
					if kind != "noise" && size > 100 {
						require.NotZero(t, n, at)
					}
					if n == 0 {
						continue
					}
					want, err := decode(dst[:n])
					require.NoError(t, err, at)
					require.True(t, bytes.Equal(src, want), at)

					got := make([]byte, size)
					require.NoError(t, c.Decode(got, dst[:n]), at)
					require.True(t, bytes.Equal(src, got), at)
					require.LessOrEqual(t, int64(size), c.MaxRaw(int64(n)), at)
				}
			}
		}
	}
}

func TestEncodeKeepsToItsDestination(t *testing.T) {
	src := names(10_000)
	for _, m := range []pod.Method{pod.MethodNone, pod.MethodLZ4, pod.MethodZstd, pod.MethodOodle} {
		c := mustCodec(t, m)
		for _, level := range []int{0, 4, 9} {
			if c.CheckLevel(level) != nil {
				continue
			}
			whole := make([]byte, 10_000)
			need := c.Encode(whole, src, level)
			for _, room := range []int{0, 1, 10, need - 1, need} {
				if room < 0 {
					continue
				}
				buf := bytes.Repeat([]byte{0xAA}, room+100)
				n := c.Encode(buf[:room], src, level)
				assert.Equal(t, bytes.Repeat([]byte{0xAA}, 100), buf[room:], "%v: written behind the end", m)
				if n != 0 {
					assert.Equal(t, whole[:need], buf[:n])
				}
			}
			assert.Zero(t, c.Encode(nil, nil, level), "%v: empty", m)
		}
	}
}

// damagedBlocks are blocks that do not decode to 1000 bytes.
func damagedBlocks(t testing.TB) map[pod.Method]map[string][]byte {
	src := names(1000)
	lz, zs := make([]byte, 1000), make([]byte, 1000)
	lz = lz[:mustCodec(t, pod.MethodLZ4).Encode(lz, src, 0)]
	zs = zs[:mustCodec(t, pod.MethodZstd).Encode(zs, src, 0)]
	oo := make([]byte, 1000)
	oo = oo[:mustCodec(t, pod.MethodOodle).Encode(oo, src, 0)]
	half := make([]byte, 500)
	half = half[:mustCodec(t, pod.MethodZstd).Encode(half, src[:500], 0)]
	skippable := []byte{0x50, 0x2A, 0x4D, 0x18, 4, 0, 0, 0, 1, 2, 3, 4}
	// A frame without content size: one block of 1001 times the byte 7.
	long := []byte{0x28, 0xB5, 0x2F, 0xFD, 0x00, 0x08, 1001<<3&0xFF | 3, 1001 << 3 >> 8, 0, 7}
	return map[pod.Method]map[string][]byte{
		pod.MethodNone: {"short": src[:999], "long": names(1001), "empty": nil},
		pod.MethodLZ4: {
			"empty":          nil,
			"cut":            lz[:len(lz)-1],
			"offset 0":       {0x10, 'a', 0, 0, 0x00},
			"offset before":  {0x1F, 'a', 2, 0, 0xFF, 0xFF, 0xFF, 0},
			"too long":       append([]byte{0x1F, 'a', 1, 0}, bytes.Repeat([]byte{255}, 10)...),
			"only a literal": {0x10, 'a'},
			"two blocks":     append(bytes.Clone(lz), lz...),
		},
		pod.MethodZstd: {
			"empty":           nil,
			"cut":             zs[:len(zs)-1],
			"too short":       half,
			"too long":        long,
			"two frames":      append(bytes.Clone(half), half...),
			"trailing byte":   append(bytes.Clone(zs), 0),
			"skippable first": append(bytes.Clone(skippable), zs...),
			"skippable last":  append(bytes.Clone(zs), skippable...),
			"only skippable":  skippable,
			"dictionary":      {0x28, 0xB5, 0x2F, 0xFD, 0x21, 1, 0, 1, 0, 0},
			"window 3 TiB":    {0x28, 0xB5, 0x2F, 0xFD, 0x00, 0xFF, 0x0B, 0x1F, 0x00, 7},
			"reserved block":  {0x28, 0xB5, 0x2F, 0xFD, 0x00, 0x08, 0x47, 0x1F, 0x00, 7},
			"magic":           append([]byte{0}, zs[1:]...),
		},
		pod.MethodOodle: {
			"empty":         nil,
			"cut":           oo[:len(oo)-1],
			"trailing byte": append(bytes.Clone(oo), 0),
			"two blocks":    append(bytes.Clone(oo), oo...),
			"header":        append([]byte{0}, oo[1:]...),
			"unknown type":  {0x8C, 13, 7, 0xFF, 0xFF, 'x'},
			"stored":        append([]byte{0xCC, 10}, src[:999]...),
		},
	}
}

func TestDecodeDamage(t *testing.T) {
	for method, blocks := range damagedBlocks(t) {
		for name, src := range blocks {
			t.Run(fmt.Sprintf("%v/%s", method, name), func(t *testing.T) {
				buf := bytes.Repeat([]byte{0xAA}, 1100)
				err := mustCodec(t, method).Decode(buf[:1000], src)
				require.ErrorIs(t, err, pod.ErrCorrupt)
				assert.Equal(t, bytes.Repeat([]byte{0xAA}, 100), buf[1000:], "written behind the end")
			})
		}
	}
}

// TestMaxRaw holds the bounds against the densest blocks there are.
func TestMaxRaw(t *testing.T) {
	lz := append([]byte{0x1F, 'a', 1, 0}, bytes.Repeat([]byte{255}, 1000)...)
	lz = append(lz, 0, 0x00)
	raw, err := decodeLZ4(lz)
	require.NoError(t, err)
	c := mustCodec(t, pod.MethodLZ4)
	assert.LessOrEqual(t, int64(len(raw)), c.MaxRaw(int64(len(lz))))
	assert.Greater(t, int64(len(raw)), c.MaxRaw(int64(len(lz))-10))
	require.NoError(t, c.Decode(make([]byte, len(raw)), lz))

	zs := []byte{0x28, 0xB5, 0x2F, 0xFD, 0x00, 0x38}
	for range 100 {
		zs = append(zs, 0x02, 0x00, 0x10, 7) // 128 KiB of the byte 7.
	}
	zs[len(zs)-4] |= 1
	c = mustCodec(t, pod.MethodZstd)
	require.NoError(t, c.Decode(make([]byte, 100<<17), zs))
	assert.LessOrEqual(t, int64(100<<17), c.MaxRaw(int64(len(zs))))
	assert.Greater(t, int64(100<<17), c.MaxRaw(int64(len(zs))-12))

	assert.Equal(t, int64(77), mustCodec(t, pod.MethodNone).MaxRaw(77))
}

// TestEncodeIsTheSameEverywhere compares with what was computed on amd64: a
// cache is the same bytes on every host. The sums change with the libraries'
// releases; a change here means that caches written before and after differ.
func TestEncodeIsTheSameEverywhere(t *testing.T) {
	src := append(names(1<<18), noise(5000)...)
	for _, test := range []struct {
		method pod.Method
		level  int
		want   uint32
	}{
		{pod.MethodLZ4, 0, 0x2ed5badb},
		{pod.MethodLZ4, 1, 0x3b292db3},
		{pod.MethodLZ4, 9, 0xeaa54559},
		{pod.MethodZstd, 1, 0x1c9d5883},
		{pod.MethodZstd, 3, 0xd552d1c7},
		{pod.MethodZstd, 7, 0x852674e7},
		{pod.MethodZstd, 19, 0x42d10269},
	} {
		c := mustCodec(t, test.method)
		sum := func() uint32 {
			crc := uint32(0)
			for _, size := range []int{700, 1 << 10, 1 << 16, 1 << 18, len(src)} {
				dst := make([]byte, size)
				n := c.Encode(dst, src[len(src)-size:], test.level)
				crc = crc32.Update(crc, crc32.IEEETable, dst[:n])
			}
			return crc
		}
		first := sum()
		c.Encode(make([]byte, 1<<17), names(1<<17), test.level) // History must not matter.
		assert.Equal(t, first, sum(), "%v level %d: not repeatable", test.method, test.level)
		assert.Equal(t, test.want, first, "%v level %d: %#08x", test.method, test.level, first)
	}
}

func TestDecodeAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector drops pooled memory")
	}
	src := names(1 << 18)
	for _, m := range []pod.Method{pod.MethodLZ4, pod.MethodZstd, pod.MethodOodle} {
		c := mustCodec(t, m)
		dst := make([]byte, len(src))
		stored := dst[:c.Encode(dst, src, 0)]
		got := make([]byte, len(src))
		allocs := testing.AllocsPerRun(50, func() {
			if err := c.Decode(got, stored); err != nil {
				t.Error(err)
			}
		})
		assert.Less(t, allocs, 1.0, "%v", m)
	}
}

func FuzzDecode(f *testing.F) {
	for method, blocks := range damagedBlocks(f) {
		for _, src := range blocks {
			f.Add(uint8(method), src)
		}
	}
	for _, m := range []pod.Method{pod.MethodLZ4, pod.MethodZstd, pod.MethodOodle} {
		dst := make([]byte, 1000)
		f.Add(uint8(m), dst[:mustCodec(f, m).Encode(dst, names(1000), 0)])
	}
	f.Fuzz(func(t *testing.T, method uint8, src []byte) {
		c, err := codec.ForMethod(pod.Method(method))
		if err != nil {
			return
		}
		buf := bytes.Repeat([]byte{0xAA}, 1100)
		if err := c.Decode(buf[:1000], src); err != nil {
			require.True(t, errors.Is(err, pod.ErrCorrupt) || errors.Is(err, pod.ErrUnsupported), "%v", err)
		} else {
			require.LessOrEqual(t, int64(1000), c.MaxRaw(int64(len(src))))
		}
		require.Equal(t, bytes.Repeat([]byte{0xAA}, 100), buf[1000:])
	})
}
