package lazy

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"example.com/tracecache/internal/view"
	"example.com/tracecache/pod"
)

// Callstacks is the Callstacks section. It stays valid after Close.
type Callstacks struct {
	headers  []pod.CallstackHeader
	frames   []pod.ResolvedFrame
	byID     []uint32 // places in headers by ascending id; nil where they ascend as they are
	trailing int      // bytes behind the frames
}

// Callstack is one callstack. Frames, innermost first, are a view of the decoded
// section: read-only, valid after Close.
type Callstack struct {
	ID     uint32
	Frames []pod.ResolvedFrame
}

// Callstacks returns the Callstacks section, loading it on first use. It needs no
// other section.
func (c *Cache) Callstacks() (*Callstacks, error) {
	return access(c, context.Background(), pod.SectionCallstacks, &c.callstacks, (*Cache).loadCallstacks)
}

// Len is the number of callstacks.
func (s *Callstacks) Len() int { return len(s.headers) }

// At is callstack i in file order. Like an index of a slice, an i that is not in
// [0, Len) panics.
func (s *Callstacks) At(i int) Callstack {
	h := s.headers[i]
	off, n := int(h.FrameOffset), int(h.FrameCount)
	return Callstack{ID: h.ID, Frames: s.frames[off : off+n : off+n]}
}

// ByID is the callstack with an id, the first in file order where several have
// it. It takes O(log Len) time.
func (s *Callstacks) ByID(id uint32) (Callstack, bool) {
	if s.byID == nil {
		i, ok := slices.BinarySearchFunc(s.headers, id, func(h pod.CallstackHeader, id uint32) int { return cmp.Compare(h.ID, id) })
		if !ok {
			return Callstack{}, false
		}
		return s.At(i), true
	}
	i, ok := slices.BinarySearchFunc(s.byID, id, func(i, id uint32) int { return cmp.Compare(s.headers[i].ID, id) })
	if !ok {
		return Callstack{}, false
	}
	return s.At(int(s.byID[i])), true
}

// All is every callstack in file order.
func (s *Callstacks) All() iter.Seq[Callstack] {
	return func(yield func(Callstack) bool) {
		for i := range s.headers {
			if !yield(s.At(i)) {
				return
			}
		}
	}
}

func (c *Cache) loadCallstacks(ctx context.Context) (*Callstacks, error) {
	c.pin(pod.SectionCallstacks)
	defer c.unpin(pod.SectionCallstacks)
	d, err := c.load(ctx, pod.SectionCallstacks)
	if err != nil {
		return nil, err
	}
	return parsed(c, d, func() (*Callstacks, int, error) {
		s, err := c.parseCallstacks(d.raw)
		if err != nil {
			return nil, 0, err
		}
		if s.trailing != 0 {
			if err := d.doubt(); err != nil {
				return nil, 0, err
			}
		}
		return s, view.Outside(s.headers, d.raw) + view.Outside(s.frames, d.raw) + view.Outside(s.byID, d.raw), nil
	})
}

// parseCallstacks makes callstacks of the decoded section.
func (c *Cache) parseCallstacks(raw []byte) (*Callstacks, error) {
	p := payload{file: c.file, id: pod.SectionCallstacks, raw: raw}
	s := &Callstacks{headers: list[pod.CallstackHeader](&p, pod.CallstackHeaderSize, "callstacks")}
	var end uint64
	for i, h := range s.headers {
		end = max(end, uint64(h.FrameOffset)+uint64(h.FrameCount))
		if left := uint64(len(raw)-p.off) / pod.ResolvedFrameSize; end > left {
			off := pod.CountSize + i*pod.CallstackHeaderSize
			p.fail(off, "callstack %d has frames %d to %d, %d are stored", h.ID, h.FrameOffset, end, left)
			break
		}
	}
	b := p.take(end*pod.ResolvedFrameSize, "frames")
	if p.err != nil {
		return nil, p.err
	}
	q := payload{file: c.file, id: p.id, raw: b}
	s.frames = records[pod.ResolvedFrame](&q, uint32(end), pod.ResolvedFrameSize, "frames")
	s.trailing = len(raw) - p.off
	s.byID = orderByID(s.headers)
	return s, nil
}

// orderByID sorts the places of headers by id, stably; nil where that changes
// nothing.
func orderByID(headers []pod.CallstackHeader) []uint32 {
	byID := func(a, b pod.CallstackHeader) int { return cmp.Compare(a.ID, b.ID) }
	if slices.IsSortedFunc(headers, byID) {
		return nil
	}
	order := make([]uint32, len(headers))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(a, b uint32) int {
		return cmp.Or(byID(headers[a], headers[b]), cmp.Compare(a, b))
	})
	return order
}
