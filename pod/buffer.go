package pod

import (
	"encoding/binary"
	"strconv"
	"structs"
	"unsafe"
)

// Method says how the blocks of a compressed buffer are compressed.
type Method uint8

// The methods of the format (chapter 3).
const (
	MethodNone  Method = 0
	MethodOodle Method = 3
	MethodLZ4   Method = 4
	MethodZstd  Method = 0x5A
)

// String is the method's name as the command line takes it.
func (m Method) String() string {
	switch m {
	case MethodNone:
		return "none"
	case MethodOodle:
		return "oodle"
	case MethodLZ4:
		return "lz4"
	case MethodZstd:
		return "zstd"
	}
	return "method(" + strconv.Itoa(int(m)) + ")"
}

// BufferMagic is the first u32 of a compressed buffer.
const BufferMagic = 0xB7756362

// BufferHeader is the start of a compressed buffer, the form in which each
// section is stored. In the file its fields are big-endian, unlike all others.
//
//	off  size  field
//	0x00    4  Magic                [BufferMagic]
//	0x04    4  Crc32                CRC-32 (IEEE) of the bytes from 8 to the end
//	                                of the block-size table
//	0x08    1  Method
//	0x09    1  Compressor           Oodle only: 1 Selkie, 2 Mermaid, 3 Kraken, 4 Leviathan
//	0x0a    1  CompressionLevel     Oodle only, signed
//	0x0b    1  BlockSizeExponent    raw bytes of a block, as a power of two
//	0x0c    4  BlockCount
//	0x10    8  TotalRawSize         decompressed bytes
//	0x18    8  TotalCompressedSize  the whole buffer, this header included
//	0x20   32  RawHash              BLAKE3-256 of the raw bytes
type BufferHeader struct {
	_                   structs.HostLayout
	Magic               uint32
	Crc32               uint32
	Method              Method
	Compressor          Compressor
	CompressionLevel    Level
	BlockSizeExponent   uint8
	BlockCount          uint32
	TotalRawSize        uint64
	TotalCompressedSize uint64
	RawHash             [32]byte
}

const (
	// BufferHeaderSize is the size of a [BufferHeader] in the file.
	BufferHeaderSize = 64

	// MinBlockSizeExponent and MaxBlockSizeExponent bound a compressed
	// block's raw size: 1 KiB to 1 GiB.
	MinBlockSizeExponent = 10
	MaxBlockSizeExponent = 30

	// MaxOodleBlockSizeExponent is the largest exponent that Oodle blocks
	// may have.
	MaxOodleBlockSizeExponent = 18

	// DefaultBlockSizeExponent is what writers use unless told otherwise,
	// 256 KiB.
	DefaultBlockSizeExponent = 18

	// RawPieceSize is how many raw bytes one checksum covers where the
	// bytes are stored without compression.
	RawPieceSize = 1 << 18

	// ChecksumSize is the size of one CRC-32C in a checksum table.
	ChecksumSize = 4
)

var _ [BufferHeaderSize]byte = [unsafe.Sizeof(BufferHeader{})]byte{}

// DecodeBufferHeader reads a header from the first [BufferHeaderSize] bytes of
// b. It checks nothing; it panics when b is shorter.
func DecodeBufferHeader(b []byte) BufferHeader {
	_ = b[BufferHeaderSize-1] // slicing would go on up to the capacity
	be := binary.BigEndian
	return BufferHeader{
		Magic:               be.Uint32(b[0x00:]),
		Crc32:               be.Uint32(b[0x04:]),
		Method:              Method(b[0x08]),
		Compressor:          Compressor(b[0x09]),
		CompressionLevel:    Level(b[0x0a]),
		BlockSizeExponent:   b[0x0b],
		BlockCount:          be.Uint32(b[0x0c:]),
		TotalRawSize:        be.Uint64(b[0x10:]),
		TotalCompressedSize: be.Uint64(b[0x18:]),
		RawHash:             [32]byte(b[0x20:BufferHeaderSize]),
	}
}

// Append appends the header's bytes to b.
func (h BufferHeader) Append(b []byte) []byte {
	be := binary.BigEndian
	b = be.AppendUint32(b, h.Magic)
	b = be.AppendUint32(b, h.Crc32)
	b = append(b, byte(h.Method), byte(h.Compressor), byte(h.CompressionLevel), h.BlockSizeExponent)
	b = be.AppendUint32(b, h.BlockCount)
	b = be.AppendUint64(b, h.TotalRawSize)
	b = be.AppendUint64(b, h.TotalCompressedSize)
	return append(b, h.RawHash[:]...)
}
