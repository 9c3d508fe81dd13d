package convert

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"example.com/tracecache/pod"
)

// The versions of the Go function table, by the Go release that brought them,
// and how each begins.
const (
	pclntab12  = 0xfffffffb
	pclntab116 = 0xfffffffa
	pclntab118 = 0xfffffff0
	pclntab120 = 0xfffffff1
)

// pclntab is the function table of a Go binary:
//
//	header    magic u32, 0 u16, quantum u8, pointer size u8, number of functions,
//	          and from Go 1.16 on the offsets of the tables below
//	names     NUL-terminated
//	pctab     pc-value tables: what holds from which instruction on
//	functab   per function its pc and the offset of its record, then the last end
//	records   per function its pc, the offset of its name and those of its
//	          pc-value tables
//
// In Go 1.2's version all offsets count from the header.
type pclntab struct {
	order   binary.ByteOrder
	magic   uint32
	quantum uint64
	ptr     int // bytes of a pointer
	field   int // bytes of a field of functab
	nfunc   int
	nameOff uint64 // of the names, from the header

	names   *stringsIn
	pctab   []byte
	functab []byte
	records []byte
}

// parsePclntab reads the header in data, which reaches at least to the end of
// the table.
func parsePclntab(data []byte, order binary.ByteOrder) (*pclntab, error) {
	if len(data) < 8 || data[4] != 0 || data[5] != 0 {
		return nil, fmt.Errorf("%w: Go function table: expected a header, got % x", pod.ErrCorrupt, data[:min(8, len(data))])
	}
	t := &pclntab{order: order, magic: order.Uint32(data), quantum: uint64(data[6]), ptr: int(data[7])}
	if t.ptr != 4 && t.ptr != 8 {
		return nil, fmt.Errorf("%w: Go function table: offset 7: expected a pointer size of 4 or 8, got %d", pod.ErrCorrupt, t.ptr)
	}
	if t.quantum != 1 && t.quantum != 2 && t.quantum != 4 {
		return nil, fmt.Errorf("%w: Go function table: offset 6: expected a quantum of 1, 2 or 4, got %d", pod.ErrCorrupt, t.quantum)
	}
	t.field = t.ptr

	// Words of the header: how many there are, and which are offsets of what.
	var words, names, after, pctab, records int
	switch t.magic {
	case pclntab12:
		return t, t.slice12(data)
	case pclntab116:
		words, names, after, pctab, records = 7, 2, 3, 5, 6
	case pclntab118, pclntab120:
		words, names, after, pctab, records = 8, 3, 4, 6, 7
		t.field = 4
	default:
		return nil, fmt.Errorf("%w: Go function table: unknown version, magic %#x", pod.ErrUnsupported, t.magic)
	}
	if len(data) < 8+words*t.ptr {
		return nil, fmt.Errorf("%w: Go function table: expected a header of %d bytes, got %d", pod.ErrTruncated, 8+words*t.ptr, len(data))
	}
	word := func(i int) uint64 { return t.uint(data[8+i*t.ptr:], t.ptr) }
	for _, i := range []int{names, after, pctab, records} {
		if word(i) > uint64(len(data)) {
			return nil, fmt.Errorf("%w: Go function table: word %d of the header: expected an offset of at most %#x, got %#x",
				pod.ErrCorrupt, i, len(data), word(i))
		}
	}
	if word(after) < word(names) {
		return nil, fmt.Errorf("%w: Go function table: expected the names before %#x, got %#x", pod.ErrCorrupt, word(after), word(names))
	}
	t.nameOff = word(names)
	t.names = newStrings("names of Go functions", data[word(names):word(after)])
	t.pctab = data[word(pctab):]
	t.records = data[word(records):]
	return t, t.sliceFunctab(t.records, word(0))
}

// slice12 finds the parts of a table of Go 1.2's version.
func (t *pclntab) slice12(data []byte) error {
	if len(data) < 8+t.ptr {
		return fmt.Errorf("%w: Go function table: expected a header of %d bytes, got %d", pod.ErrTruncated, 8+t.ptr, len(data))
	}
	t.names = newStrings("names of Go functions", data)
	t.pctab = data
	t.records = data
	return t.sliceFunctab(data[8+t.ptr:], t.uint(data[8:], t.ptr))
}

// sliceFunctab sets the functab of n functions, which b begins with.
func (t *pclntab) sliceFunctab(b []byte, n uint64) error {
	if n == 0 || n >= uint64(len(b)/(2*t.field)) {
		return fmt.Errorf("%w: Go function table: expected between 1 and %d functions, got %d", pod.ErrCorrupt, len(b)/(2*t.field), n)
	}
	t.nfunc = int(n)
	t.functab = b[:(2*t.nfunc+1)*t.field]
	return nil
}

// uint is the integer of n bytes, 4 or 8, at the start of b.
func (t *pclntab) uint(b []byte, n int) uint64 {
	if n == 4 {
		return uint64(t.order.Uint32(b))
	}
	return t.order.Uint64(b)
}

// relative reports whether pcs count from the text start.
func (t *pclntab) relative() bool { return t.magic == pclntab118 || t.magic == pclntab120 }

// pc is where function i begins; for i == nfunc, where the last one ends.
func (t *pclntab) pc(i int) uint64 { return t.uint(t.functab[2*i*t.field:], t.field) }

