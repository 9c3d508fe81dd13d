package lazy

import (
	"bytes"
	"context"
	"errors"
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"example.com/tracecache/internal/container"
	"example.com/tracecache/internal/view"
	"example.com/tracecache/mapped"
	"example.com/tracecache/pod"
)

// section is the state of one section: where it is stored, the memory it is
// decoded into, and, block by block, what has been decoded.
type section struct {
	id   pod.Section
	file *mapped.File
	opts *options

	mu     sync.Mutex
	buf    *container.Buffer // nil until opened
	base   int64             // where buf starts in the file
	raw    []byte            // all of the decoded section, nil until opened
	blocks []block
	err    error // why the section cannot be opened, final

	recordsMu sync.RWMutex // held to write over decoded records, or to read them before
	named     bool         // names have been written over the records, and these are no longer as stored
}

// block is the state of one block. Its bytes in raw may be read when done is
// set.
type block struct {
	mu   sync.Mutex
	done atomic.Bool
	nuls int   // zero bytes of a block of the string table
	err  error // of the bytes, final

	ordered atomic.Bool // of symbols: their addresses were seen to ascend
}

// open reads the buffer's header and block table and takes the memory that the
// section decodes into. Nothing is decoded.
func (s *section) open() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil || s.blocks != nil {
		return s.err
	}
	buf, base, err := openBuffer(s.file, s.id, s.opts.maxSection)
	if err != nil {
		if final(err) {
			s.err = err
		}
		return err
	}
	s.buf, s.base = buf, base
	s.raw = s.memory(int(buf.RawSize()))
	s.blocks = make([]block, buf.NumBlocks())
	return nil
}

// memory returns n bytes placed so that the section's big arrays are aligned in
// it: the offsets behind the string table's count, and, for every other section,
// the array that ends the section. Symbols take 4+16n bytes and callstacks
// 4+12n+16f, so an aligned end makes views of both.
func (s *section) memory(n int) []byte {
	if s.id == pod.SectionStringTable {
		return view.MakeAligned(n)
	}
	return view.MakeEndAligned(n)
}

// load decodes what is not decoded yet and returns the whole section. It stops
// between blocks when ctx is done; what was decoded by then is kept.
func (s *section) load(ctx context.Context) ([]byte, error) {
	if err := s.open(); err != nil {
		return nil, err
	}
	view.Huge(s.raw) // not in open: a look-up that touches a few blocks needs small pages
	if err := s.decodeAll(ctx); err != nil {
		return nil, err
	}
	if s.opts.hashCheck {
		if err := s.buf.CheckHash(s.raw); err != nil {
			return nil, locate(s.file, s.id, s.base, err)
		}
	}
	return s.raw, nil
}

// decodeAll decodes the blocks on as many goroutines as there are processors.
// Blocks are taken in order and none is taken once one has failed, so the error
// returned is that of the first bad block, always the same.
func (s *section) decodeAll(ctx context.Context) error {
	var (
		next   atomic.Int64
		failed atomic.Bool
		wg     sync.WaitGroup
	)
	errs := make([]error, min(runtime.GOMAXPROCS(0), len(s.blocks)))
	at := make([]int, len(errs)) // the block each error is of
	work := func(w int) {
		for !failed.Load() {
			i := int(next.Add(1)) - 1
			if i >= len(s.blocks) {
				return
			}
			errs[w], at[w] = errStopped, i // unless this goroutine goes on
			err := ctx.Err()
			if err == nil {
				err = s.decode(i)
			}
			if errs[w] = err; err != nil {
				failed.Store(true)
				return
			}
		}
	}
	for w := 1; w < len(errs); w++ {
		wg.Go(func() { work(w) })
	}
	if len(errs) > 0 {
		work(0)
	}
	wg.Wait()
	var first error
	firstAt := math.MaxInt
	for w, err := range errs {
		if err != nil && at[w] < firstAt {
			first, firstAt = err, at[w]
		}
	}
	return first
}

// decode decodes block i, once.
func (s *section) decode(i int) error {
	b := &s.blocks[i]
	if b.done.Load() {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil || b.done.Load() {
		return b.err
	}
	off, n := s.buf.RawRange(i)
	if err := s.buf.DecodeBlock(i, s.raw[off:off+n]); err != nil {
		err = locate(s.file, s.id, s.base, err)
		if final(err) {
			b.err = err
		}
		return err
	}
	if s.id == pod.SectionStringTable {
		b.nuls = bytes.Count(s.raw[off:off+n], []byte{0}) // while the block is in the processor's cache
	}
	b.done.Store(true)
	return nil
}

// nulsFrom is the number of zero bytes from off on of the string table, which is
// decoded. It looks at one block at most; the others have been counted.
func (s *section) nulsFrom(off int) int {
	n := 0
	for i := range s.blocks {
		switch at, size := s.buf.RawRange(i); {
		case at >= int64(off):
			n += s.blocks[i].nuls
		case at+size > int64(off):
			n += bytes.Count(s.raw[off:at+size], []byte{0})
		}
	}
	return n
}

// largestRest is what the largest memory is smaller than an int can say, for its
// alignment and so that the system can round it up.
const largestRest = 64 << 10

// openBuffer opens the compressed buffer of a section and attaches its checksum
// table. It refuses what decompresses to more than limit.
func openBuffer(f *mapped.File, id pod.Section, limit int64) (*container.Buffer, int64, error) {
	place, err := f.Section(id)
	if err != nil {
		return nil, 0, err
	}
	buf, err := container.Open(place, place.Size, min(limit, math.MaxInt-largestRest))
	if err != nil {
		return nil, 0, locate(f, id, place.Off, err)
	}
	table, err := f.ChecksumTable(id, buf.NumBlocks())
	if err != nil {
		return nil, 0, err
	}
	if table == nil && f.Entry(id).Reserved == 0 {
		return buf, place.Off, nil
	}
	sums, err := container.ParseChecksums(table, f.Entry(id).Reserved)
	if err == nil {
		err = buf.SetChecksums(sums)
	}
	if err != nil {
		return nil, 0, locate(f, id, place.Off+place.Size, err)
	}
	return buf, place.Off, nil
}

// locate says in which section of which file err is. An offset in it counts from
// base.
func locate(f *mapped.File, id pod.Section, base int64, err error) error {
	e := pod.Error{Off: base, Err: err}
	var inner *pod.Error
	if errors.As(err, &inner) {
		e = *inner
		if !e.Decoded {
			e.Off += base
		}
	}
	e.Path, e.Section = f.Path(), id
	return &e
}
