package convert

import (
	"encoding/binary"
	"fmt"
	"strings"

	"example.com/tracecache/pod"
)

// Bits of a Mach-O symbol's type and description.
const (
	symStab    = 0xe0
	symType    = 0x0e
	symSection = 0x0e
	symExtern  = 0x01
	symWeakDef = 0x80
)

// startRank puts beginnings without a name behind every name.
const startRank = 200

// symbols reads the functions of the symbol table, and where it and the sections
// say that Go's tables are.
func (f *machoFile) symbols() ([]function, goTable, error) {
	var table goTable
	for i := range f.sections {
		switch s := &f.sections[i]; fixedName(s.Name) {
		case sectionGoTable:
			table.pclntab = s.Addr
		case sectionGoModule:
			table.moduledata = s.Addr
		}
	}
	if f.symtab.Nsyms == 0 {
		return nil, table, nil
	}
	entry := uint64(12)
	if f.is64 {
		entry = 16
	}
	syms, err := f.read("symbol table", uint64(f.symtab.Symoff), uint64(f.symtab.Nsyms)*entry)
	if err != nil {
		return nil, table, err
	}
	strs, err := f.read("symbol names", uint64(f.symtab.Stroff), uint64(f.symtab.Strsize))
	if err != nil {
		return nil, table, err
	}
	names := newStrings("symbol names", strs)
	var fns []function
	for i := 0; len(syms) > 0; i, syms = i+1, syms[entry:] {
		fn, ok, err := f.symbol(syms, names, &table)
		if err != nil {
			return nil, table, fmt.Errorf("symbol %d: %w", i, err)
		}
		if ok {
			fns = append(fns, fn)
		}
	}
	return fns, table, nil
}

// symbol reads the symbol at the start of b, if it is a function.
func (f *machoFile) symbol(b []byte, names *stringsIn, table *goTable) (fn function, ok bool, err error) {
	typ, sect, desc := b[4], int(b[5]), f.order.Uint16(b[6:])
	addr := uint64(f.order.Uint32(b[8:]))
	if f.is64 {
		addr = f.order.Uint64(b[8:])
	}
	if typ&symStab != 0 || typ&symType != symSection || sect == 0 || sect > len(f.sections) {
		return fn, false, nil
	}
	name, err := names.at(uint64(f.order.Uint32(b)))
	if err != nil {
		return fn, false, err
	}
	s := &f.sections[sect-1]
	if !isCode(s) {
		switch strings.TrimPrefix(name, "_") {
		case goModuleSymbol:
			table.moduledata = addr
		case goFunctionSymbol:
			if table.pclntab == 0 {
				table.pclntab = addr
			}
		}
		return fn, false, nil
	}
	if addr < s.Addr || addr-s.Addr >= s.Size || name == "" || isGoMarker(name) {
		return fn, false, nil
	}
	rank := 4
	if typ&symExtern != 0 {
		rank = 0
		if desc&symWeakDef != 0 {
			rank = 2
		}
	}
	return function{addr: addr, name: name, rank: rank}, true, nil
}

// functionStarts reads where functions begin, whether they have a name or not.
func (f *machoFile) functionStarts() ([]function, error) {
	if f.starts.size == 0 {
		return nil, nil
	}
	b, err := f.read("function starts", uint64(f.starts.off), uint64(f.starts.size))
	if err != nil {
		return nil, err
	}
	addr := f.textAddr()
	var fns []function
	for len(b) > 0 {
		delta, n := binary.Uvarint(b)
		if n <= 0 {
			return nil, fmt.Errorf("%w: function starts: expected a number at offset %#x", pod.ErrCorrupt,
				uint64(f.starts.off)+uint64(f.starts.size)-uint64(len(b)))
		}
		if delta == 0 {
			break // the rest is padding
		}
		b = b[n:]
		addr += delta
		start := addr
		if f.cpu == cpuARM {
			start &^= 1 // says that the code is Thumb
		}
		fns = append(fns, function{addr: start, rank: startRank})
	}
	return fns, nil
}

// textAddr is the address of the text segment, which the header is in.
func (f *machoFile) textAddr() uint64 {
	for _, s := range f.segs {
		if fixedName(s.Name) == textSegment {
			return s.Addr
		}
	}
	return 0
}

// Formats of chained fixups, in which stored pointers hold more than an address.
const (
	chained64       = 2 // the address
	chained64Offset = 6 // its distance from the header
)

// pointerFormat says how to read stored pointers: nil where they are addresses.
func (f *machoFile) pointerFormat() (func(uint64) uint64, error) {
	if f.chained.size == 0 || !f.is64 {
		return nil, nil
	}
	b, err := f.read("chained fixups", uint64(f.chained.off), uint64(f.chained.size))
	if err != nil {
		return nil, err
	}
	corrupt := fmt.Errorf("%w: chained fixups at offset %#x: expected the starts of %d segments",
		pod.ErrCorrupt, f.chained.off, len(f.segs))
	at := func(off uint64, n uint64) []byte {
		if off > uint64(len(b)) || n > uint64(len(b))-off {
			return nil
		}
		return b[off : off+n]
	}
	head := at(0, 8)
	if head == nil {
		return nil, corrupt
	}
	starts := uint64(f.order.Uint32(head[4:]))
	count := at(starts, 4)
	if count == nil {
		return nil, corrupt
	}
	offs := at(starts+4, 4*uint64(f.order.Uint32(count)))
	if offs == nil {
		return nil, corrupt
	}
	for ; len(offs) > 0; offs = offs[4:] {
		off := uint64(f.order.Uint32(offs))
		if off == 0 {
			continue // a segment without pointers
		}
		seg := at(starts+off, 8)
		if seg == nil {
			return nil, corrupt
		}
		const target, bind = 1<<36 - 1, 1 << 63
		var base uint64
		switch f.order.Uint16(seg[6:]) {
		case chained64:
		case chained64Offset:
			base = f.textAddr()
		default:
			return nil, nil
		}
		return func(v uint64) uint64 {
			if v&bind != 0 {
				return 0
			}
			return v&target + base
		}, nil
	}
	return nil, nil
}
