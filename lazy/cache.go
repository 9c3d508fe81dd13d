package lazy

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"example.com/tracecache/mapped"
	"example.com/tracecache/pod"
)

// Cache is an open cache file.
type Cache struct {
	file     *mapped.File
	opts     options
	account  *account
	closed   atomic.Bool
	sections [pod.SectionCount]section

	strings       cell[Strings]
	records       cell[metadataRecords]
	metadata      cell[Metadata]
	memoryRecords cell[memoryRecords]
	memory        cell[Memory]
	callstacks    cell[Callstacks]
	symbols       cell[Symbols]
	bounds        cell[moduleBounds]
}

// Open opens the cache file path. It reads the header and the directory only.
// The error is [io/fs.ErrNotExist] for a missing file, else one of [ErrFormat],
// [ErrVersion], [ErrTruncated], [ErrCorrupt], [ErrIO], and with [WithSource]
// [ErrStale].
func Open(path string, opts ...Option) (*Cache, error) {
	return open(opts, func() (*mapped.File, error) { return mapped.Open(path) })
}

// NewReader opens the cache of size bytes that r holds, which may be slow or far
// away: only what is needed is read, in few reads. What stands behind a section's
// tables is read with them, and up to 1 MiB of it kept. r must allow parallel calls, from goroutines
// of the Cache too, where a panic of r ends the program; it is not closed by the
// Cache. A read that fills its buffer counts as a success whatever its error. One
// that ends early with io.EOF says that the bytes have ended, which is damage;
// with io.ErrUnexpectedEOF, as a broken connection gives it, it is a failure of the
// moment.
// Errors are those of [Open].
func NewReader(r io.ReaderAt, size int64, opts ...Option) (*Cache, error) {
	return open(opts, func() (*mapped.File, error) { return mapped.NewReader(r, size) })
}

// OpenBytes opens the cache that b holds. b must not change until the Cache is
// closed. Errors are those of [Open].
func OpenBytes(b []byte, opts ...Option) (*Cache, error) {
	return open(opts, func() (*mapped.File, error) { return mapped.OpenBytes(b) })
}

func open(opts []Option, file func() (*mapped.File, error)) (*Cache, error) {
	o, err := newOptions(opts)
	if err != nil {
		return nil, err
	}
	f, err := file()
	if err != nil {
		return nil, err
	}
	if o.hasSource {
		if err := f.Fresh(o.source); err != nil {
			_ = f.Close() // nothing was written; staleness is the error to tell
			return nil, err
		}
	}
	c := &Cache{file: f, opts: o}
	for i := range c.sections {
		s := &c.sections[i]
		s.id, s.file, s.opts = pod.Section(i), f, &c.opts
	}
	c.account = o.budget.open(c)
	return c, nil
}

// Close releases the file and what the cache holds decoded. It waits for nobody: a
// load in flight finishes or fails with [ErrClosed], and every later call of the
// Cache fails with it. What was handed out before stays valid and goes on answering.
// A second Close does nothing and returns nil. A cache that is forgotten without
// Close is closed when the collector finds it.
func (c *Cache) Close() error {
	if c.closed.Swap(true) {
		return nil
	}
	c.account.close()
	c.Release()
	return c.file.Close()
}

// Fresh returns nil where the cache was made from the file source as it is now,
// else an error that matches [ErrStale] and says why. The cost is one stat.
func (c *Cache) Fresh(source string) error {
	if c.closed.Load() {
		return ErrClosed
	}
	defer runtime.KeepAlive(c) // whose file is closed when it goes
	return c.file.Fresh(source)
}

