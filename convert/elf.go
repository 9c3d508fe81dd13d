package convert

import (
	"debug/elf"
	"fmt"
	"io"
	"strings"

	"example.com/tracecache/pod"
	"example.com/tracecache/trace"
)

// readELF reads an executable or a shared library in ELF: the functions of its
// symbol tables, of its separate debug file where options name a place to look
// for one, and of its Go function table.
func readELF(r io.ReaderAt, size int64, path string, o *options) (*Part, error) {
	f, err := parseELF(binaryFile{r, size})
	if err != nil {
		return nil, err
	}
	if err := f.checkType(); err != nil {
		return nil, err
	}
	m := f.image()
	code := f.code(m)
	if len(code) == 0 {
		return nil, fmt.Errorf("%w: expected code in the file, got none; "+
			"the symbols of a separate debug file are read together with its binary", pod.ErrUnsupported)
	}
	ids, err := f.buildIDs()
	if err != nil {
		return nil, err
	}

	opd, err := f.descriptors(m)
	if err != nil {
		return nil, err
	}
	var syms elfSymbols
	if err := f.symbols(&syms, opd); err != nil {
		return nil, err
	}
	if len(o.debugDirs) > 0 {
		if err := f.debugSymbols(&syms, opd, path, ids.gnu, o.debugDirs); err != nil {
			return nil, err
		}
	}
	fns := syms.functions()
	table := goTable{
		pclntab:    f.sectionAddr(".gopclntab", ".data.rel.ro.gopclntab"),
		moduledata: f.sectionAddr(".go.module"),
		code:       code,
		symbol:     noMiddleDot,
	}
	if table.pclntab == 0 {
		table.pclntab = syms.markers["runtime.pclntab"]
	}
	if table.moduledata == 0 {
		table.moduledata = syms.markers["runtime.firstmoduledata"]
	}
	gofns, err := goFunctions(m, table, f.fixups)
	if err != nil {
		return nil, err
	}
	return &Part{
		Path: path,
		Kind: KindELF,
		Model: &trace.Model{
			Modules: m.modules(path, ids.id()),
			Symbols: layout(addGo(fns, gofns), code),
		},
		movable: true,
		load:    m.load(),
	}, nil
}

// checkType refuses what is not an image that can be loaded.
func (f *elfFile) checkType() error {
	var what string
	switch f.typ {
	case elf.ET_EXEC, elf.ET_DYN:
		return nil
	case elf.ET_REL:
		what = "a relocatable object (ET_REL), whose code has no addresses yet"
	case elf.ET_CORE:
		what = "a core dump (ET_CORE)"
	default:
		what = fmt.Sprintf("type %d", uint16(f.typ))
	}
	return fmt.Errorf("%w: ELF header: expected an executable or a shared library, got %s", pod.ErrUnsupported, what)
}

// image is the memory of the binary.
func (f *elfFile) image() *image {
	m := &image{file: f.binaryFile, order: f.order, ptr: f.ptr()}
	for _, p := range f.progs {
		if elf.ProgType(p.Type) == elf.PT_LOAD {
			m.segs = append(m.segs, segment{
				addr: p.Vaddr, off: p.Off, filesz: p.Filesz, memsz: p.Memsz,
				exec: elf.ProgFlag(p.Flags)&elf.PF_X != 0,
			})
		}
	}
	m.sortSegments()
	return m
}

// load is where the first segment lies when nothing moves the image. Breakpad
// counts addresses from there.
func (m *image) load() uint64 {
	if len(m.segs) == 0 {
		return 0
	}
	return m.segs[0].addr
}

// code is where functions can be: the executable sections, save those of the
// linker's stubs, or, in a file without sections, the executable segments.
func (f *elfFile) code(m *image) []span {
	var code []span
	for i := range f.sections {
		s := &f.sections[i]
		if !s.is(elf.SHF_ALLOC|elf.SHF_EXECINSTR) || elf.SectionType(s.Type) == elf.SHT_NOBITS || isPLT(s.name) {
			continue
		}
		if c, ok := m.clip(s.Addr, s.Size); ok {
			code = append(code, c)
		}
	}
	if len(f.sections) > 0 {
		return code
	}
	for _, s := range m.segs {
		if s.exec && s.filesz > 0 {
			code = append(code, span{s.addr, s.addr + s.filesz})
		}
	}
	return code
}

// isPLT reports whether a section holds stubs for calls into other modules.
func isPLT(name string) bool {
	return strings.HasPrefix(name, ".plt") || strings.HasPrefix(name, ".iplt")
}

// sectionAddr is the address of the first section that has one of names, or 0.
func (f *elfFile) sectionAddr(names ...string) uint64 {
	for i := range f.sections {
		for _, name := range names {
			if f.sections[i].name == name && f.sections[i].is(elf.SHF_ALLOC) {
				return f.sections[i].Addr
			}
		}
	}
	return 0
}
