package container_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/stretchr/testify/require"
	"lukechampine.com/blake3"

	"example.com/tracecache/pod"
)

// build is a compressed buffer as it can be described field by field: a second
// writer that shares nothing with the package.
type build struct {
	magic      uint32
	method     byte
	compressor byte
	level      byte
	exponent   byte
	blockCount uint32
	rawSize    uint64
	totalSize  uint64
	hash       [32]byte
	sizes      []uint32
	blocks     [][]byte
	badCRC     bool
}

// newBuild describes a sound buffer with every block compressed where that is
// possible at all.
func newBuild(t testing.TB, method byte, exponent byte, raw []byte) *build {
	b := &build{magic: 0xB7756362, method: method, exponent: exponent, rawSize: uint64(len(raw)), hash: blake3.Sum256(raw)}
	if method == 0 {
		b.exponent, b.blockCount, b.blocks = 0, 1, [][]byte{raw}
		b.totalSize = uint64(64 + len(raw))
		return b
	}
	b.totalSize = 64
	for len(raw) > 0 {
		n := min(len(raw), 1<<exponent)
		block := compressIndependently(t, method, raw[:n])
		b.blocks = append(b.blocks, block)
		b.sizes = append(b.sizes, uint32(len(block)))
		b.totalSize += 4 + uint64(len(block))
		b.blockCount++
		raw = raw[n:]
	}
	return b
}

// The library's coders as it sets them up by default.
var (
	zstdWriter, _ = zstd.NewWriter(nil)
	zstdReader, _ = zstd.NewReader(nil)
)

func compressIndependently(t testing.TB, method byte, raw []byte) []byte {
	var out []byte
	switch method {
	case 4:
		out = make([]byte, lz4.CompressBlockBound(len(raw)))
		var c lz4.Compressor
		n, err := c.CompressBlock(raw, out)
		require.NoError(t, err)
		out = out[:n]
	case 0x5A:
		out = zstdWriter.EncodeAll(raw, nil)
	}
	if len(out) >= len(raw) {
		return raw
	}
	return out
}

// bytes is the described buffer.
func (b *build) bytes() []byte {
	be := binary.BigEndian
	out := be.AppendUint32(nil, b.magic)
	out = be.AppendUint32(out, 0)
	out = append(out, b.method, b.compressor, b.level, b.exponent)
	out = be.AppendUint32(out, b.blockCount)
	out = be.AppendUint64(out, b.rawSize)
	out = be.AppendUint64(out, b.totalSize)
	out = append(out, b.hash[:]...)
	for _, size := range b.sizes {
		out = be.AppendUint32(out, size)
	}
	crc := crc32.ChecksumIEEE(out[8:])
	if b.badCRC {
		crc ^= 1
	}
	be.PutUint32(out[4:], crc)
	return append(out, bytes.Join(b.blocks, nil)...)
}

// names is n bytes that look like the names of functions, noise n bytes that do
// not compress.
func names(n int) []byte { return bytes.Clone(longNames()[:n]) }

func noise(n int) []byte { return bytes.Clone(longNoise()[:n]) }

// longest is the most that names and noise give.
const longest = 4 << 20

var longNames = sync.OnceValue(func() []byte {
	r := rand.New(rand.NewPCG(1, 2))
	var b []byte
	for len(b) < longest {
		b = fmt.Appendf(b, "runtime.(*mheap).alloc%d.func%d\x00", r.IntN(500), r.IntN(20))
	}
	return b
})

var longNoise = sync.OnceValue(func() []byte {
	r := rand.New(rand.NewPCG(3, 4))
	b := make([]byte, 0, longest)
	for len(b) < longest {
		b = binary.LittleEndian.AppendUint64(b, r.Uint64())
	}
	return b
})

// mixed is n bytes of which some blocks compress and others do not.
func mixed(n int) []byte {
	b := names(n)
	copy(b[n/3:n/2], noise(n/2-n/3))
	return b
}

var methods = []pod.Method{pod.MethodNone, pod.MethodLZ4, pod.MethodZstd}

// decompressIndependently returns the n raw bytes of a stored block.
func decompressIndependently(t testing.TB, method byte, stored []byte, n int) []byte {
	if len(stored) == n {
		return stored
	}
	switch method {
	case 4:
		out := make([]byte, n)
		got, err := lz4.UncompressBlock(stored, out)
		require.NoError(t, err)
		require.Equal(t, n, got)
		return out
	case 0x5A:
		out, err := zstdReader.DecodeAll(stored, nil)
		require.NoError(t, err)
		require.Len(t, out, n)
		return out
	}
	require.Failf(t, "method", "%d", method)
	return nil
}
