package container_test

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/tracecache/internal/container"
	"example.com/tracecache/pod"
)

// decodeAll opens b and decodes every block, checking that the blocks and their
// stored bytes follow one another without a gap.
func decodeAll(b []byte) ([]byte, error) {
	buf, err := container.Open(bytes.NewReader(b), int64(len(b)), math.MaxInt64)
	if err != nil {
		return nil, err
	}
	var raw []byte
	stored := int64(64)
	if buf.Header().Method != pod.MethodNone {
		stored += 4 * int64(buf.NumBlocks())
	}
	for i := range buf.NumBlocks() {
		off, n := buf.RawRange(i)
		storedOff, storedSize := buf.StoredRange(i)
		if off != int64(len(raw)) || storedOff != stored {
			return nil, fmt.Errorf("block %d is at %d and %d, not at %d and %d", i, off, storedOff, len(raw), stored)
		}
		stored += storedSize
		raw = append(raw, make([]byte, n)...)
		if err := buf.DecodeBlock(i, raw[off:]); err != nil {
			return nil, err
		}
	}
	if int64(len(raw)) != buf.RawSize() || stored != int64(len(b)) {
		return nil, fmt.Errorf("%d and %d bytes, not %d and %d", len(raw), stored, buf.RawSize(), len(b))
	}
	return raw, buf.CheckHash(raw)
}

func TestReadForeignBuffers(t *testing.T) {
	for _, method := range methods {
		for _, exponent := range []byte{10, 12, 16, 18, 20, 30} {
			for _, size := range []int{0, 1, 1023, 1024, 1025, 5000, 1<<18 - 1, 1 << 18, 1<<18 + 1, 600_000} {
				if method != pod.MethodNone && exponent < 16 && size > 10_000 {
					continue
				}
				raw := mixed(size)
				got, err := decodeAll(newBuild(t, byte(method), exponent, raw).bytes())
				require.NoError(t, err, "%v exponent %d size %d", method, exponent, size)
				require.True(t, bytes.Equal(raw, got))
			}
		}
	}
}

func TestHashOf(t *testing.T) {
	// The first vectors of the BLAKE3 reference: bytes 0, 1, … 250, 0, 1, …
	in := make([]byte, 102400)
	for i := range in {
		in[i] = byte(i % 251)
	}
	for n, want := range map[int]string{
		0:      "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262",
		1:      "2d3adedff11b61f14c886e35afa036736dcd87a74d27b5c1510225d0f592e213",
		1024:   "42214739f095a406f3fc83deb889744ac00df831c10daa55189b5d121c855af7",
		102400: "bc3e3d41a1146b069abffad3c0d44860cf664390afce4d9661f7902e7943e085",
	} {
		assert.Equal(t, want, fmt.Sprintf("%x", container.HashOf(in[:n])), "%d bytes", n)
	}
}

func TestCheckHash(t *testing.T) {
	raw := names(1000)
	open := func(change func(*build)) *container.Buffer {
		b := newBuild(t, 4, 10, raw)
		change(b)
		file := b.bytes()
		buf, err := container.Open(bytes.NewReader(file), int64(len(file)), math.MaxInt64)
		require.NoError(t, err)
		return buf
	}
	assert.NoError(t, open(func(*build) {}).CheckHash(raw))
	short := open(func(b *build) { clear(b.hash[20:]) })
	assert.NoError(t, short.CheckHash(raw))

	for name, change := range map[string]func(*build){
		"first byte":          func(b *build) { b.hash[0] ^= 1 },
		"last byte":           func(b *build) { b.hash[31] ^= 1 },
		"short and different": func(b *build) { b.hash[19] ^= 1; clear(b.hash[20:]) },
		"19 bytes":            func(b *build) { clear(b.hash[19:]) },
		"21 bytes":            func(b *build) { clear(b.hash[21:]) },
	} {
		requireAt(t, open(change).CheckHash(raw), pod.ErrChecksum, 32, name)
	}
	requireAt(t, short.CheckHash(raw[1:]), pod.ErrChecksum, 32, "other bytes")
}

// requireAt requires an error of the package's kind at byte off.
func requireAt(t *testing.T, err, kind error, off int64, at string) {
	t.Helper()
	require.ErrorIs(t, err, kind, at)
	var e *pod.Error
	require.ErrorAs(t, err, &e, at)
	require.Equal(t, off, e.Off, "%s: %v", at, err)
	require.Equal(t, pod.SectionNone, e.Section, at)
	require.False(t, e.Decoded, at)
}

