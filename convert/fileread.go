package convert

import (
	"io"
	"os"
	"sync"
)

// progressStep is how many bytes are read between two reports.
const progressStep = 256 << 10

// fileReader is a file that stops reading when its call is to stop and reports
// how far it is. Importers read a file in any order and some parts twice, so
// progress is the number of bytes read, kept below the size until the end.
type fileReader struct {
	o    *options
	f    *os.File
	path string
	size int64

	mu       sync.Mutex
	done     int64
	reported int64
}

// ReadAt reads from the file, in pieces, so that a large read can be stopped.
func (r *fileReader) ReadAt(p []byte, off int64) (int, error) {
	const piece = 4 << 20
	total := 0
	for {
		if err := r.o.done(); err != nil {
			return total, err
		}
		n, err := r.f.ReadAt(p[total:min(len(p), total+piece)], off+int64(total))
		total += n
		r.report(int64(n))
		if err != nil || total == len(p) {
			return total, err
		}
	}
}

func (r *fileReader) report(n int64) {
	if r.o.progress == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done = min(r.done+n, max(r.size-1, 0))
	if r.done-r.reported >= progressStep {
		r.reported = r.done
		r.o.progress(r.path, r.done, r.size)
	}
}

// finish reports the file as read.
func (r *fileReader) finish() {
	if r.o.progress == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.o.progress(r.path, r.size, r.size)
}

// source is a stream of the whole file.
func source(r io.ReaderAt, size int64) io.Reader { return io.NewSectionReader(r, 0, size) }
