package convert

import (
	"bytes"
	"debug/macho"
	"encoding/binary"
	"fmt"
	"io"
	"strings"

	"example.com/tracecache/pod"
	"example.com/tracecache/trace"
)

// readMachO reads an executable or a library in Mach-O: the functions of its
// symbol table and of its Go function table, and the places where others begin.
// Of a fat file it reads the architecture that options name; they may name none
// where the file has one only.
func readMachO(r io.ReaderAt, size int64, path string, o *options) (*Part, error) {
	file, err := pickArch(binaryFile{r, size}, o.arch)
	if err != nil {
		return nil, err
	}
	f, err := parseMachO(file)
	if err != nil {
		return nil, err
	}
	if o.arch != "" && f.arch() != archName(o.arch) {
		return nil, fmt.Errorf("%w: expected architecture %s, the file has %s", pod.ErrNotFound, archName(o.arch), f.arch())
	}
	if err := f.checkType(); err != nil {
		return nil, err
	}
	m, err := f.image()
	if err != nil {
		return nil, err
	}
	code := f.code(m)
	if len(code) == 0 {
		return nil, fmt.Errorf("%w: expected code in the file, got none", pod.ErrUnsupported)
	}
	fns, table, err := f.symbols()
	if err != nil {
		return nil, err
	}
	table.code = code
	table.symbol = func(name string) string { return goMachOName("_" + noMiddleDot(name)) }
	gofns, err := goFunctions(m, table, nil)
	if err != nil {
		return nil, err
	}
	if len(gofns) > 0 {
		for i := range fns {
			fns[i].name = goMachOName(fns[i].name)
		}
	}
	starts, err := f.functionStarts()
	if err != nil {
		return nil, err
	}
	id := f.uuid
	if id == nil && len(gofns) > 0 {
		id = m.goBuildID(code)
	}
	return &Part{
		Path: path,
		Kind: KindMachO,
		Model: &trace.Model{
			Modules: m.modules(path, id),
			Symbols: layout(append(addGo(fns, gofns), starts...), code),
		},
		movable: true,
	}, nil
}

// goMachOName is the name of a symbol of a Go binary as Go's tools show it. The
// linker puts an underscore before every name; they take it off those with a dot.
func goMachOName(symbol string) string {
	if strings.Contains(symbol, ".") {
		return strings.TrimPrefix(symbol, "_")
	}
	return symbol
}

// Load commands that debug/macho does not name.
const (
	loadUUID          = 0x1b
	loadFuncStarts    = 0x26
	loadChainedFixups = 0x80000034
)

// machoFile is the load commands of a Mach-O file.
type machoFile struct {
	binaryFile
	order    binary.ByteOrder
	is64     bool
	cpu      uint32
	subCPU   uint32
	typ      macho.Type
	segs     []macho.Segment64
	sections []macho.Section64
	symtab   macho.SymtabCmd
	uuid     []byte
	starts   dataRange // function starts
	chained  dataRange // chained fixups
}

// dataRange is bytes of the file.
type dataRange struct {
	off, size uint32
}

// parseMachO reads the header and the load commands.
func parseMachO(file binaryFile) (*machoFile, error) {
	f := &machoFile{binaryFile: file}
	magic, err := f.read("Mach-O header", 0, 4)
	if err != nil {
		return nil, err
	}
	switch le, be := binary.LittleEndian.Uint32(magic), binary.BigEndian.Uint32(magic); {
	case le == macho.Magic32 || le == macho.Magic64:
		f.order, f.is64 = binary.LittleEndian, le == macho.Magic64
	case be == macho.Magic32 || be == macho.Magic64:
		f.order, f.is64 = binary.BigEndian, be == macho.Magic64
	default:
		return nil, fmt.Errorf("%w: Mach-O header: expected a magic, got % x", pod.ErrFormat, magic)
	}
	size := uint64(28)
	if f.is64 {
		size = 32
	}
	h, err := f.read("Mach-O header", 0, size)
	if err != nil {
		return nil, err
	}
	f.cpu, f.subCPU, f.typ = f.order.Uint32(h[4:]), f.order.Uint32(h[8:]), macho.Type(f.order.Uint32(h[12:]))
	n := f.order.Uint32(h[16:])
	cmds, err := f.read("load commands", size, uint64(f.order.Uint32(h[20:])))
	if err != nil {
		return nil, err
	}
	for i := range n {
		if len(cmds) < 8 {
			return nil, fmt.Errorf("%w: load commands: expected %d, got %d", pod.ErrCorrupt, n, i)
		}
		cmdsize := f.order.Uint32(cmds[4:])
		if cmdsize < 8 || uint64(cmdsize) > uint64(len(cmds)) {
			return nil, fmt.Errorf("%w: load command %d: expected a size between 8 and %d, got %d", pod.ErrCorrupt, i, len(cmds), cmdsize)
		}
		if err := f.command(f.order.Uint32(cmds), cmds[:cmdsize]); err != nil {
			return nil, fmt.Errorf("load command %d: %w", i, err)
		}
		cmds = cmds[cmdsize:]
	}
	return f, nil
}

