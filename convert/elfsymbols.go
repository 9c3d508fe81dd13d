package convert

import (
	"debug/elf"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"example.com/tracecache/pod"
)

// elfSymbols collects the symbols of a binary and of its debug file.
type elfSymbols struct {
	fns []function

	// labels are symbols without a type. They count where no sized function
	// says better.
	labels []function

	// markers are the addresses of symbols that are no functions, by those
	// names that are of use.
	markers map[string]uint64
}

// elfSymbol is a symbol of either class.
type elfSymbol struct {
	name        uint32
	info        byte
	shndx       uint32
	value, size uint64
}

// versioned matches a name with a symbol version behind it. The table of dynamic
// symbols keeps versions elsewhere; other tables have them in the names.
var versioned = regexp.MustCompile(`\A([^"\[]+?)@@?[\w.+-]+\z`)

// symbols adds the functions of both symbol tables. opd resolves function
// descriptors and may be nil.
func (f *elfFile) symbols(out *elfSymbols, opd *opdSection) error {
	if len(f.sections) == 0 {
		return f.dynamicSymbols(out)
	}
	// One table of each type is all that a file can have.
	for _, t := range []elf.SectionType{elf.SHT_SYMTAB, elf.SHT_DYNSYM} {
		i := slices.IndexFunc(f.sections, func(s elfSection) bool { return elf.SectionType(s.Type) == t })
		if i < 0 {
			continue
		}
		if err := f.symbolTable(out, i, opd); err != nil {
			return fmt.Errorf("section %d (%s): %w", i, f.sections[i].name, err)
		}
	}
	return nil
}

// symbolTable adds the functions of the symbol table in section index.
func (f *elfFile) symbolTable(out *elfSymbols, index int, opd *opdSection) error {
	s := &f.sections[index]
	if uint64(s.Link) >= uint64(len(f.sections)) {
		return fmt.Errorf("%w: symbol table: expected a string section below %d, got %d", pod.ErrCorrupt, len(f.sections), s.Link)
	}
	names, err := f.strings("symbol names", &f.sections[s.Link])
	if err != nil {
		return err
	}
	table, err := f.read("symbol table", s.Off, s.Size)
	if err != nil {
		return err
	}
	far, err := f.farIndices(index)
	if err != nil {
		return err
	}
	return f.addSymbols(out, table, far, names, opd, elf.SectionType(s.Type) == elf.SHT_DYNSYM)
}

// symSize is the bytes of a symbol.
func (f *elfFile) symSize() int {
	if f.is64 {
		return elf.Sym64Size
	}
	return elf.Sym32Size
}

// addSymbols adds the functions among the symbols in table.
func (f *elfFile) addSymbols(out *elfSymbols, table, far []byte, names *stringsIn, opd *opdSection, dynamic bool) error {
	entry := f.symSize()
	for i := 1; i < len(table)/entry; i++ {
		sym := f.symbol(table[i*entry:])
		if sym.shndx == uint32(elf.SHN_XINDEX) && i < len(far)/4 {
			sym.shndx = f.order.Uint32(far[i*4:])
		} else if sym.shndx >= uint32(elf.SHN_LORESERVE) {
			continue // absolute, common
		}
		if sym.shndx == uint32(elf.SHN_UNDEF) {
			continue
		}
		if err := f.addSymbol(out, sym, names, opd, dynamic); err != nil {
			return fmt.Errorf("symbol %d: %w", i, err)
		}
	}
	return nil
}

// symbol decodes a symbol.
func (f *elfFile) symbol(b []byte) elfSymbol {
	if f.is64 {
		return elfSymbol{
			name: f.order.Uint32(b), info: b[4], shndx: uint32(f.order.Uint16(b[6:])),
			value: f.order.Uint64(b[8:]), size: f.order.Uint64(b[16:]),
		}
	}
	return elfSymbol{
		name: f.order.Uint32(b), value: uint64(f.order.Uint32(b[4:])), size: uint64(f.order.Uint32(b[8:])),
		info: b[12], shndx: uint32(f.order.Uint16(b[14:])),
	}
}

// farIndices is the table of section numbers that do not fit in the symbols of
// table index.
func (f *elfFile) farIndices(index int) ([]byte, error) {
	for i := range f.sections {
		if s := &f.sections[i]; elf.SectionType(s.Type) == elf.SHT_SYMTAB_SHNDX && int64(s.Link) == int64(index) {
			return f.read("section numbers of symbols", s.Off, s.Size)
		}
	}
	return nil, nil
}

