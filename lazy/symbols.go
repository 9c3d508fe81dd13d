package lazy

import (
	"cmp"
	"context"
	"iter"
	"math"
	"slices"
	"sync/atomic"

	"example.com/tracecache/internal/bounds"
	"example.com/tracecache/internal/index"
	"example.com/tracecache/internal/parallel"
	"example.com/tracecache/internal/view"
	"example.com/tracecache/pod"
)

// Symbols is the Symbols section with the names and the module bounds that it
// needs from other sections. It stays valid after Close. Look-ups allocate
// nothing, and do not look at the bytes of a name. They take constant time where
// addresses lie evenly within each module, and O(log Len) time at worst.
type Symbols struct {
	entries []index.Entry // file order
	text    string        // what entries say where in it their names are
	index   *index.Index  // of the entries in ascending order, stably (but see thin)
	modules moduleMap
	spans   []span // of each cluster of the index
}

// span is the addresses from the start of a cluster up to end, all of which are in
// one module, or all bare where there are no bounds. An end of 0 says that there
// are none.
type span struct {
	end    uint64
	module string
}

// Symbol is the answer to a floor look-up. Its strings stay valid after Close.
type Symbol struct {
	Name    string
	Address uint64 // of the entry that the name is from
	Offset  uint64 // of the address asked for, from Address
	Module  string // name of the module that the address asked for lies in; empty: in none
}

// Symbols returns the Symbols section, loading it, the string table and Metadata
// on first use. Damage of the Symbols or the StringTable section is an error;
// where Metadata is damaged, [Symbols.Find] answers exact hits only and
// [Symbols.BoundsErr] says why.
func (c *Cache) Symbols() (*Symbols, error) {
	return access(c, context.Background(), pod.SectionSymbols, &c.symbols, (*Cache).loadSymbols)
}

// Len is the number of entries, holes and aliases included.
func (s *Symbols) Len() int { return len(s.entries) }

// At is entry i in file order; the name of a hole is empty. Like an index of a
// slice, an i that is not in [0, Len) panics.
func (s *Symbols) At(i int) (addr uint64, name string) {
	e := &s.entries[i]
	return e.Address, s.name(e.Off, e.Len)
}

// name is the name that an entry says the place of.
func (s *Symbols) name(off, n uint32) string { return s.text[off:][:n] }

// All is every entry in file order, as [Symbols.At] gives it.
func (s *Symbols) All() iter.Seq2[uint64, string] {
	return func(yield func(uint64, string) bool) {
		for i := range s.entries {
			if !yield(s.At(i)) {
				return
			}
		}
	}
}

// Resolve is the name of exactly the address addr: of the first entry in file
// order that has this address and a name.
func (s *Symbols) Resolve(addr uint64) (name string, ok bool) {
	off, n := s.index.Name(addr)
	return s.text[off:][:n], n != 0
}

// Aliases are all names of exactly the address addr, in file order. The first is
// that of [Symbols.Resolve].
func (s *Symbols) Aliases(addr uint64) iter.Seq[string] {
	return func(yield func(string) bool) {
		sorted := s.index.Entries()
		for i := max(0, s.index.First(s.index.Floor(addr))); i < len(sorted) && sorted[i].Address == addr; i++ {
			if e := &sorted[i]; e.Len != 0 && !yield(s.name(e.Off, e.Len)) {
				return
			}
		}
	}
}

func (c *Cache) loadSymbols(ctx context.Context) (*Symbols, error) {
	c.pin(pod.SectionStringTable, pod.SectionMetadata, pod.SectionSymbols)
	defer c.unpin(pod.SectionStringTable, pod.SectionMetadata, pod.SectionSymbols)
	d, err := c.load(ctx, pod.SectionSymbols, pod.SectionStringTable)
	if err != nil {
		return nil, err
	}
	strings, err := get(c, ctx, &c.strings, (*Cache).loadStrings)
	if err != nil {
		return nil, err
	}
	s := &Symbols{text: view.String(strings.packed)}
	records, err := get(c, ctx, &c.records, (*Cache).loadMetadataRecords)
	switch {
	case err == nil:
		s.modules = newModuleMap(records.modules, strings)
	case lasting(err):
		s.modules = moduleMap{err: err}
	default:
		return nil, err
	}
	return parsed(c, d, func() (*Symbols, int, error) {
		entries, trailing, err := symbolRecords[index.Entry](c, d.raw)
		if err == nil && trailing != 0 {
			err = d.doubt()
		}
		if err != nil {
			return nil, 0, err
		}
		s.entries = entries
		ascending := d.nameRecords(s.entries, strings)
		s.makeIndex(ascending, c.opts.exactIndex)
		return s, s.extra(d.raw), nil
	}, pod.SectionStringTable)
}

