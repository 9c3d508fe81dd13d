package convert

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/tracecache/pod"
	"example.com/tracecache/trace"
)

// elfMaker writes ELF files of any class, byte order and machine.
type elfMaker struct {
	is64    bool
	order   binary.AppendByteOrder
	machine elf.Machine
	typ     elf.Type
	symbols []madeSymbol
	opd     []byte // at 0x3000, if any
	far     bool   // section numbers of symbols in a table of their own
}

// madeSymbol is a symbol. Sections: 1 .text at 0x1000, 2 .plt at 0x1100, both
// executable and of 0x100 bytes, 3 .data at 0x2000, 4 .opd at 0x3000.
type madeSymbol struct {
	name        string
	info        byte
	section     uint16
	value, size uint64
}

func symInfo(bind elf.SymBind, typ elf.SymType) byte { return byte(bind)<<4 | byte(typ) }

// word appends a word of the file's class.
func (m elfMaker) word(b []byte, v uint64) []byte {
	if m.is64 {
		return m.order.AppendUint64(b, v)
	}
	return m.order.AppendUint32(b, uint32(v))
}

func (m elfMaker) symtab() (syms, far, names []byte) {
	names = []byte{0}
	for _, s := range append([]madeSymbol{{}}, m.symbols...) {
		name := uint32(0)
		if s.name != "" {
			name = uint32(len(names))
			names = append(append(names, s.name...), 0)
		}
		far = m.order.AppendUint32(far, uint32(s.section))
		section := s.section
		if m.far && section != 0 {
			section = uint16(elf.SHN_XINDEX)
		}
		syms = m.order.AppendUint32(syms, name)
		if m.is64 {
			syms = m.order.AppendUint16(append(syms, s.info, 0), section)
			syms = m.word(m.word(syms, s.value), s.size)
		} else {
			syms = m.word(m.word(syms, s.value), s.size)
			syms = m.order.AppendUint16(append(syms, s.info, 0), section)
		}
	}
	return syms, far, names
}

