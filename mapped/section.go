package mapped

import (
	"fmt"
	"math"

	"example.com/tracecache/pod"
)

// Section is the place of one section in the file. Its ReadAt counts offsets
// from the section's start.
type Section struct {
	Off  int64 // from the start of the file
	Size int64 // stored bytes
	file *File
}

// tableSize is room for a section's header and the block table of 250 MB.
const tableSize = 4 << 10

// ReadAt fills p from offset off of the section, or fails as [File.ReadAt].
func (s Section) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off > s.Size || int64(len(p)) > s.Size-off {
		return 0, fmt.Errorf("%w: %d bytes at %#x of a section of %d bytes wanted", pod.ErrCorrupt, len(p), off, s.Size)
	}
	if off == 0 {
		// Who reads the header goes on with the block table and a block.
		s.file.readAhead(s.Off, max(int64(len(p)), tableSize), aheadSize)
	}
	if err := s.file.ReadAt(p, s.Off+off); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Section is the only place that turns a directory entry into a range of the
// file. It fails, with a [pod.Error], where the range is not inside the file
// ([pod.ErrTruncated]), or is empty, lies in front of the first possible byte or
// overlaps another section ([pod.ErrCorrupt]).
func (f *File) Section(id pod.Section) (Section, error) {
	if err := f.bad[id]; err != nil {
		return Section{}, err
	}
	e := f.dir[id]
	return Section{Off: int64(e.FileOffset), Size: int64(e.CompressedSize), file: f}, nil
}

// ChecksumTable reads the checksum table of a section, blocks checksums that
// stand right behind its stored bytes. It returns nil where the directory says
// that there is none. A table that is not inside the file or lies in another
// section is damage of this section. The table's own checksum is not checked.
func (f *File) ChecksumTable(id pod.Section, blocks int) ([]byte, error) {
	s, err := f.Section(id)
	if err != nil || f.dir[id].Reserved == 0 {
		return nil, err
	}
	off, size := s.Off+s.Size, int64(blocks)*pod.ChecksumSize
	if size > f.size-off {
		return nil, f.fault(id, off, fmt.Errorf("%w: checksum table of %d bytes, %d left in the file", pod.ErrTruncated, size, f.size-off))
	}
	for _, other := range pod.Sections {
		if other != id && f.inside(other) && overlap(uint64(off), uint64(size), f.dir[other]) {
			return nil, f.fault(id, off, fmt.Errorf("%w: checksum table of %d bytes overlaps section %v", pod.ErrCorrupt, size, other))
		}
	}
	f.readAhead(off, size, aheadSize) // with the section behind it
	table := make([]byte, size)
	if err := f.ReadAt(table, off); err != nil {
		return nil, f.fault(id, off, fmt.Errorf("checksum table: %w", err))
	}
	return table, nil
}

// place says what is wrong with the place of a section, if anything.
func (f *File) place(id pod.Section) error {
	e, size := f.dir[id], uint64(f.size)
	field := int64(pod.FileHeaderSize + int(id)*pod.DirectoryEntrySize)
	switch {
	case e.CompressedSize == 0:
		return f.fault(id, field+16, fmt.Errorf("%w: the section has no stored bytes", pod.ErrCorrupt))
	case e.FileOffset < pod.DataOffset:
		return f.fault(id, field+8, fmt.Errorf("%w: the section starts at %#x, expected %#x or behind", pod.ErrCorrupt, e.FileOffset, pod.DataOffset))
	case e.FileOffset > size || e.CompressedSize > size-e.FileOffset:
		at := int64(min(e.FileOffset, math.MaxInt64))
		return f.fault(id, at, fmt.Errorf("%w: the section takes %d bytes from %#x, the file has %d", pod.ErrTruncated, e.CompressedSize, e.FileOffset, f.size))
	}
	for _, other := range pod.Sections {
		// A section that is not in the file takes none of its bytes away.
		if other != id && f.inside(other) && overlap(e.FileOffset, e.CompressedSize, f.dir[other]) {
			return f.fault(id, int64(e.FileOffset), fmt.Errorf("%w: the section overlaps section %v", pod.ErrCorrupt, other))
		}
	}
	return nil
}

// inside reports whether a section takes bytes that sections may take.
func (f *File) inside(id pod.Section) bool {
	e, size := f.dir[id], uint64(f.size)
	return e.CompressedSize > 0 && e.FileOffset >= pod.DataOffset &&
		e.FileOffset <= size && e.CompressedSize <= size-e.FileOffset
}

// overlap reports whether [off, off+n), inside a file, shares a byte with the
// section e, inside the same file: no sum can wrap.
func overlap(off, n uint64, e pod.DirectoryEntry) bool {
	return n > 0 && off < e.FileOffset+e.CompressedSize && e.FileOffset < off+n
}