// Load makes sure that sections are decompressed, checked and ready for look-up,
// all of them where none is named. What they need is loaded too: symbols bring
// the string table and Metadata. Sections load side by side. The error joins
// those of all sections that failed. When ctx ends Load returns its error; the
// work stops unless others wait for it.
func (c *Cache) Load(ctx context.Context, ids ...pod.Section) error {
	if len(ids) == 0 {
		ids = pod.Sections[:]
	}
	errs := make([]error, len(ids))
	var wg sync.WaitGroup
	for i, id := range ids {
		wg.Go(func() { errs[i] = c.loadOne(ctx, id) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (c *Cache) loadOne(ctx context.Context, id pod.Section) error {
	var err error
	switch id {
	case pod.SectionStringTable:
		_, err = access(c, ctx, id, &c.strings, (*Cache).loadStrings)
	case pod.SectionMetadata:
		_, err = access(c, ctx, id, &c.metadata, (*Cache).loadMetadata)
	case pod.SectionMemory:
		_, err = access(c, ctx, id, &c.memory, (*Cache).loadMemory)
	case pod.SectionCallstacks:
		_, err = access(c, ctx, id, &c.callstacks, (*Cache).loadCallstacks)
	case pod.SectionSymbols:
		_, err = access(c, ctx, id, &c.symbols, (*Cache).loadSymbols)
	default:
		err = &pod.Error{Path: c.file.Path(), Section: id, Err: ErrNotFound}
	}
	return err
}

// access is how every accessor gets at what it hands out, which is of section id. A
// closed cache hands out nothing.
func access[T any](c *Cache, ctx context.Context, id pod.Section, cell *cell[T], load func(*Cache, context.Context) (*T, error)) (*T, error) {
	if c.closed.Load() {
		return nil, ErrClosed
	}
	c.touch(id)
	if v := cell.val.Load(); v != nil {
		return v, nil // the usual case, without the closure below
	}
	return get(c, ctx, cell, load)
}

// get is what a cell has, or what load makes for it.
func get[T any](c *Cache, ctx context.Context, cell *cell[T], load func(*Cache, context.Context) (*T, error)) (*T, error) {
	return cell.get(ctx, func(ctx context.Context) (*T, error) {
		v, err := load(c, ctx)
		if err != nil {
			c.note(err)
			return nil, err
		}
		return v, nil
	})
}

// load decodes the whole of a section, which is admitted together with others. The
// caller has pinned them.
func (c *Cache) load(ctx context.Context, id pod.Section, with ...pod.Section) (*decoded, error) {
	s := &c.sections[id]
	s.loading.Add(1)
	defer s.loading.Add(-1)
	d, err := c.admit(id, with...)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	if err := d.load(ctx); err != nil {
		return nil, err
	}
	c.log(slog.LevelDebug, "tracecache: section loaded", "section", id, "bytes", len(d.raw), "time", time.Since(start))
	return d, nil
}

// Header is the file header.
func (c *Cache) Header() pod.FileHeader { return c.file.Header() }

// Mapped reports whether the file is memory-mapped, as against read.
func (c *Cache) Mapped() bool { return c.file.Mapped() }

// Size is the size of the file in bytes when it was opened.
func (c *Cache) Size() int64 { return c.file.Size() }

// SectionInfo says how a section is stored.
type SectionInfo struct {
	Entry     pod.DirectoryEntry
	Header    pod.BufferHeader
	Blocks    int  // blocks, or for stored bytes the pieces that have a checksum
	Checksums bool // whether each block has a checksum
}

// Info reads how a section is stored: its container's header, block table and
// checksum table, which are checked. Nothing is decompressed or kept. It gives
// the directory entry of a section that fails, too, and where the compression
// method is not supported also the header, as it is stored.
func (c *Cache) Info(id pod.Section) (SectionInfo, error) {
	if c.closed.Load() {
		return SectionInfo{}, ErrClosed
	}
	defer runtime.KeepAlive(c)
	if id >= pod.SectionCount {
		return SectionInfo{}, &pod.Error{Path: c.file.Path(), Section: id, Err: ErrNotFound}
	}
	info := SectionInfo{Entry: c.file.Entry(id)}
	buf, _, err := openBuffer(c.file, id, math.MaxInt64)
	if err != nil {
		if errors.Is(err, ErrUnsupported) {
			info.Header = c.storedHeader(id)
		}
		return info, err
	}
	info.Header = buf.Header()
	info.Blocks = buf.NumBlocks()
	info.Checksums = info.Entry.Reserved != 0
	return info, nil
}

// storedHeader is the header of a section's container, unchecked; zero where it
// cannot be read.
func (c *Cache) storedHeader(id pod.Section) pod.BufferHeader {
	var b [pod.BufferHeaderSize]byte
	place, err := c.file.Section(id)
	if err != nil {
		return pod.BufferHeader{}
	}
	if _, err := place.ReadAt(b[:], 0); err != nil {
		return pod.BufferHeader{}
	}
	return pod.DecodeBufferHeader(b[:])
}
