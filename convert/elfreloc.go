package convert

import (
	"cmp"
	"debug/elf"
	"fmt"
	"slices"

	"example.com/tracecache/pod"
)

// relative is, by machine, the relocation that adds the load address to a
// number in the file.
var relative = map[elf.Machine]uint32{
	elf.EM_386:       uint32(elf.R_386_RELATIVE),
	elf.EM_X86_64:    uint32(elf.R_X86_64_RELATIVE),
	elf.EM_ARM:       uint32(elf.R_ARM_RELATIVE),
	elf.EM_AARCH64:   uint32(elf.R_AARCH64_RELATIVE),
	elf.EM_PPC64:     uint32(elf.R_PPC64_RELATIVE),
	elf.EM_RISCV:     uint32(elf.R_RISCV_RELATIVE),
	elf.EM_LOONGARCH: uint32(elf.R_LARCH_RELATIVE),
	elf.EM_S390:      12, // R_390_RELATIVE
}

// fixups are the pointers that the dynamic relocations hold. Only RELA tables
// hold any: those of REL and RELR keep them in place.
func (f *elfFile) fixups() ([]fixup, error) {
	typ, ok := relative[f.machine]
	if !ok {
		return nil, nil
	}
	dyn, err := f.dynamic()
	if err != nil || dyn[elf.DT_RELASZ] == 0 {
		return nil, err
	}
	word := f.ptr()
	entry := 3 * word
	if n, ok := dyn[elf.DT_RELAENT]; ok && n != uint64(entry) {
		return nil, fmt.Errorf("%w: dynamic section: expected relocations of %d bytes, got %d", pod.ErrCorrupt, entry, n)
	}
	b, err := f.image().read("relocations", dyn[elf.DT_RELA], dyn[elf.DT_RELASZ])
	if err != nil {
		return nil, err
	}
	fixups := make([]fixup, 0, len(b)/entry)
	for ; len(b) >= entry; b = b[entry:] {
		place, info, addend := f.word(b), f.word(b[word:]), f.word(b[2*word:])
		kind := uint32(info)
		if !f.is64 {
			kind &= 0xff
		}
		if kind == typ {
			fixups = append(fixups, fixup{place, addend})
		}
	}
	slices.SortStableFunc(fixups, func(a, b fixup) int { return cmp.Compare(a.addr, b.addr) })
	return fixups, nil
}

// word is the word of the file's class at the start of b.
func (f *elfFile) word(b []byte) uint64 {
	if f.is64 {
		return f.order.Uint64(b)
	}
	return uint64(f.order.Uint32(b))
}
