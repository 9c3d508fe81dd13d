package container

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math"

	"example.com/tracecache/internal/codec"
	"example.com/tracecache/pod"
)

// Where the fields of a [pod.BufferHeader] lie, for the errors about them.
const (
	offMagic          = 0x00
	offCRC            = 0x04
	offMethod         = 0x08
	offCompressor     = 0x09
	offExponent       = 0x0b
	offBlockCount     = 0x0c
	offRawSize        = 0x10
	offCompressedSize = 0x18
	offRawHash        = 0x20
)

// sizeOfBlockSize is the size of one entry of the block-size table.
const sizeOfBlockSize = 4

// Open reads the header and the block-size table of the buffer that takes the
// first size bytes of r, and checks all that they say. It reads no block. Its
// cost in time and memory is that of the table, 12 bytes per block. A buffer that
// decodes to more than limit bytes is refused before the table is read.
//
// The errors match [pod.ErrTooLarge] where limit is exceeded, [pod.ErrUnsupported] where the compression method is not
// known or has larger blocks than are read, [pod.ErrChecksum] where header and table differ from their CRC,
// [pod.ErrTruncated] where r ends early, [pod.ErrIO] where it fails, else
// [pod.ErrCorrupt].
func Open(r io.ReaderAt, size, limit int64) (*Buffer, error) {
	if size < pod.BufferHeaderSize {
		return nil, corrupt(0, "compressed buffer: expected at least %d bytes, got %d", pod.BufferHeaderSize, size)
	}
	head := make([]byte, pod.BufferHeaderSize)
	if err := readAt(r, head, 0); err != nil {
		return nil, err
	}
	b := &Buffer{r: r, header: pod.DecodeBufferHeader(head)}
	unsupported, err := b.checkHeader(size)
	if err != nil {
		return nil, err
	}
	if n := b.header.TotalRawSize; unsupported == nil && n > uint64(max(limit, 0)) {
		return nil, errAt(offRawSize, fmt.Errorf("%w: decompresses to %d bytes, at most %d are allowed", pod.ErrTooLarge, n, limit))
	}
	table, err := b.readTable(size)
	if err != nil {
		return nil, err
	}
	if err := b.checkCRC(head, table); err != nil {
		return nil, err
	}
	if unsupported != nil {
		return nil, unsupported // And not damaged, as the CRC says.
	}
	if err := b.checkSizes(size); err != nil {
		return nil, err
	}
	if b.header.Method == pod.MethodNone {
		return b, nil
	}
	if err := b.placeBlocks(table); err != nil {
		return nil, err
	}
	return b, nil
}

// checkCRC compares the header and the block-size table with their CRC.
func (b *Buffer) checkCRC(head, table []byte) error {
	crc := crc32.ChecksumIEEE(head[offMethod:])
	if crc = crc32.Update(crc, crc32.IEEETable, table); crc != b.header.Crc32 {
		return errAt(offCRC, fmt.Errorf("%w: CRC-32 of header and block sizes: expected %#08x, got %#08x",
			pod.ErrChecksum, b.header.Crc32, crc))
	}
	return nil
}

// checkHeader checks the fields of the header that tell how to read the rest,
// and sets the codec and the size of the blocks. A method that is not known, or
// not with blocks of such a size, is unsupported, not an error: its byte may be
// damaged, and every method but 0 has the table that the CRC covers, so that the
// CRC can tell.
func (b *Buffer) checkHeader(size int64) (unsupported, err error) {
	h := &b.header
	if h.Magic != pod.BufferMagic {
		return nil, corrupt(offMagic, "compressed buffer's magic: expected %#08x, got %#08x", uint32(pod.BufferMagic), h.Magic)
	}
	if h.Method == pod.MethodNone {
		return nil, b.checkUncompressed(size)
	}
	if b.codec, err = codec.ForMethod(h.Method); err != nil {
		return errAt(offMethod, err), b.checkTableFits(size, uint64(h.BlockCount))
	}
	exp := h.BlockSizeExponent
	if h.Method == pod.MethodOodle && exp > pod.MaxOodleBlockSizeExponent && exp <= pod.MaxBlockSizeExponent {
		err := fmt.Errorf("%w: block size exponent: expected at most %d for %v, got %d",
			pod.ErrUnsupported, pod.MaxOodleBlockSizeExponent, h.Method, exp)
		return errAt(offExponent, err), b.checkTableFits(size, uint64(h.BlockCount))
	}
	return nil, b.checkCompressed(size)
}

