package foreign

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/klauspost/compress/zstd"
	"lukechampine.com/blake3"
)

// The methods of a compressed buffer.
const (
	none       = 0
	oodle      = 3
	lz4        = 4
	zstdFrames = 0x5a // one Zstandard frame a block
	unknown    = 77   // no method
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// packing says how one section becomes a compressed buffer.
type packing struct {
	method byte
	exp    int  // block size, as a power of two; 18 unless set
	sums   bool // with a checksum table
	hash20 bool // keep 20 bytes of the hash, as some writers do

	// raw says which blocks are stored raw though they could be compressed.
	// nil: none.
	raw func(block int) bool
}

// pack makes the compressed buffer of one section and its checksum table.
func pack(payload []byte, p packing) (stored, sums []byte) {
	if p.exp == 0 {
		p.exp = 18
	}
	blocks := compress(payload, p)
	size := 64
	for _, b := range blocks {
		size += 4 + len(b)
	}
	if p.method != oodle && p.method != unknown && size >= len(payload) {
		p.method = none
	}
	var table []byte
	if p.method == none {
		p.exp = 0
		blocks = split(payload, 1<<18)
		size = 64 + len(payload)
	} else {
		for _, b := range blocks {
			table = binary.BigEndian.AppendUint32(table, uint32(len(b)))
		}
	}
	count := len(blocks)
	if p.method == none {
		count = 1
	}

	h := make([]byte, 64)
	be := binary.BigEndian
	be.PutUint32(h[0:], 0xb7756362)
	h[8] = p.method
	if p.method == oodle {
		h[9], h[10] = 2, 2 // Mermaid, VeryFast, as the first writers of the format
	}
	h[11] = byte(p.exp)
	be.PutUint32(h[12:], uint32(count))
	be.PutUint64(h[16:], uint64(len(payload)))
	be.PutUint64(h[24:], uint64(size))
	hash := blake3.Sum256(payload)
	copy(h[32:], hash[:])
	if p.hash20 {
		clear(h[52:64])
	}
	h = append(h, table...)
	be.PutUint32(h[4:], crc32.ChecksumIEEE(h[8:]))

	for _, b := range blocks {
		h = append(h, b...)
		if p.sums {
			sums = binary.LittleEndian.AppendUint32(sums, crc32.Checksum(b, castagnoli))
		}
	}
	return h, sums
}

// compress makes the stored form of each block.
func compress(payload []byte, p packing) [][]byte {
	blocks := split(payload, 1<<p.exp)
	for i, raw := range blocks {
		if p.raw != nil && p.raw(i) {
			continue
		}
		var b []byte
		switch p.method {
		case lz4:
			b = lz4Block(raw)
		case zstdFrames:
			b = zstdBlock(raw)
		case oodle, unknown:
			b = noise(len(raw)/2, 1)
		default:
			continue
		}
		if len(b) < len(raw) {
			blocks[i] = b
		}
	}
	return blocks
}

func split(b []byte, size int) (parts [][]byte) {
	for len(b) > size {
		parts = append(parts, b[:size])
		b = b[size:]
	}
	if len(b) > 0 {
		parts = append(parts, b)
	}
	return parts
}

func zstdBlock(raw []byte) []byte {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		panic(err)
	}
	return w.EncodeAll(raw, nil)
}

// lz4Block compresses one block in the raw block format: sequences of a token,
// literals, a two-byte distance; the last sequence is literals only. A match
// starts 12 bytes before the end at the latest and leaves the last 5 as
// literals. Greedy and simple: its bytes depend on no library's version.
func lz4Block(src []byte) []byte {
	var dst []byte
	seen := map[uint32]int{}
	start := 0
	for i := 0; i+12 <= len(src); {
		key := binary.LittleEndian.Uint32(src[i:])
		from, ok := seen[key]
		seen[key] = i
		if !ok || i-from > 0xffff {
			i++
			continue
		}
		n := 4
		for i+n < len(src)-5 && src[from+n] == src[i+n] {
			n++
		}
		dst = lz4Sequence(dst, src[start:i], i-from, n)
		i += n
		start = i
	}
	return lz4Sequence(dst, src[start:], 0, 0)
}

// lz4Sequence appends literals and, unless n is 0, a match of n bytes.
func lz4Sequence(dst, literals []byte, distance, n int) []byte {
	token, match := min(len(literals), 15)<<4, n-4
	if n > 0 {
		token |= min(match, 15)
	}
	dst = append(dst, byte(token))
	if len(literals) >= 15 {
		dst = lz4Length(dst, len(literals)-15)
	}
	dst = append(dst, literals...)
	if n > 0 {
		dst = append(dst, byte(distance), byte(distance>>8))
		if match >= 15 {
			dst = lz4Length(dst, match-15)
		}
	}
	return dst
}

func lz4Length(dst []byte, n int) []byte {
	for ; n >= 255; n -= 255 {
		dst = append(dst, 255)
	}
	return append(dst, byte(n))
}

// noise is n bytes that nothing compresses, the same for the same seed: Marsaglia's
// xorshift32.
func noise(n int, seed uint32) []byte {
	b := make([]byte, n)
	for i := range b {
		seed ^= seed << 13
		seed ^= seed >> 17
		seed ^= seed << 5
		b[i] = byte(seed >> 24)
	}
	return b
}
