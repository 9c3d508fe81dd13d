package convert

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"example.com/tracecache/pod"
	"example.com/tracecache/trace"
)

// maxTable bounds what is read of a binary in one piece. The bytes are there, so
// no real table comes near it; a sparse file could pretend one.
const maxTable = math.MaxInt32

// binaryFile is the file of a binary, or the part of one that is a binary of its
// own.
type binaryFile struct {
	r    io.ReaderAt
	size int64
}

// read returns n bytes at off. what names them in errors.
func (f binaryFile) read(what string, off, n uint64) ([]byte, error) {
	if size := uint64(f.size); off > size || n > size-off {
		return nil, fmt.Errorf("%w: %s: expected %d bytes at offset %#x, the file has %d",
			pod.ErrTruncated, what, n, off, f.size)
	}
	if n > maxTable {
		return nil, fmt.Errorf("%w: %s at offset %#x: expected at most %d bytes, got %d",
			pod.ErrTooLarge, what, off, maxTable, n)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(io.NewSectionReader(f.r, int64(off), int64(n)), b); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, fmt.Errorf("%w: %s at offset %#x: %w", pod.ErrTruncated, what, off, err)
		}
		return nil, fmt.Errorf("%w: %s at offset %#x: %w", pod.ErrIO, what, off, err)
	}
	return b, nil
}

// image is a binary as it lies in memory when nothing moves it.
type image struct {
	file  binaryFile
	order binary.ByteOrder
	ptr   int // bytes of a pointer, 4 or 8
	segs  []segment

	// fixups are pointers that the file keeps apart from their place,
	// ascending by place.
	fixups []fixup

	// pointer turns a stored pointer into an address; nil where they are
	// the same.
	pointer func(stored uint64) uint64
}

// segment is a part of the file that is mapped as it is.
type segment struct {
	addr, off     uint64
	filesz, memsz uint64 // bytes in the file and in memory
	exec          bool
}

// fixup says that the pointer at addr is value.
type fixup struct {
	addr, value uint64
}

// sortSegments brings the segments in the order that look-ups need, and cuts
// them to what the file holds and the address space allows.
func (m *image) sortSegments() {
	size := uint64(m.file.size)
	for i := range m.segs {
		s := &m.segs[i]
		s.memsz = min(s.memsz, math.MaxUint64-s.addr)
		s.filesz = min(s.filesz, s.memsz, size-min(s.off, size))
	}
	m.segs = slices.DeleteFunc(m.segs, func(s segment) bool { return s.memsz == 0 })
	slices.SortStableFunc(m.segs, func(a, b segment) int { return cmp.Compare(a.addr, b.addr) })
}

// segment is the segment that holds addr, in memory if not in the file.
func (m *image) segment(addr uint64) (segment, bool) {
	i := sort.Search(len(m.segs), func(i int) bool { return m.segs[i].addr > addr })
	if i == 0 || addr-m.segs[i-1].addr >= m.segs[i-1].memsz {
		return segment{}, false
	}
	return m.segs[i-1], true
}

// stored is where the bytes from addr to the end of its segment lie in the file.
// n is 0 where the file has none.
func (m *image) stored(addr uint64) (off, n uint64) {
	s, ok := m.segment(addr)
	if at := addr - s.addr; ok && at < s.filesz {
		return s.off + at, s.filesz - at
	}
	return 0, 0
}

// read returns the n bytes at addr with the pointers among them in place.
func (m *image) read(what string, addr, n uint64) ([]byte, error) {
	off, have := m.stored(addr)
	if n > have {
		return nil, fmt.Errorf("%w: %s: expected %d bytes at address %#x, the file has %d",
			pod.ErrTruncated, what, n, addr, have)
	}
	b, err := m.file.read(what, off, n)
	if err != nil {
		return nil, err
	}
	m.fix(b, addr)
	return b, nil
}

