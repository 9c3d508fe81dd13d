package lazy

import (
	"bytes"
	"context"
	"encoding/binary"
	"time"

	"example.com/tracecache/internal/bounds"
	"example.com/tracecache/internal/view"
	"example.com/tracecache/pod"
)

// blockSize is the number of decoded bytes in each block but the last of an open
// section that has blocks.
func (d *decoded) blockSize() int {
	_, n := d.buf.RawRange(0)
	return int(n)
}

// decodeAlone is decode for a block that is wanted without its neighbours.
func (d *decoded) decodeAlone(i int) error {
	if d.blocks[i].done.Load() {
		return nil
	}
	defer d.spend(time.Now())
	off, n := d.buf.RawRange(i)
	view.Prefault(d.raw[off : off+n])
	return d.decode(i)
}

// need decodes the blocks that hold the n bytes from off on of an open section,
// as far as the section has them. Those that are stored next to one another are
// read together.
func (d *decoded) need(off, n int) error {
	n = min(n, len(d.raw)-off)
	if n <= 0 {
		return nil
	}
	first, last := off/d.blockSize(), (off+n-1)/d.blockSize()
	for first < last && d.blocks[first].done.Load() {
		first++
	}
	if first < last {
		start, _ := d.buf.StoredRange(first)
		end, size := d.buf.StoredRange(last)
		d.file.ReadAhead(d.base+start, end+size-start)
	}
	for i := first; i <= last; i++ {
		if err := d.decodeAlone(i); err != nil {
			return err
		}
	}
	return nil
}

// payload is a walk over an open section, of which only what need decoded may be
// looked at.
func (d *decoded) payload() payload {
	return payload{file: d.file, id: d.id, raw: d.raw}
}

// counted decodes the count of a list and takes the list's bytes, which are not
// decoded by this.
func (p *payload) counted(d *decoded, size uint64, what string) (n uint32, list []byte) {
	if p.err != nil {
		return 0, nil
	}
	if err := d.need(p.off, pod.CountSize); err != nil {
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
	d, err := c.admit(pod.SectionStringTable)
	if err != nil {
		return "", err
	}
	p := d.payload()
	n, offsets := p.counted(d, pod.StringOffsetSize, "string offsets")
	if size := uint64(len(p.raw) - p.off); size > maxPacked {
		p.fail(p.off, "%d bytes of strings, offsets reach %d", size, uint64(maxPacked))
	}
	if p.err != nil {
		return "", p.err
	}
	if !d.buf.HasChecksums() {
		if err := d.fits(offsets, p.off); err != nil {
			return "", err
		}
	}
	if uint64(i) >= uint64(n) {
		return "", nil
	}
	at := int(i) * pod.StringOffsetSize
	if err := d.need(pod.CountSize+at, pod.StringOffsetSize); err != nil {
		return "", err
	}
	off := uint64(binary.LittleEndian.Uint32(offsets[at:]))
	if off >= uint64(len(p.raw)-p.off) {
		return "", nil
	}
	start := p.off + int(off)
	// The next string most likely starts where this one ends. That it does is not
	// relied on: it tells which blocks to read together.
	if at += pod.StringOffsetSize; at < len(offsets) && (pod.CountSize+at)%d.blockSize() != 0 {
		next := uint64(binary.LittleEndian.Uint32(offsets[at:]))
		if next > off && next-off <= uint64(d.blockSize()) {
			if err := d.need(start, int(next-off)); err != nil {
				return "", err
			}
		}
	}
	return d.text(start)
}

// fits sees that the last string of the table ends where the section does, which a
// changed count would not let it do. It decodes the blocks that this takes, and looks
// once.
func (d *decoded) fits(offsets []byte, start int) error {
	if d.fitting.Load() {
		return nil
	}
	if len(offsets) == 0 {
		if start < len(d.raw) {
			return errWhole
		}
		return nil
	}
	first, last := offsets[:pod.StringOffsetSize], offsets[len(offsets)-pod.StringOffsetSize:]
	for _, at := range []int{pod.CountSize, start - pod.StringOffsetSize} {
		if err := d.need(at, pod.StringOffsetSize); err != nil {
			return err
		}
	}
	size := uint64(len(d.raw) - start)
	off := uint64(binary.LittleEndian.Uint32(last))
	if binary.LittleEndian.Uint32(first) != 0 || off >= size || size-off > longName {
		return errWhole
	}
	from := max(start, start+int(off)-1) // with the NUL of the one before
	if err := d.need(from, len(d.raw)-from); err != nil {
		return err
	}
	if off > 0 && d.raw[from] != 0 || bytes.IndexByte(d.raw[start+int(off):], 0) != int(size-off)-1 {
		return errWhole
	}
	d.fitting.Store(true)
	return nil
}

// longName is how far a name is followed for each look-up anew.
const longName = 1 << 20

// text is the bytes of the section from start on up to a NUL or the end. A load
// finds where a long name ends, once.
func (d *decoded) text(start int) (string, error) {
	for end := start; end < len(d.raw); {
		if end-start > longName {
			return "", errWhole
		}
		i := end / d.blockSize()
		if err := d.decodeAlone(i); err != nil {
			return "", err
		}
		limit := min((i+1)*d.blockSize(), len(d.raw))
		if n := bytes.IndexByte(d.raw[end:limit], 0); n >= 0 {
			return view.String(d.raw[start : end+n]), nil
		}
		end = limit
	}
	return view.String(d.raw[start:]), nil
}

// moduleBounds are where the modules lie, without the string table, and which
// strings are their names. They hold no memory of the section.
type moduleBounds struct {
	bounds bounds.Map
	names  []pod.StringIndex
}

// loadBounds makes the bounds of the blocks of Metadata that list the modules. A
// section of one block, or without checksums, is checked whole.
func (c *Cache) loadBounds(ctx context.Context) (*moduleBounds, error) {
	c.pin(pod.SectionMetadata)
	defer c.unpin(pod.SectionMetadata)
	d, err := c.admit(pod.SectionMetadata)
	if err != nil {
		return nil, err
	}
	var modules []pod.ModuleInfo
	if len(d.blocks) <= 1 || !d.buf.HasChecksums() {
		records, err := get(c, ctx, &c.records, (*Cache).loadMetadataRecords)
		if err != nil {
			return nil, err
		}
		modules = records.modules
	} else {
		if modules, err = d.firstModules(); err != nil {
			return nil, err
		}
	}
	m := &moduleBounds{bounds: bounds.New(ranges(modules)), names: make([]pod.StringIndex, len(modules))}
	for i, mod := range modules {
		m.names[i] = mod.Name
	}
	if d.bounded.Swap(true) {
		return m, nil // counted
	}
	return m, c.grow(d, m.bounds.Size()+pod.CountSize*len(m.names))
}

// firstModules are the modules of an open Metadata section, and nothing of what
// stands behind them.
func (d *decoded) firstModules() ([]pod.ModuleInfo, error) {
	p := d.payload()
	p.take(pod.MetadataSize, "metadata record")
	p.counted(d, pod.ThreadInfoSize, "threads")
	p.counted(d, pod.ChannelInfoSize, "channels")
	_, list := p.counted(d, pod.ModuleInfoSize, "modules")
	if p.err != nil {
		return nil, p.err
	}
	if err := d.need(p.off-len(list), len(list)); err != nil {
		return nil, err
	}
	return view.Slice[pod.ModuleInfo](list)
}
