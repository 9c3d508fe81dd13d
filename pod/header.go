package pod

import (
	"encoding/binary"
	"structs"
	"unsafe"
)

// Magic is the first u32 of a cache file, the bytes "ZTAC".
const Magic = 0x4341545A

// Version is the format version that this package describes.
const Version = 1

// FileHeader is the start of a cache file.
//
//	off  size  field
//	0x00    4  Magic            [Magic]
//	0x04    4  Version          [Version]
//	0x08    8  SourceFileSize   bytes of the trace that was analysed
//	0x10    8  SourceModTimeNs  its modification time, nanoseconds since the
//	                            Unix epoch; 0: not recorded
type FileHeader struct {
	_               structs.HostLayout
	Magic           uint32
	Version         uint32
	SourceFileSize  uint64
	SourceModTimeNs int64
}

// FileHeaderSize is the size of a [FileHeader] in the file.
const FileHeaderSize = 24

var _ [FileHeaderSize]byte = [unsafe.Sizeof(FileHeader{})]byte{}

// DecodeFileHeader reads a header from the first [FileHeaderSize] bytes of b.
// It checks nothing; it panics when b is shorter.
func DecodeFileHeader(b []byte) FileHeader {
	_ = b[FileHeaderSize-1]
	le := binary.LittleEndian
	return FileHeader{
		Magic:           le.Uint32(b[0x00:]),
		Version:         le.Uint32(b[0x04:]),
		SourceFileSize:  le.Uint64(b[0x08:]),
		SourceModTimeNs: int64(le.Uint64(b[0x10:])),
	}
}

// Append appends the header's bytes to b.
func (h FileHeader) Append(b []byte) []byte {
	le := binary.LittleEndian
	b = le.AppendUint32(b, h.Magic)
	b = le.AppendUint32(b, h.Version)
	b = le.AppendUint64(b, h.SourceFileSize)
	return le.AppendUint64(b, uint64(h.SourceModTimeNs))
}
