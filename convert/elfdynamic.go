package convert

import (
	"debug/elf"
	"fmt"
	"slices"

	"example.com/tracecache/pod"
)

// dynamic reads what the dynamic section tells the loader, empty if the file has
// none. Of a tag that comes twice the last counts.
func (f *elfFile) dynamic() (map[elf.DynTag]uint64, error) {
	i := slices.IndexFunc(f.progs, func(p elf.Prog64) bool { return elf.ProgType(p.Type) == elf.PT_DYNAMIC })
	if i < 0 {
		return nil, nil
	}
	p := f.progs[i]
	b, err := f.read("dynamic section", p.Off, p.Filesz)
	if err != nil {
		return nil, fmt.Errorf("program header %d: %w", i, err)
	}
	dyn := make(map[elf.DynTag]uint64)
	word := f.ptr()
	for ; len(b) >= 2*word; b = b[2*word:] {
		tag := elf.DynTag(int32(f.word(b)))
		if tag == elf.DT_NULL {
			break
		}
		switch tag {
		case elf.DT_RELA, elf.DT_RELASZ, elf.DT_RELAENT,
			elf.DT_SYMTAB, elf.DT_STRTAB, elf.DT_STRSZ, elf.DT_HASH, elf.DT_GNU_HASH:
			dyn[tag] = f.word(b[word:])
		}
	}
	return dyn, nil
}

// dynamicSymbols adds the functions of the table of dynamic symbols of a file
// whose section headers are gone.
func (f *elfFile) dynamicSymbols(out *elfSymbols) error {
	dyn, err := f.dynamic()
	if err != nil || dyn[elf.DT_SYMTAB] == 0 || dyn[elf.DT_STRTAB] == 0 {
		return err
	}
	m := f.bare
	n, err := f.countDynamic(m, dyn)
	if err != nil {
		return err
	}
	strs, err := m.read("names of dynamic symbols", dyn[elf.DT_STRTAB], dyn[elf.DT_STRSZ])
	if err != nil {
		return err
	}
	table, err := m.read("dynamic symbols", dyn[elf.DT_SYMTAB], n*uint64(f.symSize()))
	if err != nil {
		return err
	}
	return f.addSymbols(out, table, nil, newStrings("names of dynamic symbols", strs), nil, true)
}

// countDynamic is the number of dynamic symbols, which only their hash tables
// tell.
func (f *elfFile) countDynamic(m *image, dyn map[elf.DynTag]uint64) (uint64, error) {
	if addr := dyn[elf.DT_HASH]; addr != 0 {
		b, err := m.read("hash table", addr, 8)
		if err != nil {
			return 0, err
		}
		return uint64(f.order.Uint32(b[4:])), nil
	}
	addr := dyn[elf.DT_GNU_HASH]
	if addr == 0 {
		return 0, nil
	}
	_, size := m.stored(addr)
	b, err := m.read("hash table", addr, size)
	if err != nil {
		return 0, err
	}
	short := fmt.Errorf("%w: hash table at address %#x: expected it to end below %#x", pod.ErrCorrupt, addr, addr+size)
	if size < 16 {
		return 0, short
	}
	u32 := func(i uint64) uint64 { return uint64(f.order.Uint32(b[i:])) }
	buckets, first, bloom := u32(0), u32(4), u32(8)
	at := 16 + bloom*uint64(f.ptr())
	chains := at + 4*buckets
	if chains > size {
		return 0, short
	}
	last := uint64(0)
	for ; at < chains; at += 4 {
		last = max(last, u32(at))
	}
	if last < first {
		return first, nil
	}
	// The chain that begins last ends with the last symbol, which is marked.
	for at = chains + 4*(last-first); at+4 <= size; at += 4 {
		if last++; u32(at)&1 != 0 {
			return last, nil
		}
	}
	return 0, short
}
