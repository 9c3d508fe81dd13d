package convert

import (
	"bytes"
	"debug/elf"
	"fmt"
)

const (
	noteGNUBuildID = 3
	noteGoBuildID  = 4

	// maxNotes bounds the bytes of notes that are looked through.
	maxNotes = 1 << 20

	// maxBuildID bounds a build id. GNU's have 20 bytes or less, Go's 83.
	maxBuildID = 256
)

// elfIDs are the build ids of a binary, nil where it has none.
type elfIDs struct {
	gnu, golang []byte
}

// id is the id that names the binary.
func (ids elfIDs) id() []byte {
	if ids.gnu != nil {
		return ids.gnu
	}
	return ids.golang
}

// buildIDs finds the build ids in the notes.
func (f *elfFile) buildIDs() (elfIDs, error) {
	var ids elfIDs
	left := uint64(maxNotes)
	scan := func(off, size, align uint64) error {
		if size == 0 || size > left || ids.gnu != nil {
			return nil
		}
		left -= size
		b, err := f.read("notes", off, size)
		if err != nil {
			return err
		}
		f.scanNotes(&ids, b, align)
		return nil
	}
	for i := range f.sections {
		s := &f.sections[i]
		if elf.SectionType(s.Type) == elf.SHT_NOTE {
			if err := scan(s.Off, s.Size, s.Addralign); err != nil {
				return ids, fmt.Errorf("section %d (%s): %w", i, s.name, err)
			}
		}
	}
	for i, p := range f.progs {
		if elf.ProgType(p.Type) == elf.PT_NOTE {
			if err := scan(p.Off, p.Filesz, p.Align); err != nil {
				return ids, fmt.Errorf("program header %d: %w", i, err)
			}
		}
	}
	return ids, nil
}

// scanNotes looks for build ids in b. Notes that make no sense end it: linkers
// pad with zeros.
func (f *elfFile) scanNotes(ids *elfIDs, b []byte, align uint64) {
	if align != 8 {
		align = 4
	}
	pad := func(n uint64) uint64 { return (n + align - 1) &^ (align - 1) }
	for len(b) >= 12 {
		namesz, descsz := uint64(f.order.Uint32(b)), uint64(f.order.Uint32(b[4:]))
		typ := f.order.Uint32(b[8:])
		desc := pad(12 + namesz)
		if namesz == 0 || desc+descsz > uint64(len(b)) {
			return
		}
		name := b[12 : 12+namesz]
		id := b[desc : desc+descsz]
		if 0 < descsz && descsz <= maxBuildID {
			switch {
			case typ == noteGNUBuildID && string(name) == "GNU\x00" && ids.gnu == nil:
				ids.gnu = bytes.Clone(id)
			case typ == noteGoBuildID && string(name) == "Go\x00\x00" && ids.golang == nil:
				ids.golang = bytes.Clone(id)
			}
		}
		b = b[min(pad(desc+descsz), uint64(len(b))):]
	}
}