// functions returns the functions of m that lie in code, which is ascending.
// address turns pcs into addresses.
func (t *pclntab) functions(m *image, address func(pc uint64) (uint64, bool), code []span) ([]function, error) {
	fns := make([]function, 0, t.nfunc)
	for i := range t.nfunc {
		pc, next := t.pc(i), t.pc(i+1)
		if next < pc {
			return nil, fmt.Errorf("%w: Go function table: function %d: expected a pc of at least %#x, got %#x", pod.ErrCorrupt, i+1, pc, next)
		}
		addr, ok := address(pc)
		if !ok || next == pc {
			continue
		}
		c, ok := findSpan(code, addr)
		if !ok {
			continue
		}
		rec := t.uint(t.functab[(2*i+1)*t.field:], t.field)
		room := min(next-pc, c.end-addr)
		name, size, err := t.record(rec, room)
		if err != nil {
			return nil, fmt.Errorf("function %d: %w", i, err)
		}
		if size == 0 && name != "go:buildid" && name != "go.buildid" {
			// The linker's own functions, such as jumps to far places, have no
			// tables. The build id, which is in the text of formats without
			// notes, has none either, but it ends where the next begins.
			if size, err = m.unpadded(addr, room, t.quantum); err != nil {
				return nil, err
			}
		}
		if name != "" && !isGoMarker(name) {
			fns = append(fns, function{addr: addr, size: size, name: name, rank: goRank})
		}
	}
	return fns, nil
}

// record reads the name and the size of the function whose record is at off. It
// has at most room bytes; a size of 0 is not known.
func (t *pclntab) record(off, room uint64) (name string, size uint64, err error) {
	entry := uint64(t.ptr)
	if t.relative() {
		entry = 4
	}
	// Behind the entry: name, arguments, deferreturn, then the offsets of the
	// tables of stack depths, files and lines.
	const fields = 6 * 4
	if off > uint64(len(t.records)) || uint64(len(t.records))-off < entry+fields {
		return "", 0, fmt.Errorf("%w: Go function table: expected a record of %d bytes, got offset %#x of %#x",
			pod.ErrCorrupt, entry+fields, off, len(t.records))
	}
	rec := t.records[off+entry:]
	if name, err = t.names.at(uint64(t.order.Uint32(rec))); err != nil {
		return "", 0, err
	}
	for _, at := range []int{3 * 4, 5 * 4, 4 * 4} {
		if size = t.extent(t.order.Uint32(rec[at:]), room); size > 0 {
			break
		}
	}
	return name, size, nil
}

// extent is how many bytes of code the pc-value table at off covers: those of
// its function, without the padding behind. It is 0 where there is no table or
// it covers more than room.
func (t *pclntab) extent(off uint32, room uint64) uint64 {
	if off == 0 || uint64(off) >= uint64(len(t.pctab)) {
		return 0
	}
	b := t.pctab[off:]
	// Each step is a value delta and a pc delta; a value delta of 0 ends the
	// table, save as the first. Steps that do not advance occur in no table,
	// and refusing them bounds the work by the size of the code.
	for pc := uint64(0); ; {
		value, n := binary.Uvarint(b[:min(len(b), binary.MaxVarintLen32)])
		if n <= 0 {
			return 0
		}
		if value == 0 && pc > 0 {
			return pc
		}
		b = b[n:]
		delta, n := binary.Uvarint(b[:min(len(b), binary.MaxVarintLen32)])
		if n <= 0 || delta == 0 {
			return 0
		}
		b = b[n:]
		if pc += delta * t.quantum; pc > room {
			return 0
		}
	}
}

// unpadded is how many of the n bytes at addr are left without the padding at
// their end, in steps of quantum.
func (m *image) unpadded(addr, n, quantum uint64) (uint64, error) {
	b, err := m.read("code", addr, n)
	if err != nil {
		return 0, err
	}
	for len(b) > 0 && (b[len(b)-1] == 0 || b[len(b)-1] == 0xcc) {
		b = b[:len(b)-1]
	}
	size := (uint64(len(b)) + quantum - 1) / quantum * quantum
	return min(size, n), nil
}

// magics are the last bytes of a little-endian magic and the two behind, or the
// first ones of a big-endian magic.
var (
	littleMagic = []byte{0xff, 0xff, 0xff, 0, 0}
	bigMagic    = []byte{0xff, 0xff, 0xff}
)

// findPclntabs returns the offsets in b of what begins as a function table for
// pointers of ptr bytes.
func findPclntabs(b []byte, order binary.ByteOrder, ptr int) []int {
	pattern, before := littleMagic, 1
	if order == binary.ByteOrder(binary.BigEndian) {
		pattern, before = bigMagic, 0
	}
	var found []int
	for at := 0; ; at++ {
		i := bytes.Index(b[at:], pattern)
		if i < 0 {
			return found
		}
		at += i
		start := at - before
		if start < 0 || len(b)-start < 8 {
			continue
		}
		h := b[start:]
		switch order.Uint32(h) {
		case pclntab12, pclntab116, pclntab118, pclntab120:
			if h[4] == 0 && h[5] == 0 && (h[6] == 1 || h[6] == 2 || h[6] == 4) && int(h[7]) == ptr {
				found = append(found, start)
			}
		}
	}
}