func TestOpenDamage(t *testing.T) {
	raw := mixed(3000) // Three blocks of 1 KiB.
	table := func(i int) int64 { return 64 + 4*int64(i) }
	for _, test := range []struct {
		name   string
		method byte
		damage func(*build)
		want   error
		off    int64
		text   string
	}{
		{"magic", 4, func(b *build) { b.magic++ }, pod.ErrCorrupt, 0, "expected 0xb7756362, got 0xb7756363"},
		{"crc", 4, func(b *build) { b.badCRC = true }, pod.ErrChecksum, 4, "CRC-32"},
		{"oodle, exponent 19", 4, func(b *build) { b.method, b.exponent = 3, 19 }, pod.ErrUnsupported, 11, "expected at most 18 for oodle, got 19"},
		{"oodle, exponent 30", 4, func(b *build) { b.method, b.exponent = 3, 30 }, pod.ErrUnsupported, 11, "got 30"},
		{"oodle, exponent 19, damaged", 4, func(b *build) { b.method, b.exponent, b.badCRC = 3, 19, true }, pod.ErrChecksum, 4, "CRC-32"},
		{"oodle, exponent 19, block count", 4, func(b *build) { b.method, b.exponent, b.blockCount = 3, 19, 1<<32-1 }, pod.ErrCorrupt, 12, "4294967295 block sizes"},
		{"oodle, exponent 31", 4, func(b *build) { b.method, b.exponent = 3, 31 }, pod.ErrCorrupt, 11, "expected 10 to 30, got 31"},
		{"oodle bomb", 4, func(b *build) { b.method, b.sizes[0] = 3, 5 }, pod.ErrCorrupt, table(0), "expected at most 5 from 5 bytes of oodle, got 1024"},
		{"unknown method", 4, func(b *build) { b.method = 77 }, pod.ErrUnsupported, 8, "method(77)"},
		{"unknown method, damaged", 4, func(b *build) { b.method, b.badCRC = 77, true }, pod.ErrChecksum, 4, "CRC-32"},
		{"unknown method, block count", 4, func(b *build) { b.method, b.blockCount = 77, 1<<32-1 }, pod.ErrCorrupt, 12, "4294967295 block sizes"},
		{"exponent 9", 4, func(b *build) { b.exponent = 9 }, pod.ErrCorrupt, 11, "expected 10 to 30, got 9"},
		{"exponent 31", 4, func(b *build) { b.exponent = 31 }, pod.ErrCorrupt, 11, "expected 10 to 30, got 31"},
		{"exponent 64", 4, func(b *build) { b.exponent = 64 }, pod.ErrCorrupt, 11, "got 64"},
		{"exponent 11", 4, func(b *build) { b.exponent = 11 }, pod.ErrCorrupt, 12, "expected 2 for 3000 bytes in blocks of 2048, got 3"},
		{"block count 2", 4, func(b *build) { b.blockCount = 2 }, pod.ErrCorrupt, 12, "expected 3 for 3000 bytes in blocks of 1024, got 2"},
		{"block count 0", 4, func(b *build) { b.blockCount = 0 }, pod.ErrCorrupt, 12, "got 0"},
		{"raw size 0", 4, func(b *build) { b.rawSize = 0 }, pod.ErrCorrupt, 12, "expected 0"},
		{"raw size 2^64-1", 4, func(b *build) { b.rawSize = 1<<64 - 1 }, pod.ErrCorrupt, 12, "expected 18014398509481984 for"},
		{"raw size wraps the count", 4, func(b *build) { b.rawSize = 1<<42 + 3000 }, pod.ErrCorrupt, 12, "expected 4294967299 for"},
		{"table beyond the end", 4, func(b *build) { b.rawSize, b.blockCount = 1<<42-1, 1<<32-1; b.rawSize -= 1024 }, pod.ErrCorrupt, 12, "4294967295 block sizes: expected 17179869244 bytes"},
		{"total size", 4, func(b *build) { b.totalSize++ }, pod.ErrCorrupt, 24, "compressed size: expected"},
		{"total size 0", 4, func(b *build) { b.totalSize = 0 }, pod.ErrCorrupt, 24, "got 0"},
		{"total size 2^64-1", 4, func(b *build) { b.totalSize = 1<<64 - 1 }, pod.ErrCorrupt, 24, "got 18446744073709551615"},
		{"stored size 0", 4, func(b *build) { b.sizes[1] = 0 }, pod.ErrCorrupt, table(1), "expected 1 to 1024, got 0"},
		{"stored size above raw", 4, func(b *build) { b.sizes[0] = 1025 }, pod.ErrCorrupt, table(0), "expected 1 to 1024, got 1025"},
		{"last stored size above raw", 4, func(b *build) { b.sizes[2] = 953 }, pod.ErrCorrupt, table(2), "expected 1 to 952, got 953"},
		{"stored size 2^32-1", 4, func(b *build) { b.sizes[2] = 1<<32 - 1 }, pod.ErrCorrupt, table(2), "got 4294967295"},
		{"sum too large", 4, func(b *build) { b.sizes[0]++ }, pod.ErrCorrupt, 24, "as the sum of header and blocks"},
		{"sum too small", 4, func(b *build) { b.sizes[0]-- }, pod.ErrCorrupt, 24, "as the sum of header and blocks"},
		{"lz4 bomb", 4, func(b *build) { b.sizes[0] = 4 }, pod.ErrCorrupt, table(0), "expected at most 1020 from 4 bytes of lz4, got 1024"},
		{"no block sizes", 4, func(b *build) { b.sizes, b.blocks = nil, nil; b.totalSize = 64 }, pod.ErrCorrupt, 12, "expected 76 bytes, got 64"},
		{"none: compressor", 0, func(b *build) { b.compressor = 1 }, pod.ErrCorrupt, 9, "expected 0 for method 0, got 1"},
		{"none: level", 0, func(b *build) { b.level = 0xFF }, pod.ErrCorrupt, 10, "got 255"},
		{"none: exponent", 0, func(b *build) { b.exponent = 18 }, pod.ErrCorrupt, 11, "got 18"},
		{"none: block count", 0, func(b *build) { b.blockCount = 0 }, pod.ErrCorrupt, 12, "expected 1 for method 0, got 0"},
		{"none: raw size", 0, func(b *build) { b.rawSize++ }, pod.ErrCorrupt, 16, "expected 3000 for method 0 in 3064 bytes, got 3001"},
		{"none: raw size 2^64-64", 0, func(b *build) { b.rawSize = 1<<64 - 64 }, pod.ErrCorrupt, 16, "got 18446744073709551552"},
		{"none: total size", 0, func(b *build) { b.totalSize-- }, pod.ErrCorrupt, 24, "expected 3064, got 3063"},
		{"none: crc", 0, func(b *build) { b.badCRC = true }, pod.ErrChecksum, 4, "CRC-32"},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBuild(t, test.method, 10, raw)
			test.damage(b)
			file := b.bytes()
			buf, err := container.Open(bytes.NewReader(file), int64(len(file)), math.MaxInt64)
			assert.Nil(t, buf)
			requireAt(t, err, test.want, test.off, test.name)
			assert.Contains(t, err.Error(), test.text)
		})
	}
}

