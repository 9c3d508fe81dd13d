package lazy

import (
	"bytes"
	"context"
	"errors"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"example.com/tracecache/internal/container"
	"example.com/tracecache/internal/view"
	"example.com/tracecache/mapped"
	"example.com/tracecache/pod"
)

// section is one section of an open cache: where it is stored, and the state that
// it is decoded to, which comes and goes.
type section struct {
	id   pod.Section
	file *mapped.File
	opts *options

	mu   sync.Mutex
	buf  *container.Buffer // nil until opened, then for good
	base int64             // where buf starts in the file
	err  error             // why the section cannot be opened, final

	state atomic.Pointer[decoded] // nil: nothing is decoded; changed under the budget's lock
	size  atomic.Int64            // bytes that the state takes, as far as known
	used  atomic.Int64            // the budget's clock when it was last asked for
	pins  atomic.Int64            // loads and cold look-ups that use it

	loading atomic.Int64
	loads   atomic.Int64
	spent   atomic.Int64          // nanoseconds
	fault   atomic.Pointer[error] // the first final error
}

// decoded is the memory that a section is decoded into, and, block by block, what
// has been decoded. When the section is dropped it lives on for those who use it.
type decoded struct {
	*section
	charge *charge
	extra  int64 // bytes counted beyond those of raw

	once   sync.Once
	raw    []byte // all of the decoded section
	blocks []block
	whole  atomic.Bool // all of it is decoded and checked

	parseMu sync.Mutex
	parsed  any // what was made of the whole section

	recordsMu sync.RWMutex // held to write over decoded records, or to read them before
	fitting   atomic.Bool  // of the string table: its count was seen to fit
	bounded   atomic.Bool  // of Metadata: the memory of the module bounds is counted
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

// open reads the buffer's header and block table, once. Nothing is decoded.
func (s *section) open() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil || s.buf != nil {
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
	s.size.Store(buf.RawSize())
	return nil
}

// make takes the memory that the section decodes into, once.
func (d *decoded) make() {
	d.once.Do(func() {
		d.raw = d.memory(int(d.buf.RawSize()))
		d.blocks = make([]block, d.buf.NumBlocks())
		if len(d.raw) > 0 {
			runtime.AddCleanup(&d.raw[0], (*charge).went, d.charge)
			d.charge.made()
		}
	})
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

// load decodes what is not decoded yet. It stops between blocks when ctx is done; what
// was decoded by then is kept.
func (d *decoded) load(ctx context.Context) error {
	if d.whole.Load() {
		return nil
	}
	defer d.spend(time.Now())
	view.Huge(d.raw) // not in make: a look-up that touches a few blocks needs small pages
	if err := d.decodeAll(ctx); err != nil {
		return err
	}
	if d.opts.hashCheck || d.id == pod.SectionMetadata || d.id == pod.SectionMemory {
		if err := d.doubt(); err != nil {
			return err
		}
	}
	d.whole.Store(true)
	d.loads.Add(1)
	return nil
}

// doubt compares the section with its hash, where nothing else tells that its bytes
// are those written. It is for what a changed count would shift: the lists of Metadata
// and Memory always, the others where what a count says does not fit.
func (d *decoded) doubt() error {
	if !d.opts.hashCheck && (d.buf.HasChecksums() || !d.buf.HasHash()) {
		return nil
	}
	if err := d.buf.CheckHash(d.raw); err != nil {
		return locate(d.file, d.id, d.base, err)
	}
	return nil
}

// spend counts the time since start as spent on the section.
func (s *section) spend(start time.Time) { s.spent.Add(int64(time.Since(start))) }

// decodeAll decodes the blocks on as many goroutines as there are processors.
// Blocks are taken in order and none is taken once one has failed, so the error
// returned is that of the first bad block, always the same.
func (d *decoded) decodeAll(ctx context.Context) error {
	var (
		next   atomic.Int64
		failed atomic.Bool
		wg     sync.WaitGroup
	)
	errs := make([]error, min(runtime.GOMAXPROCS(0), len(d.blocks)))
	at := make([]int, len(errs)) // the block each error is of
	work := func(w int) {
		for !failed.Load() {
			i := int(next.Add(1)) - 1
			if i >= len(d.blocks) {
				return
			}
			errs[w], at[w] = errStopped, i // unless this goroutine goes on
			err := ctx.Err()
			if err == nil {
				err = d.decode(i)
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
func (d *decoded) decode(i int) error {
	b := &d.blocks[i]
	if b.done.Load() {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil || b.done.Load() {
		return b.err
	}
	off, n := d.buf.RawRange(i)
	if err := d.buf.DecodeBlock(i, d.raw[off:off+n]); err != nil {
		err = locate(d.file, d.id, d.base, err)
		if final(err) {
			b.err = err
		}
		return err
	}
	if d.id == pod.SectionStringTable {
		b.nuls = bytes.Count(d.raw[off:off+n], []byte{0}) // while the block is in the processor's cache
	}
	b.done.Store(true)
	return nil
}

// nulsFrom is the number of zero bytes from off on of the string table, which is
// decoded. It looks at one block at most; the others have been counted.
func (d *decoded) nulsFrom(off int) int {
	n := 0
	for i := range d.blocks {
		switch at, size := d.buf.RawRange(i); {
		case at >= int64(off):
			n += d.blocks[i].nuls
		case at+size > int64(off):
			n += bytes.Count(d.raw[off:at+size], []byte{0})
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
