package foreign

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
)

// leaf is a run of bytes with one meaning.
type leaf struct {
	off   int
	bytes []byte
	what  string // the field's name, or what stands here
	value any    // uint64, int64, float64, a string, or nil where the bytes say it all
	note  string
}

// hexed is a number that people read in hexadecimal.
type hexed uint64

func (h hexed) String() string { return fmt.Sprintf("%#x", uint64(h)) }

// rec is one record of a list, or a fixed record.
type rec map[string]any

// walker goes through bytes from the first to the last and leaves none out.
type walker struct {
	b       []byte
	off     int
	order   binary.ByteOrder
	strs    func(uint32) string
	leaves  []leaf
	section string
}

// take is the next n bytes.
func (w *walker) take(n int, what string, value any, note string) []byte {
	if n < 0 || n > len(w.b)-w.off {
		panic(fmt.Sprintf("%s: %s of %d bytes at %#x: the end is at %#x", w.section, what, n, w.off, len(w.b)))
	}
	b := w.b[w.off : w.off+n]
	if n > 0 {
		w.leaves = append(w.leaves, leaf{off: w.off, bytes: b, what: what, value: value, note: note})
	}
	w.off += n
	return b
}

// u32 is a number that belongs to no record, such as a count.
func (w *walker) u32(what string) uint64 {
	b := w.take(4, what, nil, "")
	v := uint64(w.order.Uint32(b))
	w.leaves[len(w.leaves)-1].value = v
	return v
}

// record reads one record.
func (w *walker) record(name, label string) rec {
	r := rec{}
	fs, _ := record(name)
	for _, f := range fs {
		b := w.take(f.width()*f.count, label+f.name, nil, "")
		l := &w.leaves[len(w.leaves)-1]
		if f.typ == "pad" {
			l.what = label + "zero"
			if len(bytes.Trim(b, "\x00")) > 0 {
				l.what = label + "padding, not zero"
			}
			continue
		}
		if f.count > 1 {
			var all []any
			for i := 0; i < len(b); i += f.width() {
				all = append(all, w.value(f.typ, b[i:]))
			}
			r[f.name] = all
			if f.typ != "u8" {
				l.value = all
			}
			continue
		}
		r[f.name] = w.value(f.typ, b)
		l.value = r[f.name]
		if f.typ == "str" {
			l.note = fmt.Sprintf("string %d", w.order.Uint32(b))
		}
		switch f.name {
		case "Address", "Base", "Magic", "Crc32", "Reserved", "FileOffset":
			l.value = hexed(l.value.(uint64))
		}
	}
	return r
}

func (w *walker) value(typ string, b []byte) any {
	switch typ {
	case "u8":
		return uint64(b[0])
	case "u32":
		return uint64(w.order.Uint32(b))
	case "u64":
		return w.order.Uint64(b)
	case "i32":
		return int64(int32(w.order.Uint32(b)))
	case "i64":
		return int64(w.order.Uint64(b))
	case "f64":
		return math.Float64frombits(w.order.Uint64(b))
	case "str":
		return w.strs(w.order.Uint32(b))
	}
	panic("no type " + typ)
}

// list reads a count and that many records.
func (w *walker) list(name string) (rs []rec) {
	n := w.u32(name + " count")
	for i := range n {
		rs = append(rs, w.record(name, fmt.Sprintf("%s[%d] ", name, i)))
	}
	return rs
}

// content is what a file holds: fixed records and lists by the record's name.
type content struct {
	strs  func(uint32) string
	fixed map[string]rec
	lists map[string][]rec
	blob  []byte // the image ids
}

// strings walks through the StringTable section.
func (c *content) strings(w *walker) {
	count := w.u32("count")
	offs := make([]uint64, count)
	for i := range offs {
		offs[i] = w.u32(fmt.Sprintf("offset[%d]", i))
	}
	packed := w.b[w.off:]
	for w.off < len(w.b) {
		rest := w.b[w.off:]
		n := len(rest)
		if end := bytes.IndexByte(rest, 0); end >= 0 {
			n = end + 1
		}
		w.take(n, fmt.Sprintf("packed+%#x", w.off-(len(w.b)-len(packed))), string(bytes.TrimSuffix(rest[:n], []byte{0})), "")
	}
	c.strs = func(i uint32) string {
		if uint64(i) >= count || offs[i] >= uint64(len(packed)) {
			return ""
		}
		s := packed[offs[i]:]
		if end := bytes.IndexByte(s, 0); end >= 0 {
			s = s[:end]
		}
		return string(s)
	}
}

// records walks through Metadata or Memory.
func (c *content) records(w *walker, fixed string) {
	c.fixed[fixed] = w.record(fixed, "")
	for _, name := range lists[fixed] {
		c.lists[name] = w.list(name)
		if name == "ModuleInfo" {
			var end uint64
			for _, m := range c.lists[name] {
				end = max(end, m["ImageIdOffset"].(uint64)+m["ImageIdSize"].(uint64))
			}
			c.blob = w.take(size(end), "image ids", nil, "")
		}
	}
}

// callstacks walks through the Callstacks section.
func (c *content) callstacks(w *walker) {
	c.lists["CallstackHeader"] = w.list("CallstackHeader")
	end := uint64(0)
	for _, h := range c.lists["CallstackHeader"] {
		end = max(end, h["FrameOffset"].(uint64)+h["FrameCount"].(uint64))
	}
	for i := range end {
		c.lists["ResolvedFrame"] = append(c.lists["ResolvedFrame"], w.record("ResolvedFrame", fmt.Sprintf("ResolvedFrame[%d] ", i)))
	}
}

// payload walks through the decompressed bytes of a section.
func (c *content) payload(id int, b []byte) []leaf {
	w := &walker{b: b, order: binary.LittleEndian, strs: c.strs, section: names[id]}
	switch id {
	case 0:
		c.strings(w)
	case 1:
		c.records(w, "Metadata")
	case 2:
		c.records(w, "AllocSummary")
	case 3:
		c.callstacks(w)
	case 4:
		c.lists["SymbolEntry"] = w.list("SymbolEntry")
	}
	w.take(len(b)-w.off, "trailing bytes", nil, "")
	return w.leaves
}

var names = [5]string{"strings", "metadata", "memory", "callstacks", "symbols"}
