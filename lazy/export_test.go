package lazy

import (
	"context"

	"example.com/tracecache/pod"
)

// What tests see of the inside of a cache.

// DecodedBlocks says of each block of a section whether it is decoded; there is
// none before the section is opened.
func (c *Cache) DecodedBlocks(id pod.Section) []bool {
	s := &c.sections[id]
	done := make([]bool, len(s.blocks))
	for i := range done {
		done[i] = s.blocks[i].done.Load()
	}
	return done
}

// Decoded is the whole of a section, decoded, which nobody else may be reading.
func (c *Cache) Decoded(ctx context.Context, id pod.Section) ([]byte, error) {
	return c.sections[id].load(ctx)
}

// Mark changes the last byte of every decoded block of a section, and returns where
// these are.
func (c *Cache) Mark(id pod.Section, by byte) (at []int) {
	s := &c.sections[id]
	for i := range s.blocks {
		if s.blocks[i].done.Load() {
			off, n := s.buf.RawRange(i)
			s.raw[off+n-1] ^= by
			at = append(at, int(off+n-1))
		}
	}
	return at
}

// SetNamed does as a load that has written names over the records and is about to
// hand the symbols out.
func (c *Cache) SetNamed() {
	s := &c.sections[pod.SectionSymbols]
	s.recordsMu.Lock()
	defer s.recordsMu.Unlock()
	s.named = true
}