// extra is the memory in bytes that the symbols take besides their section.
func (s *Symbols) extra(raw []byte) int {
	n := view.Outside(s.entries, raw) + s.index.Size() + view.Outside(s.spans, raw)
	if sorted := s.index.Entries(); len(sorted) > 0 && (len(s.entries) == 0 || &sorted[0] != &s.entries[0]) {
		n += view.Outside(sorted, raw)
	}
	return n + s.modules.bounds.Size() + view.Outside(s.modules.names, raw)
}

// symbolRecords makes records of the decoded section. Behind them are trailing
// bytes.
func symbolRecords[T any](c *Cache, raw []byte) (recs []T, trailing int, err error) {
	p := payload{file: c.file, id: pod.SectionSymbols, raw: raw}
	recs = list[T](&p, pod.SymbolEntrySize, "symbols")
	return recs, len(raw) - p.off, p.err
}

// nameRecords writes over the index of each symbol's name, and the padding behind
// it, where the name is and how long. Nothing can fail any more when this
// is done. It reports whether the records are in ascending order.
func (s *decoded) nameRecords(entries []index.Entry, strings *Strings) bool {
	s.recordsMu.Lock()
	defer s.recordsMu.Unlock()
	var unsorted atomic.Bool
	parallel.Each(len(entries), func(lo, hi int) {
		prev := entries[max(lo-1, 0)].Address
		for i := range entries[lo:hi] {
			e := &entries[lo+i]
			if e.Address < prev {
				unsorted.Store(true)
			}
			prev = e.Address
			var off, n uint64
			if uint64(e.Off) < uint64(len(strings.offsets)) { // the index, still
				off, n = strings.place(int(e.Off))
			}
			e.Off, e.Len = uint32(off), uint32(n)
		}
	})
	s.named = true
	return !unsorted.Load()
}

// makeIndex makes the indexes of the entries, sorting them where they are not
// ascending.
func (s *Symbols) makeIndex(ascending, exact bool) {
	sorted := s.entries
	if !ascending {
		sorted = slices.Clone(s.entries)
		slices.SortStableFunc(sorted, func(a, b index.Entry) int { return cmp.Compare(a.Address, b.Address) })
	}
	sorted = thin(sorted)
	s.index = index.New(sorted, s.modules.bounds.Edges(), exact)
	s.spans = spansOf(s.index, &s.modules)
}

// spansOf are the spans of the clusters.
func spansOf(x *index.Index, m *moduleMap) []span {
	spans := make([]span, x.Clusters())
	for c := range spans {
		switch module, _, last := m.bounds.Range(x.ClusterStart(c)); {
		case m.err != nil:
		case !m.bounded():
			spans[c].end = math.MaxUint64
		case module != bounds.None:
			spans[c] = span{last, m.names[module]}
		}
	}
	return spans
}

// longRun is how many entries of one address are too many to walk over in a
// look-up.
const longRun = 32

// thin takes out of sorted the holes that share their address with a name or
// another hole, so that the first entry of an address has its name if there is
// one. They answer nothing, and a look-up would have to walk over them. Files that
// have no long runs of one address, which is nearly all, stay as they are.
func thin(sorted []index.Entry) []index.Entry {
	long := false
	for i := longRun; i < len(sorted) && !long; i += longRun {
		long = sorted[i].Address == sorted[i-longRun].Address
	}
	if !long {
		return sorted
	}
	var kept []index.Entry
	for _, e := range sorted {
		last := len(kept) - 1
		switch {
		case last < 0 || kept[last].Address != e.Address:
			kept = append(kept, e)
		case e.Len == 0:
		case kept[last].Len == 0:
			kept[last] = e
		default:
			kept = append(kept, e)
		}
	}
	return kept
}
