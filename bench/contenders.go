package bench

import (
	"cmp"
	"slices"
	"sort"

	"example.com/tracecache/lazy"
	"example.com/tracecache/pod"
	"example.com/tracecache/trace"
)

// goMap is what most Go programs use.
type goMap map[uint64]string

func newGoMap(symbols []trace.Symbol) goMap {
	g := make(goMap, len(symbols))
	for _, s := range symbols {
		if s.Name != "" {
			g[s.Address] = s.Name
		}
	}
	return g
}

func (g goMap) resolve(addr uint64) (string, bool) {
	name, ok := g[addr]
	return name, ok
}

// modules are ascending and disjoint.
type modules []trace.Module

func newModules(m *trace.Model) modules {
	mods := slices.Clone(m.Modules)
	slices.SortFunc(mods, func(a, b trace.Module) int { return cmp.Compare(a.Base, b.Base) })
	return mods
}

// within completes the answer name, found at address at, for pc.
func (m modules) within(name string, at, pc uint64) (lazy.Symbol, bool) {
	k := sort.Search(len(m), func(k int) bool { return m[k].Base > pc }) - 1
	if k < 0 || pc-m[k].Base >= m[k].Size || at < m[k].Base {
		return lazy.Symbol{}, false
	}
	return lazy.Symbol{Name: name, Address: at, Offset: pc - at, Module: m[k].Name}, true
}

// slice is addresses and Go strings, ascending, each address once.
type slice struct {
	symbols []trace.Symbol
	modules modules
}

func (s slice) resolve(addr uint64) (string, bool) {
	i := sort.Search(len(s.symbols), func(k int) bool { return s.symbols[k].Address >= addr })
	if i == len(s.symbols) || s.symbols[i].Address != addr {
		return "", false
	}
	return s.symbols[i].Name, s.symbols[i].Name != ""
}

func (s slice) find(pc uint64) (lazy.Symbol, bool) {
	i := sort.Search(len(s.symbols), func(k int) bool { return s.symbols[k].Address > pc }) - 1
	if i < 0 || s.symbols[i].Name == "" {
		return lazy.Symbol{}, false
	}
	return s.modules.within(s.symbols[i].Name, s.symbols[i].Address, pc)
}

// records are a file's records and string table: ascending, each address once,
// strings in the order of their first use.
type records struct {
	entries []pod.SymbolEntry
	offsets []uint32 // of each string, and behind the last
	packed  string   // strings, a NUL behind each
	modules modules
}

func newRecords(symbols []trace.Symbol, mods modules) *records {
	size, names := 1, 1
	for _, s := range symbols {
		if s.Name != "" {
			size, names = size+len(s.Name)+1, names+1
		}
	}
	r := &records{
		entries: make([]pod.SymbolEntry, 0, len(symbols)),
		offsets: make([]uint32, 1, names+1),
		modules: mods,
	}
	packed := make([]byte, 1, size)
	r.offsets = append(r.offsets, 1) // string 0 is empty
	for _, s := range symbols {
		e := pod.SymbolEntry{Address: s.Address}
		if s.Name != "" {
			e.StringIdx = pod.StringIndex(len(r.offsets) - 1)
			packed = append(append(packed, s.Name...), 0)
			r.offsets = append(r.offsets, uint32(len(packed)))
		}
		r.entries = append(r.entries, e)
	}
	r.packed = string(packed)
	return r
}

func (r *records) name(i pod.StringIndex) string {
	return r.packed[r.offsets[i] : r.offsets[i+1]-1]
}

func (r *records) resolve(addr uint64) (string, bool) {
	i := sort.Search(len(r.entries), func(k int) bool { return r.entries[k].Address >= addr })
	if i == len(r.entries) || r.entries[i].Address != addr {
		return "", false
	}
	name := r.name(r.entries[i].StringIdx)
	return name, name != ""
}

func (r *records) find(pc uint64) (lazy.Symbol, bool) {
	i := sort.Search(len(r.entries), func(k int) bool { return r.entries[k].Address > pc }) - 1
	if i < 0 || r.entries[i].StringIdx == 0 {
		return lazy.Symbol{}, false
	}
	return r.modules.within(r.name(r.entries[i].StringIdx), r.entries[i].Address, pc)
}

// binarySearch is records by the other function of the standard library.
type binarySearch struct{ *records }

func toAddress(e pod.SymbolEntry, addr uint64) int { return cmp.Compare(e.Address, addr) }

func (r binarySearch) resolve(addr uint64) (string, bool) {
	i, ok := slices.BinarySearchFunc(r.entries, addr, toAddress)
	if !ok {
		return "", false
	}
	name := r.name(r.entries[i].StringIdx)
	return name, name != ""
}

func (r binarySearch) find(pc uint64) (lazy.Symbol, bool) {
	i, ok := slices.BinarySearchFunc(r.entries, pc, toAddress)
	if !ok {
		i--
	}
	if i < 0 || r.entries[i].StringIdx == 0 {
		return lazy.Symbol{}, false
	}
	return r.modules.within(r.name(r.entries[i].StringIdx), r.entries[i].Address, pc)
}

// once is symbols with each address once: its first name, or a hole where it has
// none. It is symbols itself where that is so already.
func once(symbols []trace.Symbol) []trace.Symbol {
	again := func(i int) bool { return symbols[i].Address == symbols[i-1].Address }
	i := 1
	for i < len(symbols) && !again(i) {
		i++
	}
	if i >= len(symbols) {
		return symbols
	}
	kept := slices.Clone(symbols[:i])
	for ; i < len(symbols); i++ {
		if last := &kept[len(kept)-1]; !again(i) {
			kept = append(kept, symbols[i])
		} else if last.Name == "" {
			last.Name = symbols[i].Name
		}
	}
	return kept
}
