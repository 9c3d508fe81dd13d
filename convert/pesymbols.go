package convert

import (
	"bytes"
	"debug/pe"
	"encoding/binary"
	"fmt"

	"example.com/tracecache/pod"
)

// Storage classes and types of COFF symbols.
const (
	coffExternal = 2
	coffStatic   = 3
	coffFunction = 2 // the derived type
)

// Ranks of names in PE: those of the symbol table by class, exports, and names
// that a part of a function has from the whole.
const (
	peStaticRank = 4
	peLabelRank  = 6
	peExportRank = 8
	pePartRank   = 150
)

// peSymbols are the symbols of a COFF symbol table that name code, and where it
// says that Go's tables are.
type peSymbols struct {
	fns   []function
	table goTable

	// labels are external names of code that are not said to be functions:
	// functions written in assembly and the stubs of imports, but also what
	// lies inside another function.
	labels []function
}

// symbols reads the COFF symbol table.
func (f *peFile) symbols() (*peSymbols, error) {
	syms := &peSymbols{}
	at, n := uint64(f.header.PointerToSymbolTable), uint64(f.header.NumberOfSymbols)
	if at == 0 || n == 0 {
		return syms, nil
	}
	b, err := f.read("symbol table", at, n*pe.COFFSymbolSize)
	if err != nil {
		return nil, err
	}
	names, err := f.symbolNames(at + n*pe.COFFSymbolSize)
	if err != nil {
		return nil, err
	}
	for i := uint64(0); i < n; i++ {
		sym := b[i*pe.COFFSymbolSize:][:pe.COFFSymbolSize]
		skip := uint64(sym[17]) // records behind it that are no symbols
		if err := f.symbol(syms, sym, names); err != nil {
			return nil, fmt.Errorf("symbol %d: %w", i, err)
		}
		i += skip
	}
	return syms, nil
}

// symbolNames reads the table of names at off that do not fit in a symbol. A file
// may end without it.
func (f *peFile) symbolNames(off uint64) (*stringsIn, error) {
	if off == uint64(f.size) {
		return newStrings("symbol names", nil), nil
	}
	b, err := f.read("size of symbol names", off, 4)
	if err != nil {
		return nil, err
	}
	b, err = f.read("symbol names", off, uint64(binary.LittleEndian.Uint32(b)))
	if err != nil {
		return nil, err
	}
	return newStrings("symbol names", b), nil
}

// symbol adds the symbol b.
func (f *peFile) symbol(out *peSymbols, b []byte, names *stringsIn) error {
	value, section := binary.LittleEndian.Uint32(b[8:]), int(int16(binary.LittleEndian.Uint16(b[12:])))
	typ, class := binary.LittleEndian.Uint16(b[14:]), b[16]
	if section <= 0 || section > len(f.sections) || class != coffExternal && class != coffStatic {
		return nil
	}
	s := &f.sections[section-1]
	isFunction := typ>>4&3 == coffFunction
	if value >= sectionSize(s) || class == coffStatic && isExecutable(s) && !isFunction {
		return nil
	}
	name, err := coffName(b[:8], names)
	if err != nil {
		return err
	}
	addr := f.base + uint64(s.VirtualAddress) + uint64(value)
	fn := function{addr: addr, name: name}
	if class == coffStatic {
		fn.rank = peStaticRank
	}
	switch {
	case !isExecutable(s):
		switch name {
		case goModuleSymbol:
			out.table.moduledata = addr
		case goFunctionSymbol:
			out.table.pclntab = addr
		}
	case name == "" || isGoMarker(name):
	case isFunction:
		out.fns = append(out.fns, fn)
	default:
		fn.rank = peLabelRank
		out.labels = append(out.labels, fn)
	}
	return nil
}

// coffName is the name of a symbol: its eight bytes, or the place of a longer
// one.
func coffName(b []byte, names *stringsIn) (string, error) {
	if binary.LittleEndian.Uint32(b) == 0 {
		return names.at(uint64(binary.LittleEndian.Uint32(b[4:])))
	}
	name, _, _ := bytes.Cut(b, []byte{0})
	return string(name), nil
}

// exports reads the exported functions that have a name.
func (f *peFile) exports(m *image) ([]function, error) {
	const headerSize = 40
	d := f.dir(peExports)
	if d.Size < headerSize {
		return nil, nil
	}
	h, err := m.read("export directory", f.base+uint64(d.VirtualAddress), headerSize)
	if err != nil {
		return nil, err
	}
	u32 := binary.LittleEndian.Uint32
	nfuncs, nnames := uint64(u32(h[20:])), uint64(u32(h[24:]))
	if nnames == 0 || nfuncs == 0 {
		return nil, nil
	}
	rva := func(what string, at uint32, n uint64) ([]byte, error) {
		return m.read(what, f.base+uint64(at), n)
	}
	funcs, err := rva("export addresses", u32(h[28:]), nfuncs*4)
	if err != nil {
		return nil, err
	}
	namePtrs, err := rva("export name pointers", u32(h[32:]), nnames*4)
	if err != nil {
		return nil, err
	}
	ordinals, err := rva("export ordinals", u32(h[36:]), nnames*2)
	if err != nil {
		return nil, err
	}
	// The names lie in the section of the directory.
	sec, _ := m.segment(f.base + uint64(d.VirtualAddress))
	text, err := m.file.read("export names", sec.off, sec.filesz)
	if err != nil {
		return nil, err
	}
	names := newStrings("export names", text)
	var fns []function
	for i := range nnames {
		ord := uint64(binary.LittleEndian.Uint16(ordinals[i*2:]))
		if ord >= nfuncs {
			return nil, fmt.Errorf("%w: export %d: expected an ordinal below %d, got %d", pod.ErrCorrupt, i, nfuncs, ord)
		}
		target := u32(funcs[ord*4:])
		if target == 0 || target-d.VirtualAddress < d.Size {
			continue // no function, or one of another DLL
		}
		name, err := names.at(f.base + uint64(u32(namePtrs[i*4:])) - sec.addr)
		if err != nil {
			return nil, fmt.Errorf("export %d: %w", i, err)
		}
		if name != "" {
			fns = append(fns, function{addr: f.base + uint64(target), name: name, rank: peExportRank})
		}
	}
	return fns, nil
}
