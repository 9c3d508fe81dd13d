package lazy

import (
	"context"
	"io/fs"
	"os"

	"example.com/tracecache/pod"
)

// What tests see of the inside of a cache.

// DecodedBlocks says of each block of a section whether it is decoded; there is
// none before the section is opened.
func (c *Cache) DecodedBlocks(id pod.Section) []bool {
	d := c.sections[id].state.Load()
	if d == nil {
		return nil
	}
	done := make([]bool, len(d.blocks))
	for i := range done {
		done[i] = d.blocks[i].done.Load()
	}
	return done
}

// Decoded is the whole of a section, decoded, which nobody else may be reading.
func (c *Cache) Decoded(ctx context.Context, id pod.Section) ([]byte, error) {
	d, err := c.load(ctx, id)
	if err != nil {
		return nil, err
	}
	return d.raw, nil
}

// Mark changes the last byte of every decoded block of a section, and returns where
// these are.
func (c *Cache) Mark(id pod.Section, by byte) (at []int) {
	d := c.sections[id].state.Load()
	for i := range d.blocks {
		if d.blocks[i].done.Load() {
			off, n := d.buf.RawRange(i)
			d.raw[off+n-1] ^= by
			at = append(at, int(off+n-1))
		}
	}
	return at
}

// CountStats counts the looks that Refresh takes at the file.
func (f *Follower) CountStats() *int {
	n := new(int)
	f.stat = func(path string) (fs.FileInfo, error) { *n++; return os.Stat(path) }
	return n
}

// Poll is Run where the system does not tell.
func (f *Follower) Poll(ctx context.Context, onChange func(*Cache, error)) error {
	return f.run(ctx, nil, onChange)
}

// OpenCopy opens a file as a follower does on Windows.
func OpenCopy(path string, opts ...Option) (*Cache, error) { return openCopy(path, opts) }

// SetNamed does as a load that has written names over the records and is about to
// hand the symbols out.
func (c *Cache) SetNamed() {
	d := c.sections[pod.SectionSymbols].state.Load()
	d.recordsMu.Lock()
	defer d.recordsMu.Unlock()
	d.named = true
}