// make returns the file. Its code is at offset 0x1000 and address 0x1000.
func (m elfMaker) make() []byte {
	syms, far, names := m.symtab()
	entry := uint64(elf.Sym32Size)
	if m.is64 {
		entry = elf.Sym64Size
	}
	type section struct {
		name       string
		typ        elf.SectionType
		flags      elf.SectionFlag
		addr       uint64
		data       []byte
		link, info uint32
		entsize    uint64
	}
	code := elf.SHF_ALLOC | elf.SHF_EXECINSTR
	sections := []section{
		{},
		{name: ".text", typ: elf.SHT_PROGBITS, flags: code, addr: 0x1000, data: make([]byte, 0x100)},
		{name: ".plt", typ: elf.SHT_PROGBITS, flags: code, addr: 0x1100, data: make([]byte, 0x100)},
		{name: ".data", typ: elf.SHT_PROGBITS, flags: elf.SHF_ALLOC, addr: 0x2000, data: make([]byte, 0x100)},
		{name: ".opd", typ: elf.SHT_PROGBITS, flags: elf.SHF_ALLOC, addr: 0x3000, data: m.opd},
		{name: ".symtab", typ: elf.SHT_SYMTAB, data: syms, link: 6, entsize: entry},
		{name: ".strtab", typ: elf.SHT_STRTAB, data: names},
		{name: ".shstrtab", typ: elf.SHT_STRTAB},
	}
	if m.far {
		sections = append(sections, section{name: ".symtab_shndx", typ: elf.SHT_SYMTAB_SHNDX, data: far, link: 5})
	}
	shstr := []byte{0}
	var nameAt []uint32
	for _, s := range sections {
		nameAt = append(nameAt, uint32(len(shstr)))
		shstr = append(append(shstr, s.name...), 0)
	}
	sections[7].data = shstr

	file := make([]byte, 0x1000)
	var headers []byte
	for i, s := range sections {
		off := uint64(len(file))
		file = append(file, s.data...)
		headers = m.order.AppendUint32(m.order.AppendUint32(headers, nameAt[i]), uint32(s.typ))
		for _, v := range []uint64{uint64(s.flags), s.addr, off, uint64(len(s.data))} {
			headers = m.word(headers, v)
		}
		headers = m.order.AppendUint32(m.order.AppendUint32(headers, s.link), s.info)
		headers = m.word(m.word(headers, 1), s.entsize)
	}
	shoff := uint64(len(file))
	file = append(file, headers...)

	h := append([]byte(elf.ELFMAG), 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	ehsize, phsize, shsize := 52, 32, 40
	if m.is64 {
		h[elf.EI_CLASS], ehsize, phsize, shsize = 2, 64, 56, 64
	}
	if m.order.String() == binary.BigEndian.String() {
		h[elf.EI_DATA] = 2
	}
	h = m.order.AppendUint16(m.order.AppendUint16(h, uint16(m.typ)), uint16(m.machine))
	h = m.order.AppendUint32(h, 1)
	for _, v := range []uint64{0x1000, uint64(ehsize), shoff} {
		h = m.word(h, v)
	}
	h = m.order.AppendUint32(h, 0)
	for _, v := range []int{ehsize, phsize, 2, shsize, len(sections), 7} {
		h = m.order.AppendUint16(h, uint16(v))
	}
	for _, p := range []struct{ off, addr, size, flags uint64 }{
		{0x1000, 0x1000, 0x200, 5}, {0x1300, 0x3000, uint64(len(m.opd)), 6},
	} {
		h = m.order.AppendUint32(h, uint32(elf.PT_LOAD))
		if m.is64 {
			h = m.order.AppendUint32(h, uint32(p.flags))
		}
		for _, v := range []uint64{p.off, p.addr, p.addr, p.size, p.size} {
			h = m.word(h, v)
		}
		if !m.is64 {
			h = m.order.AppendUint32(h, uint32(p.flags))
		}
		h = m.word(h, 1)
	}
	copy(file, h)
	return file
}

func readMade(t *testing.T, m elfMaker) []trace.Symbol {
	t.Helper()
	b := m.make()
	part, err := readELF(bytes.NewReader(b), int64(len(b)), "made", &options{})
	require.NoError(t, err)
	require.Len(t, part.Model.Modules, 1)
	assert.EqualValues(t, 0, part.Model.Modules[0].Base)
	assert.EqualValues(t, 0x1200, part.Model.Modules[0].Size)
	return part.Model.Symbols
}

func TestELFSymbolSelection(t *testing.T) {
	const (
		local, global, weak = elf.STB_LOCAL, elf.STB_GLOBAL, elf.STB_WEAK
		fn, none            = elf.STT_FUNC, elf.STT_NOTYPE
	)
	symbols := []madeSymbol{
		{"plain", symInfo(local, fn), 1, 0x1000, 8},
		{"ifunc", symInfo(global, elf.STT_GNU_IFUNC), 1, 0x1008, 8},
		{"versioned@@V_1.2", symInfo(global, fn), 1, 0x1010, 8},
		{"older@V_1.1", symInfo(global, fn), 1, 0x1010, 8},
		{"unsized", symInfo(global, fn), 1, 0x1020, 0},
		{"weak", symInfo(weak, fn), 1, 0x1020, 4},
		{"local", symInfo(local, fn), 1, 0x1020, 4},
		{"global", symInfo(global, fn), 1, 0x1020, 4},
		{"global", symInfo(weak, fn), 1, 0x1020, 4},
		{"label", symInfo(local, none), 1, 0x1030, 0},
		{"within", symInfo(local, none), 1, 0x1004, 0},
		{"$x", symInfo(local, none), 1, 0x1040, 0},
		{"$d.7", symInfo(local, none), 1, 0x1040, 0},
		{"$xrv64i2p1", symInfo(local, none), 1, 0x1040, 0},
		{".Lfoo", symInfo(local, none), 1, 0x1040, 0},
		{"stub", symInfo(global, fn), 2, 0x1100, 16},
		{"data", symInfo(global, fn), 3, 0x2000, 16},
		{"object", symInfo(global, elf.STT_OBJECT), 1, 0x1050, 16},
		{"tls", symInfo(global, elf.STT_TLS), 1, 0x1050, 16},
		{"section", symInfo(local, elf.STT_SECTION), 1, 0x1050, 0},
		{"file", symInfo(local, elf.STT_FILE), uint16(elf.SHN_ABS), 0x1050, 0},
		{"absolute", symInfo(global, fn), uint16(elf.SHN_ABS), 0x1050, 4},
		{"undefined", symInfo(global, fn), 0, 0x1050, 4},
		{"etext", symInfo(global, none), 1, 0x1100, 0},
		{"runtime.text", symInfo(local, fn), 1, 0x1060, 0},
		{"runtime.text.12", symInfo(local, fn), 1, 0x1060, 0},
		{"runtime.etext", symInfo(local, fn), 1, 0x1060, 0},
		{"go:textfipsstart", symInfo(local, fn), 1, 0x1060, 1},
		{"runtime.textAddr", symInfo(local, fn), 1, 0x1070, 1},
		{"reaches over", symInfo(local, fn), 1, 0x10f0, 0x100},
	}
	want := []trace.Symbol{
		{Address: 0x1000, Name: "plain"}, {Address: 0x1008, Name: "ifunc"},
		{Address: 0x1010, Name: "versioned"}, {Address: 0x1010, Name: "older"}, {Address: 0x1018},
		{Address: 0x1020, Name: "global"}, {Address: 0x1020, Name: "weak"}, {Address: 0x1020, Name: "local"},
		{Address: 0x1020, Name: "unsized"}, {Address: 0x1024},
		{Address: 0x1030, Name: "label"}, {Address: 0x1070, Name: "runtime.textAddr"}, {Address: 0x1071},
		{Address: 0x10f0, Name: "reaches over"}, {Address: 0x1100},
	}
	for _, is64 := range []bool{true, false} {
		for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
			for _, far := range []bool{false, true} {
				m := elfMaker{is64: is64, order: order, machine: elf.EM_RISCV, typ: elf.ET_DYN, symbols: symbols, far: far}
				if far { // reserved numbers are no sections there
					m.symbols = slices.DeleteFunc(slices.Clone(symbols), func(s madeSymbol) bool { return s.section == uint16(elf.SHN_ABS) })
				}
				assert.Equal(t, want, readMade(t, m), "64 bits: %v, %v, far: %v", is64, order, far)
			}
		}
	}
}

