package mapped

import (
	"io"
	"sync"
)

const (
	// aheadSize is what one read takes where more will be asked for: a section's
	// header, its block table and a first block of 256 KiB, or a checksum table
	// and the small section behind it.
	aheadSize = 320 << 10

	// maxAhead bounds one read ahead; two blocks of 256 KiB are within it.
	maxAhead = 512 << 10

	// maxWindows bounds what is kept of all reads ahead of a File.
	maxWindows = 1 << 20
)

// aheadSource reads what a caller gave, which may be far away: what costs is the
// number of reads, so bytes that will be asked for next are read along. A read
// that lies in what was read ahead reads nothing.
type aheadSource struct {
	readerSource
	size int64

	mu      sync.Mutex
	windows []window // the one used last is the last
	kept    int      // bytes of all windows
}

// window is bytes of the file from off on. They do not change.
type window struct {
	off int64
	b   []byte
}

// from is the bytes of the window from off on, none where off is not in it.
func (w window) from(off int64) []byte {
	if off < w.off || off-w.off > int64(len(w.b)) {
		return nil
	}
	return w.b[off-w.off:]
}

func newAheadSource(r io.ReaderAt, size int64) *aheadSource {
	return &aheadSource{readerSource: readerSource{r}, size: size}
}

func (s *aheadSource) readAt(p []byte, off int64) error {
	if b := s.find(off, int64(len(p))); b != nil {
		copy(p, b)
		return nil
	}
	return s.readerSource.readAt(p, off)
}

// find is n bytes or more from off on, nil where they were not read ahead.
func (s *aheadSource) find(off, n int64) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := len(s.windows) - 1; i >= 0; i-- {
		w := s.windows[i]
		if b := w.from(off); b != nil && int64(len(b)) >= n {
			s.windows = append(append(s.windows[:i], s.windows[i+1:]...), w)
			return b
		}
	}
	return nil
}

// readAhead reads size bytes from off on unless the first need of them are there.
// A read that fails leaves nothing behind: it is for the read that wants the bytes
// to fail. No lock is held over a read, which may take long or never return.
func (s *aheadSource) readAhead(off, need, size int64) {
	size = min(size, s.size-off)
	need = min(need, size)
	if need <= 0 || size > maxAhead || s.find(off, need) != nil {
		return
	}
	b := make([]byte, size)
	n, _ := s.r.ReadAt(b, off)
	if n > 0 && n <= len(b) {
		s.keep(window{off, b[:n]})
	}
}

// keep adds a window, and drops those that were not used for longest.
func (s *aheadSource) keep(w window) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.windows = append(s.windows, w)
	s.kept += cap(w.b)
	drop := 0
	for ; s.kept > maxWindows; drop++ {
		s.kept -= cap(s.windows[drop].b)
		s.windows[drop] = window{}
	}
	s.windows = s.windows[drop:]
}

func (s *aheadSource) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.windows, s.kept = nil, 0
}

// ReadAhead tells that the size bytes from off on will be asked for soon. Where
// they come from a reader that a caller gave they are read at once and kept for
// a while, unless they are too many or are there already; elsewhere nothing
// happens.
func (f *File) ReadAhead(off, size int64) { f.readAhead(off, size, size) }

func (f *File) readAhead(off, need, size int64) {
	s, ok := f.src.(*aheadSource)
	if !ok || off < 0 || !f.acquire() {
		return
	}
	defer f.release()
	s.readAhead(off, need, size)
}

// Forget drops what was read ahead, so that the bytes of the file are read as they
// are now.
func (f *File) Forget() {
	if s, ok := f.src.(*aheadSource); ok {
		s.forget()
	}
}
