package container

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/zeebo/blake3"

	"example.com/tracecache/pod"
)

// castagnoli is the polynomial of all checksums but that of the header.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ParseChecksums returns the checksums of a section's checksum table, which is
// one little-endian u32 per block. reserved is the Reserved field of the
// section's directory entry: the CRC-32C of the table, where 0 is stored as 1.
// The errors match [pod.ErrCorrupt] or [pod.ErrChecksum]; their Off counts from
// the start of the table.
func ParseChecksums(table []byte, reserved uint32) ([]uint32, error) {
	if len(table)%pod.ChecksumSize != 0 {
		return nil, corrupt(0, "checksum table: expected a multiple of %d bytes, got %d", pod.ChecksumSize, len(table))
	}
	if crc := tableCRC(table); crc != reserved {
		return nil, errAt(0, fmt.Errorf("%w: CRC-32C of the checksum table: expected %#08x, got %#08x",
			pod.ErrChecksum, reserved, crc))
	}
	sums := make([]uint32, len(table)/pod.ChecksumSize)
	for i := range sums {
		sums[i] = binary.LittleEndian.Uint32(table[pod.ChecksumSize*i:])
	}
	return sums, nil
}

// AppendChecksums appends the checksum table of sums to b and returns it with
// the table's own CRC-32C as the directory holds it, 1 in place of 0.
func AppendChecksums(b []byte, sums []uint32) (out []byte, reserved uint32) {
	start := len(b)
	for _, sum := range sums {
		b = binary.LittleEndian.AppendUint32(b, sum)
	}
	return b, tableCRC(b[start:])
}

// tableCRC is the CRC-32C of a checksum table; 0 means that there is no table,
// so 1 stands for it.
func tableCRC(table []byte) uint32 {
	return max(crc32.Checksum(table, castagnoli), 1)
}

// SetChecksums makes DecodeBlock check each block's stored bytes against its
// CRC-32C. It must be called before the buffer is shared. The slice is kept.
// It is an error unless there is one sum per block.
func (b *Buffer) SetChecksums(sums []uint32) error {
	if len(sums) != b.numBlocks {
		return corrupt(int64(b.header.TotalCompressedSize), "checksums: expected one for each of %d blocks, got %d",
			b.numBlocks, len(sums))
	}
	b.sums = sums
	return nil
}

// HasChecksums reports whether blocks are checked before they are decoded.
func (b *Buffer) HasChecksums() bool { return b.sums != nil }

// HasHash reports whether the header has a hash: one of all zeros is none.
func (b *Buffer) HasHash() bool { return b.header.RawHash != [32]byte{} }

// shortHashSize is how many bytes of the hash some writers keep; the others are
// zero then.
const shortHashSize = 20

// CheckHash compares raw, all decompressed bytes of the buffer, with the
// header's RawHash, or with its first 20 bytes where the others are zero. The
// error matches [pod.ErrChecksum].
func (b *Buffer) CheckHash(raw []byte) error {
	want, got := b.header.RawHash, HashOf(raw)
	n := len(want)
	if [len(want) - shortHashSize]byte(want[shortHashSize:]) == [len(want) - shortHashSize]byte{} {
		n = shortHashSize
	}
	if string(want[:n]) != string(got[:n]) {
		return errAt(offRawHash, fmt.Errorf("%w: BLAKE3 of %d raw bytes: expected %x, got %x",
			pod.ErrChecksum, len(raw), want[:n], got[:n]))
	}
	return nil
}

// HashOf returns the BLAKE3-256 hash of raw.
func HashOf(raw []byte) [32]byte { return blake3.Sum256(raw) }