// command reads one load command.
func (f *machoFile) command(cmd uint32, b []byte) error {
	switch cmd {
	case uint32(macho.LoadCmdSegment64):
		return f.segment64(b)
	case uint32(macho.LoadCmdSegment):
		return f.segment32(b)
	case uint32(macho.LoadCmdSymtab):
		return f.decode(b, &f.symtab)
	case loadUUID:
		if len(b) >= 24 && f.uuid == nil {
			f.uuid = bytes.Clone(b[8:24])
		}
	case loadFuncStarts:
		return f.dataRange(b, &f.starts)
	case loadChainedFixups:
		return f.dataRange(b, &f.chained)
	}
	return nil
}

// decode reads the record at the start of b.
func (f *machoFile) decode(b []byte, rec any) error {
	if n := binary.Size(rec); len(b) < n {
		return fmt.Errorf("%w: expected %d bytes, got %d", pod.ErrCorrupt, n, len(b))
	}
	_, err := binary.Decode(b, f.order, rec)
	return err
}

// dataRange reads a command that names bytes of the file.
func (f *machoFile) dataRange(b []byte, d *dataRange) error {
	if len(b) < 16 {
		return fmt.Errorf("%w: expected 16 bytes, got %d", pod.ErrCorrupt, len(b))
	}
	*d = dataRange{f.order.Uint32(b[8:]), f.order.Uint32(b[12:])}
	return nil
}

// segment64 reads a segment and its sections.
func (f *machoFile) segment64(b []byte) error {
	var s macho.Segment64
	if err := f.decode(b, &s); err != nil {
		return err
	}
	f.segs = append(f.segs, s)
	b = b[binary.Size(s):]
	for range s.Nsect {
		var sec macho.Section64
		if err := f.decode(b, &sec); err != nil {
			return err
		}
		f.sections = append(f.sections, sec)
		b = b[binary.Size(sec):]
	}
	return nil
}

// segment32 does so in 32-bit files.
func (f *machoFile) segment32(b []byte) error {
	var s macho.Segment32
	if err := f.decode(b, &s); err != nil {
		return err
	}
	f.segs = append(f.segs, macho.Segment64{
		Name: s.Name, Addr: uint64(s.Addr), Memsz: uint64(s.Memsz), Offset: uint64(s.Offset), Filesz: uint64(s.Filesz),
		Maxprot: s.Maxprot, Prot: s.Prot, Nsect: s.Nsect, Flag: s.Flag,
	})
	b = b[binary.Size(s):]
	for range s.Nsect {
		var sec macho.Section32
		if err := f.decode(b, &sec); err != nil {
			return err
		}
		f.sections = append(f.sections, macho.Section64{
			Name: sec.Name, Seg: sec.Seg, Addr: uint64(sec.Addr), Size: uint64(sec.Size), Offset: sec.Offset, Flags: sec.Flags,
		})
		b = b[binary.Size(sec):]
	}
	return nil
}

// checkType refuses what is not an image that can be loaded.
func (f *machoFile) checkType() error {
	const dylinker, kext = 7, 11
	var what string
	switch f.typ {
	case macho.TypeExec, macho.TypeDylib, macho.TypeBundle, dylinker, kext:
		return nil
	case macho.TypeObj:
		what = "a relocatable object"
	case 4:
		what = "a core dump"
	case 10:
		what = "a file of debug symbols"
	default:
		what = fmt.Sprintf("type %d", uint32(f.typ))
	}
	return fmt.Errorf("%w: Mach-O header: expected an executable or a library, got %s", pod.ErrUnsupported, what)
}

// image is the memory of the binary.
func (f *machoFile) image() (*image, error) {
	m := &image{file: f.binaryFile, order: f.order, ptr: 4}
	if f.is64 {
		m.ptr = 8
	}
	for _, s := range f.segs {
		m.segs = append(m.segs, segment{
			addr: s.Addr, off: s.Offset, filesz: s.Filesz, memsz: s.Memsz,
			exec: s.Prot&protExec != 0,
		})
	}
	m.sortSegments()
	var err error
	m.pointer, err = f.pointerFormat()
	return m, err
}

// protExec is the bit of a segment's protection that lets its bytes run.
const protExec = 4

// Flags of sections.
const (
	sectionType      = 0xff
	sectionStubs     = 8
	sectionPureCode  = 0x80000000
	sectionSomeCode  = 0x400
	sectionHelpers   = "__stub_helper"
	sectionGoTable   = "__gopclntab"
	sectionGoModule  = "__go_module"
	textSegment      = "__TEXT"
	goModuleSymbol   = "runtime.firstmoduledata"
	goFunctionSymbol = "runtime.pclntab"
)

// isCode reports whether functions can be in a section.
func isCode(s *macho.Section64) bool {
	return s.Flags&(sectionPureCode|sectionSomeCode) != 0 && s.Flags&sectionType != sectionStubs &&
		fixedName(s.Name) != sectionHelpers
}

// fixedName is a name in a field of fixed size.
func fixedName(b [16]byte) string {
	name, _, _ := bytes.Cut(b[:], []byte{0})
	return string(name)
}

// code is where functions can be.
func (f *machoFile) code(m *image) []span {
	var code []span
	for i := range f.sections {
		if s := &f.sections[i]; isCode(s) {
			if c, ok := m.clip(s.Addr, s.Size); ok {
				code = append(code, c)
			}
		}
	}
	return code
}