func TestELFThumb(t *testing.T) {
	m := elfMaker{order: binary.LittleEndian, machine: elf.EM_ARM, typ: elf.ET_EXEC, symbols: []madeSymbol{
		{"thumb", symInfo(elf.STB_GLOBAL, elf.STT_FUNC), 1, 0x1011, 6},
		{"arm", symInfo(elf.STB_GLOBAL, elf.STT_FUNC), 1, 0x1018, 8},
	}}
	assert.Equal(t, []trace.Symbol{
		{Address: 0x1010, Name: "thumb"}, {Address: 0x1016}, {Address: 0x1018, Name: "arm"}, {Address: 0x1020},
	}, readMade(t, m))
}

func TestELFDescriptors(t *testing.T) {
	be := binary.BigEndian
	opd := be.AppendUint64(be.AppendUint64(be.AppendUint64(nil, 0x1040), 0x8000), 0)
	opd = be.AppendUint64(be.AppendUint64(be.AppendUint64(opd, 0x1080), 0x8000), 0)
	m := elfMaker{is64: true, order: be, machine: elf.EM_PPC64, typ: elf.ET_DYN, opd: opd, symbols: []madeSymbol{
		{"first", symInfo(elf.STB_GLOBAL, elf.STT_FUNC), 4, 0x3000, 0x20},
		{"second", symInfo(elf.STB_GLOBAL, elf.STT_FUNC), 4, 0x3018, 0x30},
		{"cut off", symInfo(elf.STB_GLOBAL, elf.STT_FUNC), 4, 0x3029, 0x30},
	}}
	assert.Equal(t, []trace.Symbol{
		{Address: 0x1040, Name: "first"}, {Address: 0x1060}, {Address: 0x1080, Name: "second"}, {Address: 0x10b0},
	}, readMade(t, m))
}

func TestELFTypes(t *testing.T) {
	for typ, want := range map[elf.Type]string{
		elf.ET_REL: "relocatable object", elf.ET_CORE: "core dump", elf.ET_NONE: "type 0",
	} {
		b := elfMaker{is64: true, order: binary.LittleEndian, machine: elf.EM_X86_64, typ: typ}.make()
		_, err := readELF(bytes.NewReader(b), int64(len(b)), "made", &options{})
		assert.ErrorIs(t, err, pod.ErrUnsupported)
		assert.ErrorContains(t, err, want)
	}
}
