package convert

import (
	"bytes"
	"debug/pe"
	"encoding/binary"
	"fmt"
	"io"
	"path/filepath"

	"example.com/tracecache/pod"
	"example.com/tracecache/trace"
)

// readPE reads an executable or a DLL in PE: the functions of its COFF symbol
// table, its exports and its Go function table, with the sizes that its unwind
// table has.
func readPE(r io.ReaderAt, size int64, path string, _ *options) (*Part, error) {
	f, err := parsePE(binaryFile{r, size})
	if err != nil {
		return nil, err
	}
	m := f.image()
	code := f.code(m)
	if len(code) == 0 {
		return nil, fmt.Errorf("%w: expected code in the file, got none", pod.ErrUnsupported)
	}
	syms, err := f.symbols()
	if err != nil {
		return nil, err
	}
	exports, err := f.exports(m)
	if err != nil {
		return nil, err
	}
	fns := append(syms.fns, exports...)
	syms.table.code = code
	gofns, err := goFunctions(m, syms.table, nil)
	if err != nil {
		return nil, err
	}
	unwind, err := f.unwindRanges(m)
	if err != nil {
		return nil, err
	}
	fns = addGo(fns, gofns)
	fns = append(fns, outside(syms.labels, append(unwind.spans(), sizedSpans(fns)...))...)
	fns = append(fns, unwind.functions(fns)...)

	id, err := f.codeView()
	if err != nil {
		return nil, err
	}
	if id == nil && len(gofns) > 0 {
		id = m.goBuildID(code)
	}
	full, err := filepath.Abs(path)
	if err != nil {
		full = path
	}
	return &Part{
		Path: path,
		Kind: KindPE,
		Model: &trace.Model{
			Modules: []trace.Module{{
				Name: filepath.Base(path), FullPath: full,
				Base: f.base, Size: min(uint64(f.imageSize), -f.base-1), ImageID: id,
			}},
			Symbols: layout(fns, code),
		},
		movable: true,
	}, nil
}

// peFile is the headers of a PE file.
type peFile struct {
	binaryFile
	header    pe.FileHeader
	is64      bool
	base      uint64 // where the image wants to be
	imageSize uint32
	dirs      []pe.DataDirectory
	sections  []pe.SectionHeader32
}

// Data directories.
const (
	peExports   = pe.IMAGE_DIRECTORY_ENTRY_EXPORT
	peException = pe.IMAGE_DIRECTORY_ENTRY_EXCEPTION
	peDebug     = pe.IMAGE_DIRECTORY_ENTRY_DEBUG
)

// parsePE reads the headers.
func parsePE(file binaryFile) (*peFile, error) {
	f := &peFile{binaryFile: file}
	dos, err := f.read("DOS header", 0, 64)
	if err != nil {
		return nil, err
	}
	at := uint64(binary.LittleEndian.Uint32(dos[60:]))
	sig, err := f.read("PE signature", at, 4)
	if err != nil {
		return nil, err
	}
	if string(dos[:2]) != "MZ" || string(sig) != "PE\x00\x00" {
		return nil, fmt.Errorf("%w: PE signature at offset %#x: expected %q, got %q", pod.ErrFormat, at, "PE\x00\x00", sig)
	}
	at += 4
	if err := f.record("COFF header", at, &f.header); err != nil {
		return nil, err
	}
	at += uint64(binary.Size(f.header))
	if err := f.optionalHeader(at); err != nil {
		return nil, err
	}
	at += uint64(f.header.SizeOfOptionalHeader)
	f.sections = make([]pe.SectionHeader32, f.header.NumberOfSections)
	return f, f.record("section headers", at, f.sections)
}

// record reads the record, or the slice of records, at off.
func (f *peFile) record(what string, off uint64, rec any) error {
	b, err := f.read(what, off, uint64(binary.Size(rec)))
	if err != nil {
		return err
	}
	_, err = binary.Decode(b, binary.LittleEndian, rec)
	return err
}