// addSymbol adds one symbol if it names code.
func (f *elfFile) addSymbol(out *elfSymbols, sym elfSymbol, names *stringsIn, opd *opdSection, dynamic bool) error {
	typ := elf.SymType(sym.info & 0xf)
	switch typ {
	case elf.STT_FUNC, elf.STT_GNU_IFUNC, elf.STT_NOTYPE:
	case elf.STT_OBJECT:
		return f.addMarker(out, sym, names)
	case elf.STT_LOPROC:
		if f.machine != elf.EM_ARM { // there it is Thumb code of old compilers
			return nil
		}
	default:
		return nil
	}

	sec, ok := f.sectionOf(sym)
	if !ok {
		return nil
	}
	addr := sym.value
	if f.machine == elf.EM_ARM && typ != elf.STT_NOTYPE {
		addr &^= 1 // says that the code is Thumb
	}
	if addr < sec.Addr || addr-sec.Addr >= sec.Size {
		return nil // the end of something
	}
	if opd != nil && typ != elf.STT_NOTYPE && sec.name == opdName {
		if addr, ok = opd.entry(addr); !ok {
			return nil
		}
	} else if !sec.is(elf.SHF_ALLOC | elf.SHF_EXECINSTR) {
		return nil
	}

	name, err := names.at(uint64(sym.name))
	if err != nil {
		return err
	}
	if name == "" || isGoMarker(name) {
		return nil
	}
	if strings.IndexByte(name, '@') > 0 {
		if m := versioned.FindStringSubmatchIndex(name); m != nil {
			name = name[:m[3]]
		}
	}
	fn := function{addr: addr, size: sym.size, name: name, rank: elfRank(sym, dynamic)}
	if typ != elf.STT_NOTYPE {
		out.fns = append(out.fns, fn)
	} else if !isLocalLabel(name) {
		out.labels = append(out.labels, fn)
	}
	return nil
}

// sectionOf is the section of a symbol. In a file without sections an executable
// segment stands for one.
func (f *elfFile) sectionOf(sym elfSymbol) (*elfSection, bool) {
	if len(f.sections) > 0 {
		if int64(sym.shndx) >= int64(len(f.sections)) {
			return nil, false
		}
		return &f.sections[sym.shndx], true
	}
	seg, ok := f.bare.segment(sym.value)
	if !ok || !seg.exec {
		return nil, false
	}
	return &elfSection{Section64: elf.Section64{
		Flags: uint64(elf.SHF_ALLOC | elf.SHF_EXECINSTR), Addr: seg.addr, Size: seg.memsz,
	}}, true
}

// addMarker keeps the places where a Go binary's tables are.
func (f *elfFile) addMarker(out *elfSymbols, sym elfSymbol, names *stringsIn) error {
	name, err := names.at(uint64(sym.name))
	if err != nil || !strings.HasPrefix(name, "runtime.") && !strings.HasPrefix(name, "local.") {
		return err
	}
	name = strings.TrimPrefix(name, "local.") // the linker's name for it in a shared library
	if name != "runtime.pclntab" && name != "runtime.firstmoduledata" {
		return nil
	}
	if out.markers == nil {
		out.markers = make(map[string]uint64)
	}
	out.markers[name] = sym.value
	return nil
}

// elfRank orders the names of one address: sized before unsized, global before
// weak before local, the table of symbols before that of dynamic symbols.
func elfRank(sym elfSymbol, dynamic bool) int {
	rank := 0
	switch elf.SymBind(sym.info >> 4) {
	case elf.STB_WEAK:
		rank = 2
	case elf.STB_LOCAL:
		rank = 4
	}
	if sym.size == 0 {
		rank += 8
	}
	if dynamic {
		rank++
	}
	return rank
}

// isLocalLabel reports whether an untyped symbol is the assembler's: a mapping
// symbol, which tells code from data, or a label of a compiler.
func isLocalLabel(name string) bool {
	if strings.HasPrefix(name, ".L") {
		return true
	}
	if len(name) < 2 || name[0] != '$' || !strings.Contains("adtx", name[1:2]) {
		return false
	}
	return len(name) == 2 || name[2] == '.' || strings.HasPrefix(name, "$xrv")
}

// functions are all functions and those labels that lie in no sized function.
func (s *elfSymbols) functions() []function {
	return append(s.fns, outside(s.labels, sizedSpans(s.fns))...)
}

// opdName is the section of function descriptors of 64-bit PowerPC, ABI 1. The
// symbol of a function is there, and the address of its code is in it.
const opdName = ".opd"

// opdSection is a section of function descriptors.
type opdSection struct {
	m    *image
	addr uint64
	data []byte
}

// descriptors reads the function descriptors, nil if the file has none.
func (f *elfFile) descriptors(m *image) (*opdSection, error) {
	if f.machine != elf.EM_PPC64 {
		return nil, nil
	}
	for i := range f.sections {
		s := &f.sections[i]
		if s.name != opdName || !s.is(elf.SHF_ALLOC) || elf.SectionType(s.Type) == elf.SHT_NOBITS {
			continue
		}
		fixups, err := f.fixups()
		if err != nil {
			return nil, err
		}
		m.fixups = fixups
		data, err := m.read(opdName, s.Addr, s.Size)
		return &opdSection{m: m, addr: s.Addr, data: data}, err
	}
	return nil, nil
}

// entry is the address of the code whose descriptor is at addr.
func (o *opdSection) entry(addr uint64) (uint64, bool) {
	at := addr - o.addr
	if addr < o.addr || at+8 > uint64(len(o.data)) || at+8 < at {
		return 0, false
	}
	return o.m.uint(o.data[at:]), true
}