func TestOpenZstdBomb(t *testing.T) {
	b := newBuild(t, 0x5A, 30, names(2<<17))
	b.blocks[0] = b.blocks[0][:7]
	b.sizes[0], b.totalSize = 7, 64+4+7
	file := b.bytes()
	_, err := container.Open(bytes.NewReader(file), int64(len(file)), math.MaxInt64)
	require.NoError(t, err, "7 bytes can be two blocks of 128 KiB")
	b.rawSize++
	file = b.bytes()
	_, err = container.Open(bytes.NewReader(file), int64(len(file)), math.MaxInt64)
	requireAt(t, err, pod.ErrCorrupt, 64, "bomb")
	assert.Contains(t, err.Error(), "expected at most 262144 from 7 bytes of zstd, got 262145")
}

func TestOpenSmallSizes(t *testing.T) {
	file := newBuild(t, 0, 0, nil).bytes()
	for _, size := range []int64{-1, 0, 1, 63} {
		_, err := container.Open(bytes.NewReader(file), size, math.MaxInt64)
		requireAt(t, err, pod.ErrCorrupt, 0, fmt.Sprint(size))
	}
}

// TestReaderThatEnds cuts a buffer everywhere while its size is still stated.
func TestReaderThatEnds(t *testing.T) {
	for _, method := range methods {
		file := newBuild(t, byte(method), 10, mixed(3000)).bytes()
		for n := range file {
			buf, err := container.Open(bytes.NewReader(file[:n]), int64(len(file)), math.MaxInt64)
			for i := 0; err == nil && i < buf.NumBlocks(); i++ {
				_, size := buf.RawRange(i)
				err = buf.DecodeBlock(i, make([]byte, size))
			}
			require.ErrorIs(t, err, pod.ErrTruncated, "%v cut at %d", method, n)
		}
	}
}