// optionalHeader reads the header that every image has.
func (f *peFile) optionalHeader(at uint64) error {
	const magic32, magic64 = 0x10b, 0x20b
	var magic uint16
	if err := f.record("optional header", at, &magic); err != nil {
		return err
	}
	size := int(f.header.SizeOfOptionalHeader)
	short := func(least int) error {
		return fmt.Errorf("%w: optional header at offset %#x: expected at least %d bytes, got %d", pod.ErrCorrupt, at, least, size)
	}
	var n uint32
	var dirs []pe.DataDirectory
	var fixed int // bytes before the directories
	switch magic {
	case magic32:
		var h pe.OptionalHeader32
		if fixed = binary.Size(h) - binary.Size(h.DataDirectory); size < fixed {
			return short(fixed)
		}
		if err := f.padded(at, size, &h); err != nil {
			return err
		}
		f.base, f.imageSize, n, dirs = uint64(h.ImageBase), h.SizeOfImage, h.NumberOfRvaAndSizes, h.DataDirectory[:]
	case magic64:
		var h pe.OptionalHeader64
		if fixed = binary.Size(h) - binary.Size(h.DataDirectory); size < fixed {
			return short(fixed)
		}
		if err := f.padded(at, size, &h); err != nil {
			return err
		}
		f.is64 = true
		f.base, f.imageSize, n, dirs = h.ImageBase, h.SizeOfImage, h.NumberOfRvaAndSizes, h.DataDirectory[:]
	default:
		return fmt.Errorf("%w: optional header at offset %#x: expected the magic 0x10b or 0x20b, got %#x", pod.ErrUnsupported, at, magic)
	}
	f.dirs = dirs[:min(int(min(n, 16)), (size-fixed)/binary.Size(pe.DataDirectory{}))]
	return nil
}

// padded reads a record of which the file has size bytes.
func (f *peFile) padded(at uint64, size int, rec any) error {
	n := binary.Size(rec)
	b, err := f.read("optional header", at, uint64(min(size, n)))
	if err != nil {
		return err
	}
	_, err = binary.Decode(append(b, make([]byte, n-len(b))...), binary.LittleEndian, rec)
	return err
}

// dir is the data directory i, empty if the file has none.
func (f *peFile) dir(i int) pe.DataDirectory {
	if i >= len(f.dirs) {
		return pe.DataDirectory{}
	}
	return f.dirs[i]
}

// image is the memory of the binary.
func (f *peFile) image() *image {
	m := &image{file: f.binaryFile, order: binary.LittleEndian, ptr: 4}
	if f.is64 {
		m.ptr = 8
	}
	for i := range f.sections {
		s := &f.sections[i]
		m.segs = append(m.segs, segment{
			addr: f.base + uint64(s.VirtualAddress), off: uint64(s.PointerToRawData),
			filesz: uint64(s.SizeOfRawData), memsz: uint64(sectionSize(s)),
			exec: isExecutable(s),
		})
	}
	m.sortSegments()
	return m
}

// sectionSize is the bytes of a section in memory.
func sectionSize(s *pe.SectionHeader32) uint32 {
	if s.VirtualSize == 0 {
		return s.SizeOfRawData
	}
	return s.VirtualSize
}

// isExecutable reports whether functions can be in a section.
func isExecutable(s *pe.SectionHeader32) bool {
	return s.Characteristics&pe.IMAGE_SCN_MEM_EXECUTE != 0
}

// code is where functions can be.
func (f *peFile) code(m *image) []span {
	var code []span
	for i := range f.sections {
		if s := &f.sections[i]; isExecutable(s) {
			if c, ok := m.clip(f.base+uint64(s.VirtualAddress), uint64(sectionSize(s))); ok {
				code = append(code, c)
			}
		}
	}
	return code
}

// codeView is the GUID and the age by which debug files are found, 20 bytes as
// stored, nil if the file has none.
func (f *peFile) codeView() ([]byte, error) {
	const entry, codeView, maxEntries = 28, 2, 64
	d := f.dir(peDebug)
	if d.Size < entry {
		return nil, nil
	}
	b, err := f.image().read("debug directory", f.base+uint64(d.VirtualAddress), uint64(min(d.Size/entry, maxEntries))*entry)
	if err != nil {
		return nil, err
	}
	for ; len(b) >= entry; b = b[entry:] {
		const signature, size = "RSDS", 24
		if binary.LittleEndian.Uint32(b[12:]) != codeView || binary.LittleEndian.Uint32(b[16:]) < size {
			continue
		}
		rec, err := f.read("CodeView record", uint64(binary.LittleEndian.Uint32(b[24:])), size)
		if err != nil {
			return nil, err
		}
		if string(rec[:4]) == signature {
			return bytes.Clone(rec[4:]), nil
		}
	}
	return nil, nil
}
