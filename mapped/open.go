package mapped

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"runtime"

	"golang.org/x/exp/mmap"

	"example.com/tracecache/pod"
)

// Open opens the cache file path. A missing file is [fs.ErrNotExist]. Other
// errors are a [pod.Error] that matches [pod.ErrFormat], [pod.ErrVersion],
// [pod.ErrTruncated], [pod.ErrCorrupt] or [pod.ErrIO], or an [fs.PathError]
// where the file cannot be opened.
func Open(path string) (*File, error) {
	file, fi, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	return open(path, fi.Size(), fi, newSource(path, file, fi))
}

// maxCopy is the size of the largest file that is read into memory: 4 GiB, and 512
// MiB on a 32-bit host.
const maxCopy = 512 << 20 << (3 * (math.MaxUint >> 63))

// OpenCopy is [Open] for a file that must not be held open: all of it is read into
// memory and closed. One of more than 4 GiB, or 512 MiB on a 32-bit host, fails with
// [pod.ErrTooLarge].
func OpenCopy(path string) (*File, error) {
	file, fi, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	b, err := readAll(file, fi.Size())
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, &pod.Error{Path: path, Section: pod.SectionNone, Err: err}
	}
	return open(path, int64(len(b)), fi, readerSource{bytes.NewReader(b)})
}

// readAll reads a file of size bytes, which may be shorter by now.
func readAll(file *os.File, size int64) ([]byte, error) {
	if size > maxCopy {
		return nil, fmt.Errorf("%w: a file of %d bytes, at most %d are read into memory", pod.ErrTooLarge, size, int64(maxCopy))
	}
	b := make([]byte, size)
	n, err := io.ReadFull(file, b)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("%w: %w", pod.ErrIO, err)
	}
	return b[:n], nil
}

func openRegular(path string) (*os.File, fs.FileInfo, error) {
	// A pipe would block in open(2), so what path names is looked at first.
	if fi, err := os.Stat(path); err != nil {
		return nil, nil, err
	} else if !fi.Mode().IsRegular() {
		return nil, nil, notRegular(path, fi)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	fi, err := file.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = notRegular(path, fi)
	}
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return file, fi, nil
}

func notRegular(path string, fi fs.FileInfo) error {
	err := fmt.Errorf("%w: not a regular file (%v)", pod.ErrFormat, fi.Mode().Type())
	return &pod.Error{Path: path, Section: pod.SectionNone, Err: err}
}

// newSource maps file, or reads it where that fails: the system does not map,
// the file is larger than the address space, or the mappings are used up.
func newSource(path string, file *os.File, fi fs.FileInfo) source {
	if !canMap || fi.Size() == 0 {
		return fileSource{file}
	}
	m, err := mmap.Open(path)
	if err != nil {
		return fileSource{file}
	}
	g, ok := newGuarded(m)
	if !ok || !sameFile(path, file, fi, g) {
		_ = m.Close() // of no use, and the file itself is still at hand
		return fileSource{file}
	}
	return &mapSource{fileSource{file}, g}
}

// canMap is whether package mmap maps on this system; elsewhere it reads, which
// [fileSource] does as well.
const canMap = runtime.GOOS == "linux" || runtime.GOOS == "android" ||
	runtime.GOOS == "darwin" || runtime.GOOS == "ios" || runtime.GOOS == "windows"

// sameFile reports whether m, which was opened by name after file, maps the same
// file: the name still leads to file, and sizes and first bytes agree. (A file
// that was replaced in between is read through file, the one that was checked.)
func sameFile(path string, file *os.File, fi fs.FileInfo, m guarded) bool {
	now, err := os.Stat(path)
	if err != nil || !os.SameFile(fi, now) || now.Size() != fi.Size() || int64(m.m.Len()) != fi.Size() {
		return false
	}
	var a, b [pod.DataOffset]byte
	n := min(fi.Size(), int64(len(a)))
	if (fileSource{file}).readAt(a[:n], 0) != nil || m.read(b[:n], 0) != nil {
		return false
	}
	return bytes.Equal(a[:n], b[:n])
}

// fileSource reads an open file.
type fileSource struct{ file *os.File }

func (s fileSource) readAt(p []byte, off int64) error {
	n, err := s.file.ReadAt(p, off)
	return shortRead(n, len(p), off, err)
}

func (fileSource) mapped() bool   { return false }
func (s fileSource) close() error { return s.file.Close() }

// bulkRead is the size from which on bytes are read from the file instead of
// copied from its mapping. Each page of a mapping costs a fault when it is
// touched first, which takes several times as long as the copy of a page that
// the system has in memory, and a read that comes short says so by itself.
const bulkRead = 16 << 10

// mapSource reads a mapping, and large pieces from the open file beside it, which
// also tells the size that the file has now.
type mapSource struct {
	fileSource
	m guarded
}

func (s *mapSource) readAt(p []byte, off int64) error {
	if len(p) >= bulkRead {
		return s.fileSource.readAt(p, off)
	}
	fault := s.m.read(p, off)
	// A file that became shorter may fault, or, within its last page, read
	// as zeros. Asking after the read leaves no gap.
	fi, err := s.file.Stat()
	switch {
	case err != nil:
		return fmt.Errorf("%w: size after read: %w", pod.ErrIO, err)
	case fi.Size() < off+int64(len(p)):
		return fmt.Errorf("%w: the file shrank to %d bytes, %d bytes at %#x wanted", pod.ErrTruncated, fi.Size(), len(p), off)
	case fault != nil:
		return fmt.Errorf("%w: %d bytes at %#x of the mapping: %w", pod.ErrIO, len(p), off, fault)
	}
	return nil
}

func (*mapSource) mapped() bool { return true }

func (s *mapSource) close() error { return errors.Join(s.m.m.Close(), s.file.Close()) }