// failing is a reader that fails at and behind an offset.
type failing struct {
	io.ReaderAt
	from int64
	err  error
}

func (f failing) ReadAt(p []byte, off int64) (int, error) {
	if off >= f.from {
		return 0, f.err
	}
	return f.ReaderAt.ReadAt(p, off)
}

func TestReaderThatFails(t *testing.T) {
	broken := errors.New("broken cable")
	closed := fmt.Errorf("%w, no matter", pod.ErrClosed)
	file := newBuild(t, 4, 10, mixed(3000)).bytes()
	for _, from := range []int64{0, 64, 76} {
		for _, cause := range []error{broken, closed} {
			r := failing{bytes.NewReader(file), from, cause}
			buf, err := container.Open(r, int64(len(file)), math.MaxInt64)
			if from == 76 {
				require.NoError(t, err)
				err = buf.DecodeBlock(0, make([]byte, 1024))
			}
			requireAt(t, err, cause, from, fmt.Sprint(from))
			assert.Equal(t, cause == broken, errors.Is(err, pod.ErrIO), "%v", err)
		}
	}
}

func TestDecodeBlockDamage(t *testing.T) {
	raw := mixed(3000) // The middle block does not compress.
	for _, method := range methods {
		b := newBuild(t, byte(method), 10, raw)
		file := b.bytes()
		sums := checksums(b)
		for i := 64 + 4*len(b.sizes); i < len(file); i++ {
			damaged := bytes.Clone(file)
			damaged[i] ^= 0x10
			buf, err := container.Open(bytes.NewReader(damaged), int64(len(file)), math.MaxInt64)
			require.NoError(t, err)
			require.NoError(t, buf.SetChecksums(sums))
			for block := range buf.NumBlocks() {
				off, n := buf.StoredRange(block)
				_, size := buf.RawRange(block)
				err := buf.DecodeBlock(block, make([]byte, size))
				if off <= int64(i) && int64(i) < off+n {
					requireAt(t, err, pod.ErrChecksum, off, fmt.Sprint(method, i))
				} else {
					require.NoError(t, err, "another block")
				}
			}
		}
	}
}

// checksums are the CRC-32C of what the format calls the stored blocks.
func checksums(b *build) []uint32 {
	var sums []uint32
	for _, block := range b.blocks {
		for len(block) > 0 {
			n := len(block)
			if b.method == 0 {
				n = min(n, 1<<18)
			}
			sums = append(sums, crc32.Checksum(block[:n], crc32.MakeTable(crc32.Castagnoli)))
			block = block[n:]
		}
	}
	return sums
}

func TestUndecodableBlock(t *testing.T) {
	for _, method := range []byte{4, 0x5A} {
		b := newBuild(t, method, 10, names(3000))
		b.blocks[1] = bytes.Repeat([]byte{0xFF}, len(b.blocks[1]))
		file := b.bytes()
		buf, err := container.Open(bytes.NewReader(file), int64(len(file)), math.MaxInt64)
		require.NoError(t, err)
		off, _ := buf.StoredRange(1)
		err = buf.DecodeBlock(1, make([]byte, 1024))
		requireAt(t, err, pod.ErrCorrupt, off, "block 1")
		assert.Contains(t, err.Error(), "block 1: ")
		assert.NoError(t, buf.DecodeBlock(2, make([]byte, 3000-2048)))
	}
}

func TestDecodeBlockMisuse(t *testing.T) {
	file := newBuild(t, 4, 10, names(3000)).bytes()
	buf, err := container.Open(bytes.NewReader(file), int64(len(file)), math.MaxInt64)
	require.NoError(t, err)
	assert.EqualError(t, buf.DecodeBlock(2, make([]byte, 1024)), "decode block 2: destination of 1024 bytes for 952")
	for _, i := range []int{-1, 3} {
		assert.Panics(t, func() { buf.RawRange(i) })
		assert.Panics(t, func() { buf.StoredRange(i) })
		assert.Panics(t, func() { _ = buf.DecodeBlock(i, nil) })
	}
}

