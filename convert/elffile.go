package convert

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"

	"example.com/tracecache/pod"
)

// elfFile is the headers of an ELF file.
type elfFile struct {
	binaryFile
	order    binary.ByteOrder
	is64     bool
	typ      elf.Type
	machine  elf.Machine
	flags    uint32
	progs    []elf.Prog64
	sections []elfSection

	bare *image // of a file without sections
}

// elfSection is a section header and its name.
type elfSection struct {
	elf.Section64
	name string
}

// is reports whether the section has all of flags.
func (s *elfSection) is(flags elf.SectionFlag) bool {
	return elf.SectionFlag(s.Flags)&flags == flags
}

// ptr is the bytes of a pointer.
func (f *elfFile) ptr() int {
	if f.is64 {
		return 8
	}
	return 4
}

// parseELF reads the headers.
func parseELF(file binaryFile) (*elfFile, error) {
	f := &elfFile{binaryFile: file}
	ident, err := f.read("ELF header", 0, elf.EI_NIDENT)
	if err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(ident, []byte(elf.ELFMAG)) {
		return nil, fmt.Errorf("%w: ELF header: expected the magic %q, got %q", pod.ErrFormat, elf.ELFMAG, ident[:4])
	}
	switch elf.Data(ident[elf.EI_DATA]) {
	case elf.ELFDATA2LSB:
		f.order = binary.LittleEndian
	case elf.ELFDATA2MSB:
		f.order = binary.BigEndian
	default:
		return nil, fmt.Errorf("%w: ELF header: offset %#x: expected byte order 1 or 2, got %d",
			pod.ErrCorrupt, elf.EI_DATA, ident[elf.EI_DATA])
	}
	switch elf.Class(ident[elf.EI_CLASS]) {
	case elf.ELFCLASS32:
	case elf.ELFCLASS64:
		f.is64 = true
	default:
		return nil, fmt.Errorf("%w: ELF header: offset %#x: expected class 1 or 2, got %d",
			pod.ErrCorrupt, elf.EI_CLASS, ident[elf.EI_CLASS])
	}
	h, err := f.header()
	if err != nil {
		return nil, err
	}
	f.typ, f.machine, f.flags = elf.Type(h.Type), elf.Machine(h.Machine), h.Flags
	if err := f.readSections(h); err != nil {
		return nil, err
	}
	if err := f.readProgs(h); err != nil {
		return nil, err
	}
	if len(f.sections) == 0 {
		f.bare = f.image()
	}
	return f, nil
}

// header reads the file header, of either class.
func (f *elfFile) header() (elf.Header64, error) {
	var h elf.Header64
	if f.is64 {
		b, err := f.read("ELF header", 0, uint64(binary.Size(h)))
		if err == nil {
			_, err = binary.Decode(b, f.order, &h)
		}
		return h, err
	}
	var s elf.Header32
	b, err := f.read("ELF header", 0, uint64(binary.Size(s)))
	if err != nil {
		return h, err
	}
	if _, err := binary.Decode(b, f.order, &s); err != nil {
		return h, err
	}
	return elf.Header64{
		Ident: s.Ident, Type: s.Type, Machine: s.Machine, Version: s.Version,
		Entry: uint64(s.Entry), Phoff: uint64(s.Phoff), Shoff: uint64(s.Shoff),
		Flags: s.Flags, Ehsize: s.Ehsize, Phentsize: s.Phentsize, Phnum: s.Phnum,
		Shentsize: s.Shentsize, Shnum: s.Shnum, Shstrndx: s.Shstrndx,
	}, nil
}

