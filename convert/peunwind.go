package convert

import (
	"debug/pe"
	"encoding/binary"
)

// unwindRanges is the table of pieces of code that unwind in one way: most
// functions are one piece, leaf functions none, some functions several.
type unwindRanges []unwindRange

// unwindRange is one piece.
type unwindRange struct {
	span
	whole uint64 // where its function begins; its own start for the first piece
}

const (
	maxChain          = 8 // from a piece to its function's first piece
	maxUnwindSections = 8
)

// unwindRanges reads the exception directory of x64. Other processors have other
// ones, which say less of sizes.
func (f *peFile) unwindRanges(m *image) (unwindRanges, error) {
	d := f.dir(peException)
	const entry = 12
	if f.header.Machine != pe.IMAGE_FILE_MACHINE_AMD64 || d.Size < entry {
		return nil, nil
	}
	b, err := m.read("exception directory", f.base+uint64(d.VirtualAddress), uint64(d.Size/entry)*entry)
	if err != nil {
		return nil, err
	}
	u := make(unwindRanges, 0, len(b)/entry)
	info := &unwindInfo{m: m, base: f.base, sections: make(map[uint64][]byte)}
	for ; len(b) >= entry; b = b[entry:] {
		start, end := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
		if end <= start {
			continue
		}
		r := unwindRange{span{f.base + uint64(start), f.base + uint64(end)}, f.base + uint64(start)}
		at := binary.LittleEndian.Uint32(b[8:])
		for range maxChain {
			parent, next, ok := info.parent(at)
			if !ok {
				break
			}
			r.whole, at = f.base+uint64(parent), next
		}
		u = append(u, r)
	}
	return u, nil
}

// unwindInfo reads unwind records. They lie in one section or a few, which it
// keeps.
type unwindInfo struct {
	m        *image
	base     uint64
	sections map[uint64][]byte // by address
}

// parent returns where the piece that the record at rva belongs to begins, and
// the record of that one; false if it belongs to none.
func (u *unwindInfo) parent(rva uint32) (start, next uint32, ok bool) {
	if rva&1 != 0 {
		// Not a record, but an entry that stands for this one too.
		return u.entry(rva &^ 1)
	}
	h := u.bytes(rva, 4)
	if h == nil {
		return 0, 0, false
	}
	const chained = 4
	if h[0]>>3&chained == 0 {
		return 0, 0, false
	}
	codes := (uint32(h[2]) + 1) &^ 1
	return u.entry(rva + 4 + 2*codes)
}

// entry reads an entry of the table.
func (u *unwindInfo) entry(rva uint32) (start, next uint32, ok bool) {
	b := u.bytes(rva, 12)
	if b == nil {
		return 0, 0, false
	}
	return binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[8:]), true
}

// bytes returns n bytes at rva, nil if the file has fewer.
func (u *unwindInfo) bytes(rva uint32, n uint64) []byte {
	addr := u.base + uint64(rva)
	sec, ok := u.m.segment(addr)
	if !ok {
		return nil
	}
	b, ok := u.sections[sec.addr]
	if !ok && len(u.sections) < maxUnwindSections {
		// Where the file cannot be read here, it cannot be read elsewhere.
		b, _ = u.m.read("unwind records", sec.addr, sec.filesz)
		u.sections[sec.addr] = b
	}
	if at := addr - sec.addr; at < uint64(len(b)) && n <= uint64(len(b))-at {
		return b[at : at+n]
	}
	return nil
}

// spans is where the pieces lie.
func (u unwindRanges) spans() []span {
	spans := make([]span, len(u))
	for i, r := range u {
		spans[i] = r.span
	}
	return spans
}

// functions are the pieces as functions: without a name, as their only use is
// the size, save those that belong to one of fns and are not its first.
func (u unwindRanges) functions(fns []function) []function {
	names := make(map[uint64]function)
	for _, f := range fns {
		if old, ok := names[f.addr]; !ok || f.rank < old.rank {
			names[f.addr] = f
		}
	}
	out := make([]function, 0, len(u))
	for _, r := range u {
		f := function{addr: r.start, size: r.end - r.start, rank: startRank}
		if r.whole != r.start {
			f.name, f.rank = names[r.whole].name, pePartRank
		}
		out = append(out, f)
	}
	return out
}