func TestChecksumTable(t *testing.T) {
	table := []byte{1, 0, 0, 0, 0xEF, 0xBE, 0xAD, 0xDE}
	crc := crc32.Checksum(table, crc32.MakeTable(crc32.Castagnoli))
	sums, err := container.ParseChecksums(table, crc)
	require.NoError(t, err)
	assert.Equal(t, []uint32{1, 0xDEADBEEF}, sums)

	out, reserved := container.AppendChecksums([]byte{9}, sums)
	assert.Equal(t, append([]byte{9}, table...), out)
	assert.Equal(t, crc, reserved)

	_, err = container.ParseChecksums(table, crc+1)
	requireAt(t, err, pod.ErrChecksum, 0, "other checksum")
	_, err = container.ParseChecksums(table[:7], crc)
	requireAt(t, err, pod.ErrCorrupt, 0, "7 bytes")

	// The CRC-32C of these four bytes and of no bytes is 0, which is stored as 1.
	for _, table := range [][]byte{nil, zeroCRC()} {
		require.Zero(t, crc32.Checksum(table, crc32.MakeTable(crc32.Castagnoli)))
		sums, err := container.ParseChecksums(table, 1)
		require.NoError(t, err)
		_, reserved := container.AppendChecksums(nil, sums)
		assert.Equal(t, uint32(1), reserved)
		_, err = container.ParseChecksums(table, 0)
		require.ErrorIs(t, err, pod.ErrChecksum)
	}

	file := newBuild(t, 4, 10, names(3000)).bytes()
	buf, err := container.Open(bytes.NewReader(file), int64(len(file)), math.MaxInt64)
	require.NoError(t, err)
	err = buf.SetChecksums(make([]uint32, 2))
	requireAt(t, err, pod.ErrCorrupt, int64(len(file)), "two sums")
	assert.Contains(t, err.Error(), "expected one for each of 3 blocks, got 2")
}

// zeroCRC is four bytes whose CRC-32C is 0.
func zeroCRC() []byte { return []byte{0xAB, 0x9B, 0xE0, 0x9B} }

func TestConcurrentDecode(t *testing.T) {
	raw := mixed(100_000)
	for _, method := range methods {
		b := newBuild(t, byte(method), 12, raw)
		file := b.bytes()
		buf, err := container.Open(bytes.NewReader(file), int64(len(file)), math.MaxInt64)
		require.NoError(t, err)
		require.NoError(t, buf.SetChecksums(checksums(b)))
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for i := range buf.NumBlocks() {
					off, n := buf.RawRange(i)
					dst := make([]byte, n)
					if assert.NoError(t, buf.DecodeBlock(i, dst)) {
						assert.True(t, bytes.Equal(raw[off:off+n], dst))
					}
				}
			})
		}
		wg.Wait()
	}
}

func TestDecodeBlockAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector drops pooled memory")
	}
	for _, method := range methods {
		file := newBuild(t, byte(method), 18, mixed(1<<18)).bytes()
		buf, err := container.Open(bytes.NewReader(file), int64(len(file)), math.MaxInt64)
		require.NoError(t, err)
		dst := make([]byte, 1<<18)
		allocs := testing.AllocsPerRun(50, func() {
			if err := buf.DecodeBlock(0, dst); err != nil {
				t.Error(err)
			}
		})
		assert.Less(t, allocs, 1.0, "%v", method)
	}
}

// What decodes to more than the limit is refused before the table is read, however
// long that is.
func TestOpenLimit(t *testing.T) {
	raw := names(5000)
	for _, method := range []byte{0, 4, 0x5A} {
		file := newBuild(t, method, 10, raw).bytes()
		size := int64(len(file))
		_, err := container.Open(bytes.NewReader(file), size, int64(len(raw)))
		require.NoError(t, err)
		// Header only: a read behind it would be short.
		_, err = container.Open(bytes.NewReader(file[:64]), size, int64(len(raw)-1))
		requireAt(t, err, pod.ErrTooLarge, 16, "above the limit")
		_, err = container.Open(bytes.NewReader(file), size, -1)
		require.ErrorIs(t, err, pod.ErrTooLarge)
	}
}
