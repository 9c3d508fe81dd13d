package lazy

import (
	"bytes"
	"context"
	"encoding/binary"

	"example.com/tracecache/internal/bounds"
	"example.com/tracecache/internal/view"
	"example.com/tracecache/pod"
)

// blockSize is the number of decoded bytes in each block but the last of an open
// section that has blocks.
func (s *section) blockSize() int {
	_, n := s.buf.RawRange(0)
	return int(n)
}

// decodeAlone is decode for a block that is wanted without its neighbours.
func (s *section) decodeAlone(i int) error {
	if s.blocks[i].done.Load() {
		return nil
	}
	off, n := s.buf.RawRange(i)
	view.Prefault(s.raw[off : off+n])
	return s.decode(i)
}

// need decodes the blocks that hold the n bytes from off on of an open section,
// as far as the section has them. Those that are stored next to one another are
// read together.
func (s *section) need(off, n int) error {
	n = min(n, len(s.raw)-off)
	if n <= 0 {
		return nil
	}
	first, last := off/s.blockSize(), (off+n-1)/s.blockSize()
	for first < last && s.blocks[first].done.Load() {
		first++
	}
	if first < last {
		start, _ := s.buf.StoredRange(first)
		end, size := s.buf.StoredRange(last)
		s.file.ReadAhead(s.base+start, end+size-start)
	}
	for i := first; i <= last; i++ {
		if err := s.decodeAlone(i); err != nil {
			return err
		}
	}
	return nil
}

// payload is a walk over an open section, of which only what need decoded may be
// looked at.
func (c *Cache) payload(s *section) payload {
	return payload{file: c.file, id: s.id, raw: s.raw}
}

// counted decodes the count of a list and takes the list's bytes, which are not
// decoded by this.
func (p *payload) counted(s *section, size uint64, what string) (n uint32, list []byte) {
	if p.err != nil {
		return 0, nil
	}
	if err := s.need(p.off, pod.CountSize); err != nil {
		p.err = err
		return 0, nil
	}
	n = p.count(what)
	return n, p.takeList(n, size, what)
}

// name is string i of the table. Where the table is not loaded only the blocks
// that hold it are decoded. It ends at its first NUL, in every table.
func (c *Cache) name(i pod.StringIndex) (string, error) {
	if strings := c.strings.val.Load(); strings != nil {
		return strings.name(i), nil
	}
	s := &c.sections[pod.SectionStringTable]
	if err := s.open(); err != nil {
		return "", err
	}
	p := c.payload(s)
	n, offsets := p.counted(s, pod.StringOffsetSize, "string offsets")
	if size := uint64(len(p.raw) - p.off); size > maxPacked {
		p.fail(p.off, "%d bytes of strings, offsets reach %d", size, uint64(maxPacked))
	}
	if p.err != nil || uint64(i) >= uint64(n) {
		return "", p.err
	}
	at := int(i) * pod.StringOffsetSize
	if err := s.need(pod.CountSize+at, pod.StringOffsetSize); err != nil {
		return "", err
	}
	off := uint64(binary.LittleEndian.Uint32(offsets[at:]))
	if off >= uint64(len(p.raw)-p.off) {
		return "", nil
	}
	start := p.off + int(off)
	// The next string most likely starts where this one ends. That it does is not
	// relied on: it tells which blocks to read together.
	if at += pod.StringOffsetSize; at < len(offsets) && (pod.CountSize+at)%s.blockSize() != 0 {
		next := uint64(binary.LittleEndian.Uint32(offsets[at:]))
		if next > off && next-off <= uint64(s.blockSize()) {
			if err := s.need(start, int(next-off)); err != nil {
				return "", err
			}
		}
	}
	return s.text(start)
}

// longName is how far a name is followed for each look-up anew.
const longName = 1 << 20

// text is the bytes of the section from start on up to a NUL or the end. A load
// finds where a long name ends, once.
func (s *section) text(start int) (string, error) {
	for end := start; end < len(s.raw); {
		if end-start > longName {
			return "", errWhole
		}
		i := end / s.blockSize()
		if err := s.decodeAlone(i); err != nil {
			return "", err
		}
		limit := min((i+1)*s.blockSize(), len(s.raw))
		if n := bytes.IndexByte(s.raw[end:limit], 0); n >= 0 {
			return view.String(s.raw[start : end+n]), nil
		}
		end = limit
	}
	return view.String(s.raw[start:]), nil
}

// moduleBounds are where the modules lie, without the string table, and which
// strings are their names. They hold no memory of the section.
type moduleBounds struct {
	bounds bounds.Map
	names  []pod.StringIndex
}

// loadBounds makes the bounds of the blocks of Metadata that list the modules. A
// section of one block is checked whole.
func (c *Cache) loadBounds(ctx context.Context) (*moduleBounds, error) {
	s := &c.sections[pod.SectionMetadata]
	if err := s.open(); err != nil {
		return nil, err
	}
	var modules []pod.ModuleInfo
	if len(s.blocks) <= 1 {
		records, err := c.records.get(ctx, c.loadMetadataRecords)
		if err != nil {
			return nil, err
		}
		modules = records.modules
	} else {
		var err error
		if modules, err = c.firstModules(s); err != nil {
			return nil, err
		}
	}
	m := &moduleBounds{bounds: bounds.New(ranges(modules)), names: make([]pod.StringIndex, len(modules))}
	for i, mod := range modules {
		m.names[i] = mod.Name
	}
	return m, nil
}

// firstModules are the modules of an open Metadata section, and nothing of what
// stands behind them.
func (c *Cache) firstModules(s *section) ([]pod.ModuleInfo, error) {
	p := c.payload(s)
	p.take(pod.MetadataSize, "metadata record")
	p.counted(s, pod.ThreadInfoSize, "threads")
	p.counted(s, pod.ChannelInfoSize, "channels")
	_, list := p.counted(s, pod.ModuleInfoSize, "modules")
	if p.err != nil {
		return nil, p.err
	}
	if err := s.need(p.off-len(list), len(list)); err != nil {
		return nil, err
	}
	return view.Slice[pod.ModuleInfo](list)
}
