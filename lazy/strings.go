package lazy

import (
	"bytes"
	"cmp"
	"context"
	"math"
	"slices"
	"sync/atomic"

	"example.com/tracecache/internal/parallel"
	"example.com/tracecache/internal/view"
	"example.com/tracecache/pod"
)

// Strings is the string table. It stays valid after Close.
type Strings struct {
	offsets []pod.StringOffset
	packed  []byte
	lens    []uint32 // bytes of each string; nil where the table is packed
}

// Strings returns the string table, loading it on first use. Its errors are
// those of the StringTable section.
func (c *Cache) Strings() (*Strings, error) {
	return access(c, context.Background(), pod.SectionStringTable, &c.strings, (*Cache).loadStrings)
}

// Len is the number of strings.
func (s *Strings) Len() int { return len(s.offsets) }

// At is string i, without a copy; it stays valid after Close. It is empty where
// the table has no string i or no bytes for it. It takes constant time and does
// not look at the string's bytes.
func (s *Strings) At(i int) string {
	if uint(i) >= uint(len(s.offsets)) {
		return ""
	}
	off, n := s.place(i)
	return view.String(s.packed[off : off+n])
}

// name is the string that a record's field means.
func (s *Strings) name(i pod.StringIndex) string {
	if uint64(i) >= uint64(len(s.offsets)) {
		return ""
	}
	return s.At(int(i))
}

// place is where in the packed bytes string i of the table is; n is 0 where there
// are no bytes for it.
func (s *Strings) place(i int) (off, n uint64) {
	off = uint64(s.offsets[i])
	switch {
	case off >= uint64(len(s.packed)):
		return 0, 0
	case s.lens != nil:
		return off, uint64(s.lens[i])
	case i+1 < len(s.offsets):
		return off, uint64(s.offsets[i+1]) - 1 - off
	}
	return off, uint64(len(s.packed)) - 1 - off
}

func (c *Cache) loadStrings(ctx context.Context) (*Strings, error) {
	c.pin(pod.SectionStringTable)
	defer c.unpin(pod.SectionStringTable)
	d, err := c.load(ctx, pod.SectionStringTable)
	if err != nil {
		return nil, err
	}
	return parsed(c, d, func() (*Strings, int, error) {
		s, err := c.parseStrings(d.raw)
		if err != nil {
			return nil, 0, err
		}
		if d.nulsFrom(len(d.raw)-len(s.packed)) != len(s.offsets) || !s.isPacked() {
			if err := d.doubt(); err != nil {
				return nil, 0, err
			}
			s.lens = s.findLens()
		}
		return s, view.Outside(s.offsets, d.raw) + view.Outside(s.lens, d.raw), nil
	})
}

// maxPacked is how many bytes of strings 32-bit offsets can reach.
const maxPacked = 1 << 32

// parseStrings makes a string table of the decoded section. Where the strings are
// not packed it lacks their lengths.
func (c *Cache) parseStrings(raw []byte) (*Strings, error) {
	p := payload{file: c.file, id: pod.SectionStringTable, raw: raw}
	s := &Strings{offsets: list[pod.StringOffset](&p, pod.StringOffsetSize, "string offsets")}
	if p.err != nil {
		return nil, p.err
	}
	s.packed = raw[p.off:len(raw):len(raw)]
	if n := uint64(len(s.packed)); n > maxPacked {
		p.fail(p.off, "%d bytes of strings, offsets reach %d", n, uint64(maxPacked))
		return nil, p.err
	}
	return s, nil
}

// isPacked reports whether the strings stand one behind the other, each with the
// one NUL that ends it, so that a string ends where the next one starts. It is so
// in every table of a usual writer. There must be as many NULs as strings (see
// [decoded.nulsFrom]): then none is left over where each string ends with one.
func (s *Strings) isPacked() bool {
	n, size := len(s.offsets), uint64(len(s.packed))
	if n == 0 {
		return size == 0
	}
	if s.offsets[0] != 0 || size == 0 || s.packed[size-1] != 0 {
		return false
	}
	var loose atomic.Bool
	parallel.Each(n-1, func(lo, hi int) {
		at := uint64(s.offsets[lo])
		for _, off := range s.offsets[lo+1 : hi+1] {
			next := uint64(off)
			if next <= at || next >= size || s.packed[next-1] != 0 {
				loose.Store(true)
				return
			}
			at = next
		}
	})
	return !loose.Load()
}

// findLens finds the length of every string of a table in which strings may overlap,
// be out of order or miss their NUL. Going from the last offset to the first, a
// string that reaches the next higher offset ends where the one there does, so
// each byte is looked at once.
func (s *Strings) findLens() []uint32 {
	order := make([]uint32, len(s.offsets))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(a, b uint32) int { return cmp.Compare(s.offsets[b], s.offsets[a]) })
	lens := make([]uint32, len(s.offsets))
	size := uint64(len(s.packed))
	nextOff, nextEnd := size, size
	for _, i := range order {
		off := uint64(s.offsets[i])
		if off >= size {
			continue // empty
		}
		if n := bytes.IndexByte(s.packed[off:nextOff], 0); n >= 0 {
			nextEnd = off + uint64(n)
		}
		nextOff = off
		lens[i] = uint32(min(nextEnd-off, math.MaxUint32))
	}
	return lens
}
