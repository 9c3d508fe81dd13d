package pod

import (
	"encoding/binary"
	"structs"
	"unsafe"
)

// DirectoryEntry places one section in the file.
//
//	off  size  field
//	0x00    4  SectionID       equals the entry's index
//	0x04    4  Reserved        CRC-32C of the section's checksum table; 0: none
//	0x08    8  FileOffset      from the start of the file, at least [DataOffset]
//	0x10    8  CompressedSize  stored bytes of the section
type DirectoryEntry struct {
	_              structs.HostLayout
	SectionID      Section
	Reserved       uint32
	FileOffset     uint64
	CompressedSize uint64
}

const (
	// DirectoryEntrySize is the size of a [DirectoryEntry] in the file.
	DirectoryEntrySize = 24

	// DataOffset is where the first section may start: behind the header and
	// the directory.
	DataOffset = FileHeaderSize + SectionCount*DirectoryEntrySize
)

var (
	_ [DirectoryEntrySize]byte = [unsafe.Sizeof(DirectoryEntry{})]byte{}
	_ [144]byte                = [DataOffset]byte{}
)

// Directory is the section directory, indexed by [Section].
type Directory [SectionCount]DirectoryEntry

// DecodeDirectory reads a directory from the first bytes of b, which follow
// the file header. It checks nothing; it panics when b is shorter than
// [SectionCount] * [DirectoryEntrySize].
func DecodeDirectory(b []byte) Directory {
	_ = b[SectionCount*DirectoryEntrySize-1] // slicing would go on up to the capacity
	var d Directory
	le := binary.LittleEndian
	for i := range d {
		e := b[i*DirectoryEntrySize : (i+1)*DirectoryEntrySize]
		d[i] = DirectoryEntry{
			SectionID:      Section(le.Uint32(e[0x00:])),
			Reserved:       le.Uint32(e[0x04:]),
			FileOffset:     le.Uint64(e[0x08:]),
			CompressedSize: le.Uint64(e[0x10:]),
		}
	}
	return d
}

// Append appends the directory's bytes to b.
func (d *Directory) Append(b []byte) []byte {
	le := binary.LittleEndian
	for _, e := range d {
		b = le.AppendUint32(b, uint32(e.SectionID))
		b = le.AppendUint32(b, e.Reserved)
		b = le.AppendUint64(b, e.FileOffset)
		b = le.AppendUint64(b, e.CompressedSize)
	}
	return b
}