// checkCompressed is the part of checkHeader for the methods that compress.
func (b *Buffer) checkCompressed(size int64) error {
	h := &b.header
	exp := h.BlockSizeExponent
	if exp < pod.MinBlockSizeExponent || exp > pod.MaxBlockSizeExponent {
		return corrupt(offExponent, "block size exponent: expected %d to %d, got %d",
			pod.MinBlockSizeExponent, pod.MaxBlockSizeExponent, exp)
	}
	b.rawBlockSize = 1 << exp
	blocks := h.TotalRawSize >> exp
	if h.TotalRawSize&(1<<exp-1) != 0 {
		blocks++
	}
	if uint64(h.BlockCount) != blocks {
		return corrupt(offBlockCount, "block count: expected %d for %d bytes in blocks of %d, got %d",
			blocks, h.TotalRawSize, b.rawBlockSize, h.BlockCount)
	}
	// From here on the raw size is known to be at most 2^32 blocks of 2^30
	// bytes, so it fits in 63 bits.
	if err := b.checkTableFits(size, blocks); err != nil {
		return err
	}
	b.numBlocks = int(min(blocks, math.MaxInt))
	return nil
}

// checkTableFits checks that the buffer has room for the sizes of at most 2^32
// blocks.
func (b *Buffer) checkTableFits(size int64, blocks uint64) error {
	if need := pod.BufferHeaderSize + sizeOfBlockSize*int64(blocks); need > size {
		return corrupt(offBlockCount, "header and %d block sizes: expected %d bytes, got %d", blocks, need, size)
	}
	return nil
}

// checkUncompressed is the part of checkHeader for method 0.
func (b *Buffer) checkUncompressed(size int64) (err error) {
	h := &b.header
	if b.codec, err = codec.ForMethod(h.Method); err != nil {
		return errAt(offMethod, err)
	}
	for i, v := range []uint8{uint8(h.Compressor), uint8(h.CompressionLevel), h.BlockSizeExponent} {
		if v != 0 {
			return corrupt(offCompressor+int64(i), "compressor, level and block size exponent: expected 0 for method 0, got %d", v)
		}
	}
	if h.BlockCount != 1 {
		return corrupt(offBlockCount, "block count: expected 1 for method 0, got %d", h.BlockCount)
	}
	raw := size - pod.BufferHeaderSize
	if h.TotalRawSize != uint64(raw) {
		return corrupt(offRawSize, "raw size: expected %d for method 0 in %d bytes, got %d", raw, size, h.TotalRawSize)
	}
	b.rawBlockSize = pod.RawPieceSize
	pieces := (raw + pod.RawPieceSize - 1) / pod.RawPieceSize
	if pieces > math.MaxInt {
		return errAt(offRawSize, fmt.Errorf("%w: %d pieces of %d bytes: expected at most %d",
			pod.ErrTooLarge, pieces, pod.RawPieceSize, math.MaxInt))
	}
	b.numBlocks = int(pieces)
	return nil
}

// readTable reads the block-size table, whose bytes checkHeader has found to
// lie inside size. It is empty for method 0.
func (b *Buffer) readTable(size int64) ([]byte, error) {
	if b.header.Method == pod.MethodNone {
		return nil, nil
	}
	n := sizeOfBlockSize * int64(b.header.BlockCount)
	if n > math.MaxInt/4 { // Three times n follow, as the places of the blocks.
		return nil, errAt(offBlockCount, fmt.Errorf("%w: %d blocks are more than this host can address",
			pod.ErrTooLarge, b.header.BlockCount))
	}
	table := make([]byte, n)
	if err := readAt(b.r, table, pod.BufferHeaderSize); err != nil {
		return nil, err
	}
	return table, nil
}

// checkSizes checks the size that the header states against the true one.
func (b *Buffer) checkSizes(size int64) error {
	if b.header.TotalCompressedSize != uint64(size) {
		return corrupt(offCompressedSize, "compressed size: expected %d, got %d", size, b.header.TotalCompressedSize)
	}
	return nil
}

// placeBlocks checks each block's stored size and their sum, and keeps where
// the blocks lie.
func (b *Buffer) placeBlocks(table []byte) error {
	b.starts = make([]int64, b.numBlocks+1)
	// The sum stays below 2^62: at most 2^32 blocks of at most 2^30 bytes.
	end := pod.BufferHeaderSize + int64(len(table))
	for i := range b.numBlocks {
		b.starts[i] = end
		stored := int64(binary.BigEndian.Uint32(table[sizeOfBlockSize*i:]))
		_, raw := b.RawRange(i)
		at := pod.BufferHeaderSize + sizeOfBlockSize*int64(i)
		if stored < 1 || stored > raw {
			return corrupt(at, "stored size of block %d: expected 1 to %d, got %d", i, raw, stored)
		}
		if most := b.codec.MaxRaw(stored); raw > stored && raw > most {
			return corrupt(at, "raw size of block %d: expected at most %d from %d bytes of %v, got %d",
				i, most, stored, b.header.Method, raw)
		}
		end += stored
	}
	b.starts[b.numBlocks] = end
	if uint64(end) != b.header.TotalCompressedSize {
		return corrupt(offCompressedSize, "compressed size: expected %d as the sum of header and blocks, got %d",
			end, b.header.TotalCompressedSize)
	}
	return nil
}