// fix puts pointers in place in b, the bytes at addr.
func (m *image) fix(b []byte, addr uint64) {
	i := sort.Search(len(m.fixups), func(i int) bool { return m.fixups[i].addr >= addr })
	for ; i < len(m.fixups); i++ {
		at := m.fixups[i].addr - addr
		if at+uint64(m.ptr) > uint64(len(b)) {
			return
		}
		if m.ptr == 4 {
			m.order.PutUint32(b[at:], uint32(m.fixups[i].value))
		} else {
			m.order.PutUint64(b[at:], m.fixups[i].value)
		}
	}
}

// scan calls visit with the image's bytes, piece by piece, until it returns
// false. Neighbouring pieces share overlap bytes.
func (m *image) scan(overlap int, visit func(addr uint64, b []byte) bool) error {
	const piece = 1 << 20
	// Segments that share the bytes of a file are not looked through again
	// and again.
	left := 2 * uint64(m.file.size)
	for _, s := range m.segs {
		for at := uint64(0); at < s.filesz; at += piece {
			n := min(piece+uint64(overlap), s.filesz-at)
			if n > left {
				return nil
			}
			left -= n
			b, err := m.file.read("segment", s.off+at, n)
			if err != nil {
				return err
			}
			if !visit(s.addr+at, b) {
				return nil
			}
		}
	}
	return nil
}

// uint is the pointer-sized integer at the start of b.
func (m *image) uint(b []byte) uint64 {
	if m.ptr == 4 {
		return uint64(m.order.Uint32(b))
	}
	return m.order.Uint64(b)
}

// address is the address that the pointer at the start of b holds.
func (m *image) address(b []byte) uint64 {
	v := m.uint(b)
	if m.pointer != nil {
		v = m.pointer(v)
	}
	return v
}

// stringsIn is a table of NUL-terminated strings. Those that it returns share
// its memory.
type stringsIn struct {
	what   string
	data   string
	budget int64
}

// newStrings returns the strings of b.
func newStrings(what string, b []byte) *stringsIn {
	// Tables share the ends of names, so names may sum up to more than the
	// table has bytes. A table made of suffixes of one long name sums up to
	// the square of its size, which nobody can want read.
	return &stringsIn{what: what, data: string(b), budget: 64<<20 + 16*int64(len(b))}
}

// at is the string at off. It ends at the next NUL or where the table ends.
func (s *stringsIn) at(off uint64) (string, error) {
	if off >= uint64(len(s.data)) {
		return "", fmt.Errorf("%w: %s: expected a string offset below %#x, got %#x",
			pod.ErrCorrupt, s.what, len(s.data), off)
	}
	name := s.data[off:]
	if i := strings.IndexByte(name, 0); i >= 0 {
		name = name[:i]
	}
	if s.budget -= int64(len(name)); s.budget < 0 {
		return "", fmt.Errorf("%w: %s: the strings of a table of %d bytes overlap in too many places",
			pod.ErrTooLarge, s.what, len(s.data))
	}
	return name, nil
}

// modules makes one module record for each distance between address and file
// offset that executable segments have. A profiler that knows a mapping's
// address and file offset finds Base by subtracting the two.
func (m *image) modules(path string, id []byte) []trace.Module {
	full, err := filepath.Abs(path)
	if err != nil {
		full = path
	}
	ends := make(map[uint64]uint64) // by base
	for _, s := range m.segs {
		if !s.exec {
			continue
		}
		base := s.addr - s.off
		if s.off > s.addr {
			base = s.addr // no address can stand for the start of this file
		}
		ends[base] = max(ends[base], s.addr+s.memsz)
	}
	var mods []trace.Module
	for base, end := range ends {
		mods = append(mods, trace.Module{
			Name: filepath.Base(path), FullPath: full, Base: base, Size: end - base, ImageID: id,
		})
	}
	slices.SortFunc(mods, func(a, b trace.Module) int { return cmp.Compare(a.Base, b.Base) })
	return mods
}

// clip returns the part of [start, start+size) that an executable segment has in
// the file.
func (m *image) clip(start, size uint64) (span, bool) {
	s, ok := m.segment(start)
	if !ok || !s.exec || start-s.addr >= s.filesz {
		return span{}, false
	}
	return span{start, start + min(size, s.filesz-(start-s.addr))}, size > 0
}
