package lazy_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math"
	"slices"

	"example.com/tracecache/lazy"
	"example.com/tracecache/trace"
)

// linear answers look-ups from lists in file order by looking at all of them. It
// says what the format says, in the simplest way.
type linear struct {
	symbols []trace.Symbol
	modules []trace.Module
	stacks  []trace.Callstack
}

// aliases are the names at exactly addr.
func (l linear) aliases(addr uint64) (names []string) {
	for _, s := range l.symbols {
		if s.Address == addr && s.Name != "" {
			names = append(names, s.Name)
		}
	}
	return names
}

// module is the module that addr is in, or -1: of those that overlap, the one
// with the highest Base, and of equal Bases the first.
func (l linear) module(addr uint64) int {
	in := -1
	for i, m := range l.modules {
		if l.contains(m, addr) && (in < 0 || m.Base > l.modules[in].Base) {
			in = i
		}
	}
	return in
}

func (l linear) contains(m trace.Module, addr uint64) bool {
	if addr < m.Base {
		return false
	}
	if m.Size > 0 {
		return addr-m.Base < m.Size
	}
	for _, other := range l.modules {
		if other.Base > m.Base && addr >= other.Base {
			return false
		}
	}
	return true
}

func (l linear) find(pc uint64) (lazy.Symbol, lazy.Reason) {
	if len(l.symbols) == 0 {
		return lazy.Symbol{}, lazy.NoSymbols
	}
	floor, found := uint64(0), false
	for _, s := range l.symbols {
		if s.Address <= pc && (!found || s.Address > floor) {
			floor, found = s.Address, true
		}
	}
	if !found {
		return lazy.Symbol{}, lazy.BeforeFirst
	}
	names, in := l.aliases(floor), l.module(pc)
	exact := floor == pc && len(names) > 0
	switch {
	case exact:
	case len(l.modules) > 0 && in < 0:
		return lazy.Symbol{}, lazy.OutsideModules
	case len(l.modules) > 0 && in != l.module(floor):
		return lazy.Symbol{}, lazy.BeforeFirst
	case len(names) == 0:
		return lazy.Symbol{}, lazy.InHole
	}
	sym := lazy.Symbol{Name: names[0], Address: floor, Offset: pc - floor}
	if in >= 0 {
		sym.Module = l.modules[in].Name
	}
	return sym, lazy.Found
}

// stack is the first callstack with an id.
func (l linear) stack(id uint32) (trace.Callstack, bool) {
	i := slices.IndexFunc(l.stacks, func(s trace.Callstack) bool { return s.ID == id })
	if i < 0 {
		return trace.Callstack{}, false
	}
	return l.stacks[i], true
}

// edges are the addresses at which an answer may change, and those beside them.
func (l linear) edges() []uint64 {
	at := []uint64{0, 1 << 63, math.MaxUint64}
	for _, s := range l.symbols {
		at = append(at, s.Address)
	}
	for _, m := range l.modules {
		at = append(at, m.Base, m.Base+m.Size)
	}
	for _, a := range slices.Clone(at) {
		at = append(at, a-1, a+1)
	}
	slices.Sort(at)
	return slices.Compact(at)
}

// file is a cache file of l as it stands, sorted or not: everything stored as it
// is, without checksum tables.
func (l linear) file() []byte {
	le := binary.LittleEndian
	var offsets, packed []byte
	index := map[string]uint32{}
	intern := func(s string) uint32 {
		i, ok := index[s]
		if !ok {
			i = uint32(len(index))
			index[s] = i
			offsets = le.AppendUint32(offsets, uint32(len(packed)))
			packed = append(append(packed, s...), 0)
		}
		return i
	}
	modules := le.AppendUint32(nil, uint32(len(l.modules)))
	for _, m := range l.modules {
		modules = le.AppendUint32(modules, intern(m.Name))
		modules = le.AppendUint32(modules, intern(m.FullPath))
		modules = le.AppendUint64(modules, m.Base)
		modules = le.AppendUint64(modules, m.Size)
		modules = append(modules, make([]byte, 8)...) // no ImageId
	}
	symbols := le.AppendUint32(nil, uint32(len(l.symbols)))
	for _, s := range l.symbols {
		symbols = le.AppendUint64(symbols, s.Address)
		symbols = le.AppendUint32(symbols, intern(s.Name))
		symbols = append(symbols, 0, 0, 0, 0)
	}
	stacks, frames := le.AppendUint32(nil, uint32(len(l.stacks))), []byte(nil)
	for _, s := range l.stacks {
		stacks = le.AppendUint32(stacks, s.ID)
		stacks = le.AppendUint32(stacks, uint32(len(s.Frames)))
		stacks = le.AppendUint32(stacks, uint32(len(frames)/16))
		for _, f := range s.Frames {
			frames = le.AppendUint64(frames, f.Address)
			frames = le.AppendUint32(frames, f.ModuleIndex)
			frames = le.AppendUint32(frames, uint32(f.Offset))
		}
	}
	return plainFile([5][]byte{
		slices.Concat(le.AppendUint32(nil, uint32(len(index))), offsets, packed),
		slices.Concat(make([]byte, 72+4+4), modules, make([]byte, 4+4)),
		make([]byte, 72+4*4),
		append(stacks, frames...),
		symbols,
	})
}

// plainFile is a file of five payloads, stored as they are.
func plainFile(payloads [5][]byte) []byte {
	le, be := binary.LittleEndian, binary.BigEndian
	head := le.AppendUint32([]byte("ZTAC"), 1)
	head = append(head, make([]byte, 16)...)
	var data bytes.Buffer
	for id, raw := range payloads {
		var h [64]byte
		be.PutUint32(h[0:], 0xB7756362)
		be.PutUint32(h[12:], 1)
		be.PutUint64(h[16:], uint64(len(raw)))
		be.PutUint64(h[24:], uint64(len(raw)+64))
		be.PutUint32(h[4:], crc32.ChecksumIEEE(h[8:]))
		head = le.AppendUint32(head, uint32(id))
		head = le.AppendUint32(head, 0)
		head = le.AppendUint64(head, uint64(144+data.Len()))
		head = le.AppendUint64(head, uint64(64+len(raw)))
		data.Write(h[:])
		data.Write(raw)
	}
	return append(head, data.Bytes()...)
}
