package writer

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"example.com/tracecache/internal/container"
	"example.com/tracecache/pod"
	"example.com/tracecache/trace"
)

// cache is a whole cache file in memory, in the pieces that are written.
type cache struct {
	head     []byte // file header and directory
	sections [pod.SectionCount]*container.Encoded
	tables   [pod.SectionCount][]byte // each section's checksum table
}

// newCache makes a cache of m.
func newCache(m *trace.Model, o *options) (*cache, error) {
	if m == nil {
		return nil, errors.New("expected a model, got nil")
	}
	raw, err := newPayloads(m, o)
	if err != nil {
		return nil, err
	}
	c := &cache{}
	if c.sections, err = encodeAll(raw, o); err != nil {
		return nil, err
	}
	c.place(o.source)
	return c, nil
}

// newPayloads returns the payload of each section, with the symbols of the
// options where there are such.
func newPayloads(m *trace.Model, o *options) ([pod.SectionCount]payload, error) {
	symbols := newSymbolList(m.Symbols)
	if o.symbols != nil {
		var err error
		if symbols, err = collect(o); err != nil {
			return [pod.SectionCount]payload{}, err
		}
	}
	return payloads(m, symbols, o)
}

// encodeAll compresses the sections side by side. The gate in the options keeps
// the work to the number of workers.
func encodeAll(payloads [pod.SectionCount]payload, o *options) (encoded [pod.SectionCount]*container.Encoded, err error) {
	var raw [pod.SectionCount]*io.SectionReader
	var total int64
	for id, p := range payloads {
		raw[id] = p.reader()
		total += raw[id].Size()
	}
	ctx, cancel := context.WithCancel(o.ctx)
	defer cancel()
	encode := o.encode
	encode.Progress = progress(total, o.progress)
	var errs [pod.SectionCount]error
	var wg sync.WaitGroup
	for _, id := range pod.Sections {
		wg.Go(func() {
			encoded[id], errs[id] = container.Encode(ctx, raw[id], encode)
			if errs[id] != nil {
				errs[id] = fmt.Errorf("section %v: %w", id, errs[id])
				cancel() // The file fails, so the other sections need not go on.
			}
		})
	}
	wg.Wait()
	if err := o.ctx.Err(); err != nil {
		return encoded, err
	}
	for _, e := range errs {
		if e != nil && (err == nil || errors.Is(err, context.Canceled)) {
			err = e // One that was cancelled by another is not the cause.
		}
	}
	return encoded, err
}

// progress turns the sizes of finished blocks into calls of report, one at a
// time; nil where report is.
func progress(total int64, report func(done, total int64)) func(int) {
	if report == nil {
		return nil
	}
	var done int64
	var mu sync.Mutex
	return func(n int) {
		mu.Lock()
		defer mu.Unlock()
		done += int64(n)
		report(done, total)
	}
}

// place lays the sections out, in id order and each with its checksum table
// behind it, and makes the header and the directory.
func (c *cache) place(source pod.FileHeader) {
	source.Magic, source.Version = pod.Magic, pod.Version
	var dir pod.Directory
	off := uint64(pod.DataOffset)
	for _, id := range pod.Sections {
		e := &dir[id]
		e.SectionID, e.FileOffset, e.CompressedSize = id, off, uint64(c.sections[id].Size())
		c.tables[id], e.Reserved = container.AppendChecksums(nil, c.sections[id].Checksums)
		off += e.CompressedSize + uint64(len(c.tables[id]))
	}
	c.head = dir.Append(source.Append(nil))
}

// writeTo writes the file and returns how many bytes w took. It stops with the
// context's error once ctx is done.
func (c *cache) writeTo(ctx context.Context, w io.Writer) (int64, error) {
	counted := &countingWriter{ctx: ctx, w: w}
	// Blocks may be as small as 1 KiB; a call of w should not be.
	buf := bufio.NewWriterSize(counted, 256<<10)
	if _, err := buf.Write(c.head); err != nil {
		return counted.n, err
	}
	for id, section := range c.sections {
		if _, err := section.WriteTo(buf); err != nil {
			return counted.n, err
		}
		if _, err := buf.Write(c.tables[id]); err != nil {
			return counted.n, err
		}
	}
	err := buf.Flush()
	return counted.n, err
}

// countingWriter counts what w takes.
type countingWriter struct {
	ctx context.Context
	w   io.Writer
	n   int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := c.w.Write(p)
	c.n += int64(n)
	if n < len(p) && err == nil {
		err = io.ErrShortWrite // Else the rest would be tried again, for ever.
	}
	return n, err
}