// readSections reads the section headers and names. A file may have none.
func (f *elfFile) readSections(h elf.Header64) error {
	if h.Shoff == 0 {
		return nil
	}
	// More sections than 16 bits can count are counted in the first header.
	first, err := f.sectionHeaders(h, 1)
	if err != nil {
		return err
	}
	n, names := uint64(h.Shnum), uint32(h.Shstrndx)
	if n == 0 {
		n = first[0].Size
	}
	if h.Shstrndx == uint16(elf.SHN_XINDEX) {
		names = first[0].Link
	}
	headers, err := f.sectionHeaders(h, n)
	if err != nil {
		return err
	}
	f.sections = make([]elfSection, len(headers))
	for i, s := range headers {
		f.sections[i].Section64 = s
	}
	if names == 0 || uint64(names) >= n {
		return nil
	}
	strs, err := f.strings("section names", &f.sections[names])
	if err != nil {
		return err
	}
	for i := range f.sections {
		if f.sections[i].name, err = strs.at(uint64(f.sections[i].Name)); err != nil {
			return fmt.Errorf("section %d: %w", i, err)
		}
	}
	return nil
}

// sectionHeaders reads the first n section headers.
func (f *elfFile) sectionHeaders(h elf.Header64, n uint64) ([]elf.Section64, error) {
	if !f.is64 {
		s, err := elfTable[elf.Section32](f, "section headers", h.Shoff, n, h.Shentsize)
		out := make([]elf.Section64, len(s))
		for i, s := range s {
			out[i] = elf.Section64{
				Name: s.Name, Type: s.Type, Flags: uint64(s.Flags), Addr: uint64(s.Addr), Off: uint64(s.Off),
				Size: uint64(s.Size), Link: s.Link, Info: s.Info, Addralign: uint64(s.Addralign), Entsize: uint64(s.Entsize),
			}
		}
		return out, err
	}
	return elfTable[elf.Section64](f, "section headers", h.Shoff, n, h.Shentsize)
}

// readProgs reads the program headers.
func (f *elfFile) readProgs(h elf.Header64) error {
	n := uint64(h.Phnum)
	if n == 0xffff && len(f.sections) > 0 { // PN_XNUM
		n = uint64(f.sections[0].Info)
	}
	if n == 0 {
		return nil
	}
	if f.is64 {
		var err error
		f.progs, err = elfTable[elf.Prog64](f, "program headers", h.Phoff, n, h.Phentsize)
		return err
	}
	progs, err := elfTable[elf.Prog32](f, "program headers", h.Phoff, n, h.Phentsize)
	for _, p := range progs {
		f.progs = append(f.progs, elf.Prog64{
			Type: p.Type, Flags: p.Flags, Off: uint64(p.Off), Vaddr: uint64(p.Vaddr), Paddr: uint64(p.Paddr),
			Filesz: uint64(p.Filesz), Memsz: uint64(p.Memsz), Align: uint64(p.Align),
		})
	}
	return err
}

// elfTable reads n records of type T.
func elfTable[T any](f *elfFile, what string, off, n uint64, entsize uint16) ([]T, error) {
	var rec T
	if size := binary.Size(rec); int(entsize) != size {
		return nil, fmt.Errorf("%w: ELF header: %s: expected entries of %d bytes, got %d", pod.ErrCorrupt, what, size, entsize)
	}
	if n > uint64(f.size)/uint64(entsize) {
		return nil, fmt.Errorf("%w: ELF header: %d %s: the file has %d bytes", pod.ErrTruncated, n, what, f.size)
	}
	b, err := f.read(what, off, n*uint64(entsize))
	if err != nil {
		return nil, err
	}
	recs := make([]T, n)
	if _, err := binary.Decode(b, f.order, recs); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", pod.ErrCorrupt, what, err)
	}
	return recs, nil
}

// strings reads a string table.
func (f *elfFile) strings(what string, s *elfSection) (*stringsIn, error) {
	if elf.SectionType(s.Type) == elf.SHT_NOBITS {
		return nil, fmt.Errorf("%w: %s: the section has no bytes in the file", pod.ErrCorrupt, what)
	}
	b, err := f.read(what, s.Off, s.Size)
	if err != nil {
		return nil, err
	}
	return newStrings(what, b), nil
}
