package foreign

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/klauspost/compress/zstd"
	lz4lib "github.com/pierrec/lz4/v4"
	"lukechampine.com/blake3"

	oodlelib "example.com/tracecache/internal/oodle"
)

// section is one section as it lies in a file.
type section struct {
	id, off, size int
	reserved      uint32
	method        byte
	exp           int
	hash20        bool
	blocks        []int // stored sizes
	payload       []byte
	undecodable   bool // noise for blocks
}

// parsed is a whole file.
type parsed struct {
	header   rec
	sections [5]section
	leaves   []leaf    // of the file, in order, without gaps
	payloads [5][]leaf // of the decompressed sections
	content  content
}

// parse reads a sound file and panics at the first thing that is not.
func parse(b []byte) *parsed {
	w := &walker{b: b, order: binary.LittleEndian, section: "file"}
	p := &parsed{content: content{fixed: map[string]rec{}, lists: map[string][]rec{}}}
	p.header = w.record("FileHeader", "")
	check(p.header["Magic"] == uint64(0x4341545a) && p.header["Version"] == uint64(1), "magic or version")
	w.leaves[0].note = `"ZTAC"`
	var order []*section
	for id := range p.sections {
		e := w.record("DirectoryEntry", names[id]+" ")
		check(e["SectionId"] == uint64(id), "section id")
		p.sections[id] = section{
			id: id, off: size(e["FileOffset"]), size: size(e["CompressedSize"]),
			reserved: uint32(e["Reserved"].(uint64)),
		}
		order = append(order, &p.sections[id])
	}
	slices.SortFunc(order, func(a, b *section) int { return a.off - b.off })
	for _, s := range order {
		w.take(s.off-w.off, "gap", nil, "")
		w.section = names[s.id]
		s.read(w)
	}
	w.take(len(b)-w.off, "gap", nil, "")
	p.leaves = w.leaves
	for id, s := range p.sections {
		if !s.undecodable {
			p.payloads[id] = p.content.payload(id, s.payload)
		}
	}
	return p
}

// read walks through a section's compressed buffer and its checksum table.
func (s *section) read(w *walker) {
	w.order = binary.BigEndian
	defer func() { w.order = binary.LittleEndian }()
	start := w.off
	at := w.section + " "
	h := w.record("BufferHeader", at)
	s.method, s.exp = byte(h["Method"].(uint64)), int(h["BlockSizeExponent"].(uint64))
	s.hash20 = bytes.Equal(w.b[start+52:start+64], make([]byte, 12))
	rawSize, count := size(h["TotalRawSize"]), size(h["BlockCount"])
	check(h["Magic"] == uint64(0xb7756362), "buffer magic")
	check(h["TotalCompressedSize"] == uint64(s.size), "TotalCompressedSize")

	raws := []int{rawSize}
	if s.method == none {
		check(count == 1 && s.size == rawSize+64, "size of method 0")
		check(s.exp == 0 && h["Compressor"] == uint64(0) && h["CompressionLevel"] == uint64(0), "bytes 9 to 11 of method 0")
		s.blocks = raws
	} else {
		check(10 <= s.exp && s.exp <= 30, "block size")
		check(count == (rawSize+1<<s.exp-1)>>s.exp, "block count")
		raws = nil
		for i := range count {
			s.blocks = append(s.blocks, size(w.u32(fmt.Sprintf("%sblockSize[%d]", at, i))))
			raws = append(raws, min(1<<s.exp, rawSize-i<<s.exp))
		}
	}
	check(crc32.ChecksumIEEE(w.b[start+8:w.off]) == uint32(h["Crc32"].(uint64)), "header checksum")

	var sums []uint32
	for i, n := range s.blocks {
		b := w.take(n, at+fmt.Sprintf("block %d", i), nil, fmt.Sprintf("%d bytes for %d", n, raws[i]))
		pieces := [][]byte{b}
		if s.method == none {
			pieces = split(b, 1<<18)
		}
		for _, piece := range pieces {
			sums = append(sums, crc32.Checksum(piece, castagnoli))
		}
		s.decode(b, raws[i])
	}
	check(w.off-start == s.size, "sum of the block sizes")
	if !s.undecodable {
		hash := blake3.Sum256(s.payload)
		keep := 32
		if s.hash20 {
			keep = 20
		}
		check(bytes.Equal(hash[:keep], w.b[start+32:start+32+keep]), "hash")
	}
	if s.reserved != 0 {
		s.checkSums(w, sums)
	}
}

// checkSums walks through the checksum table.
func (s *section) checkSums(w *walker, sums []uint32) {
	w.order = binary.LittleEndian
	start := w.off
	for i, sum := range sums {
		got := w.u32(fmt.Sprintf("%s CRC-32C of block %d", w.section, i))
		w.leaves[len(w.leaves)-1].value = hexed(got)
		check(uint32(got) == sum, "checksum of a block")
	}
	check(max(1, crc32.Checksum(w.b[start:w.off], castagnoli)) == s.reserved, "checksum of the table")
}

// decode appends a block's decompressed bytes to the payload.
func (s *section) decode(b []byte, raw int) {
	check(0 < len(b) && len(b) <= raw || s.method == none, "stored size of a block")
	switch {
	case len(b) == raw:
		s.payload = append(s.payload, b...)
	case s.method == lz4:
		dst := make([]byte, raw)
		n, err := lz4lib.UncompressBlock(b, dst)
		check(err == nil && n == raw, "LZ4 block")
		s.payload = append(s.payload, dst...)
	case s.method == zstdFrames:
		r, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
		check(err == nil, "Zstandard")
		defer r.Close()
		dst, err := r.DecodeAll(b, nil)
		check(err == nil && len(dst) == raw, "Zstandard block")
		s.payload = append(s.payload, dst...)
	case s.method == oodle:
		// The module's own decoder: there is no other at hand. What it decodes is
		// compared with the hash.
		dst := make([]byte, raw)
		if new(oodlelib.Decoder).Decode(dst, b) != nil {
			s.undecodable = true
			break
		}
		s.payload = append(s.payload, dst...)
	default:
		s.undecodable = true
	}
}

// size is a size or offset of the file as an int, which has 32 bits on some
// machines. No file of the tests comes near.
func size(v any) int {
	check(v.(uint64) < 1<<30, fmt.Sprintf("a size of %d", v))
	return int(v.(uint64))
}

func check(ok bool, what string) {
	if !ok {
		panic("not as the format says: " + what)
	}
}
