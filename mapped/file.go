package mapped

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"sync/atomic"

	"example.com/tracecache/pod"
)

// File is an open cache file.
type File struct {
	path   string
	size   int64
	info   fs.FileInfo // of the file that was opened; nil for bytes and readers
	header pod.FileHeader
	dir    pod.Directory
	bad    [pod.SectionCount]error // why a section has no usable place

	src       source
	refs      atomic.Int64 // one for the open File, one for each read in flight
	closed    atomic.Bool
	closeOnce sync.Once
	closeErr  error
}

// source is where the bytes of a File come from. readAt fills p; what it cannot
// fill is an error that matches [pod.ErrTruncated] or [pod.ErrIO].
type source interface {
	readAt(p []byte, off int64) error
	mapped() bool
	close() error
}

// NewReader opens the cache of size bytes that r holds. Reads of r happen in
// parallel; r is not closed. Each read is taken to be slow: the tables of a
// section are read together with what stands behind them, and at most 1 MiB of
// this is kept until the File goes. Errors are those of [Open], except that there
// is no file to be missing.
func NewReader(r io.ReaderAt, size int64) (*File, error) {
	return open("", size, nil, newAheadSource(r, size))
}

// OpenBytes opens the cache that b holds. b must not change while the File is
// in use.
func OpenBytes(b []byte) (*File, error) {
	return open("", int64(len(b)), nil, readerSource{bytes.NewReader(b)})
}

// open checks header and directory. It closes src on failure.
func open(path string, size int64, info fs.FileInfo, src source) (*File, error) {
	f := &File{path: path, size: size, info: info, src: src}
	f.refs.Store(1)
	if err := f.readHeader(); err != nil {
		_ = f.Close() // nothing was written; the error of the bytes is the one to tell
		return nil, err
	}
	for _, id := range pod.Sections {
		f.bad[id] = f.place(id)
	}
	return f, nil
}

// readHeader reads and checks the file header and the directory.
func (f *File) readHeader() error {
	var b [pod.DataOffset]byte
	n := min(max(f.size, 0), int64(len(b)))
	if err := f.ReadAt(b[:n], 0); err != nil {
		return f.fault(pod.SectionNone, 0, err)
	}
	var magic [4]byte
	copy(magic[:], pod.FileHeader{Magic: pod.Magic}.Append(nil))
	if k := min(n, int64(len(magic))); !bytes.Equal(b[:k], magic[:k]) {
		return f.fault(pod.SectionNone, 0, fmt.Errorf("%w: starts with % x, expected % x", pod.ErrFormat, b[:k], magic))
	}
	if n >= 8 {
		if err := checkVersion(pod.DecodeFileHeader(b[:]).Version); err != nil {
			return f.fault(pod.SectionNone, 4, err)
		}
	}
	if n < int64(len(b)) {
		return f.fault(pod.SectionNone, n, fmt.Errorf("%w: the file has %d bytes, header and directory take %d", pod.ErrTruncated, f.size, len(b)))
	}
	f.header = pod.DecodeFileHeader(b[:])
	f.dir = pod.DecodeDirectory(b[pod.FileHeaderSize:])
	for i, e := range f.dir {
		if e.SectionID != pod.Section(i) {
			off := int64(pod.FileHeaderSize + i*pod.DirectoryEntrySize)
			return f.fault(pod.SectionNone, off, fmt.Errorf("%w: directory entry %d has section id %d", pod.ErrCorrupt, i, uint32(e.SectionID)))
		}
	}
	return nil
}

func checkVersion(v uint32) error {
	switch {
	case v < pod.Version:
		return fmt.Errorf("%w: %d, this release reads %d", pod.ErrVersionOld, v, pod.Version)
	case v > pod.Version:
		return fmt.Errorf("%w: %d, this release reads %d", pod.ErrVersionNew, v, pod.Version)
	}
	return nil
}

// Path is the name the file was opened by; empty for bytes and readers.
func (f *File) Path() string { return f.path }

// Size is the file's size in bytes when it was opened.
func (f *File) Size() int64 { return f.size }

// Info is what the system said of the file when it was opened; nil for bytes and
// readers.
func (f *File) Info() fs.FileInfo { return f.info }

// Header is the file header.
func (f *File) Header() pod.FileHeader { return f.header }

// Entry is the directory entry of a section, as the file has it: its place is
// not checked (see [File.Section]).
func (f *File) Entry(id pod.Section) pod.DirectoryEntry { return f.dir[id] }

// Mapped reports whether the file is memory-mapped, as against read.
func (f *File) Mapped() bool { return f.src.mapped() }

// ReadAt fills p from offset off of the file. It copies; the error says why it
// could not, and matches [pod.ErrTruncated], [pod.ErrIO] or [pod.ErrClosed].
func (f *File) ReadAt(p []byte, off int64) error {
	if !f.acquire() {
		return pod.ErrClosed
	}
	defer f.release()
	if off < 0 || off > f.size || int64(len(p)) > f.size-off {
		return fmt.Errorf("%w: %d bytes at %#x wanted, the file has %d", pod.ErrTruncated, len(p), off, f.size)
	}
	return f.src.readAt(p, off)
}

// acquire keeps the source open until release. It fails once the File is closed.
func (f *File) acquire() bool {
	f.refs.Add(1)
	if f.closed.Load() {
		f.release()
		return false
	}
	return true
}

// release gives up what acquire took. The last one closes the source; a late
// acquire that finds the File closed may come by here again.
func (f *File) release() {
	if f.refs.Add(-1) == 0 {
		f.closeOnce.Do(func() { f.closeErr = f.src.close() })
	}
}

// Close releases the file. Reads that are in flight finish, later ones fail with
// [pod.ErrClosed]; Close does not wait for them, and the mapping goes with the
// last. A second Close does nothing and returns nil.
func (f *File) Close() error {
	if f.closed.Swap(true) {
		return nil
	}
	if f.refs.Add(-1) != 0 {
		return nil
	}
	f.closeOnce.Do(func() { f.closeErr = f.src.close() })
	return f.closeErr
}

// fault says where in the file err is.
func (f *File) fault(id pod.Section, off int64, err error) error {
	return &pod.Error{Path: f.path, Section: id, Off: off, Err: err}
}

// readerSource reads what a caller gave.
type readerSource struct{ r io.ReaderAt }

func (s readerSource) readAt(p []byte, off int64) error {
	n, err := s.r.ReadAt(p, off)
	return shortRead(n, len(p), off, err)
}

func (readerSource) mapped() bool { return false }
func (readerSource) close() error { return nil }

// shortRead makes an error of a ReadAt that did not fill its buffer. A full
// buffer is a success whatever the error. Files that end say [io.EOF];
// [io.ErrUnexpectedEOF] is what is read of a connection that broke, and of the
// moment.
func shortRead(n, want int, off int64, err error) error {
	switch {
	case n == want:
		return nil
	case err == nil || errors.Is(err, io.EOF):
		return fmt.Errorf("%w: the file ends at %#x, %d bytes at %#x wanted", pod.ErrTruncated, off+int64(n), want, off)
	}
	return fmt.Errorf("%w: %d bytes at %#x: %w", pod.ErrIO, want, off, err)
}
