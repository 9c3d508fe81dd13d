package lazy

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"example.com/tracecache/pod"
)

// Symbols is the Symbols section with the names and the module bounds that it
// needs from other sections. It stays valid after Close. Look-ups allocate
// nothing and take O(log Len) time.
type Symbols struct {
	entries  []pod.SymbolEntry // file order
	sorted   []pod.SymbolEntry // ascending, stably; entries where these are (but see thin)
	strings  *Strings
	modules  moduleMap
	trailing int // bytes behind the entries
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
	return access(c, context.Background(), &c.symbols, (*Cache).loadSymbols)
}

// Len is the number of entries, holes and aliases included.
func (s *Symbols) Len() int { return len(s.entries) }

// At is entry i in file order; the name of a hole is empty. Like an index of a
// slice, an i that is not in [0, Len) panics.
func (s *Symbols) At(i int) (addr uint64, name string) {
	e := s.entries[i]
	return e.Address, s.strings.name(e.StringIdx)
}

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
	return s.firstName(s.search(addr), addr)
}

// Aliases are all names of exactly the address addr, in file order. The first is
// that of [Symbols.Resolve].
func (s *Symbols) Aliases(addr uint64) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := s.search(addr); i < len(s.sorted) && s.sorted[i].Address == addr; i++ {
			if name := s.strings.name(s.sorted[i].StringIdx); name != "" && !yield(name) {
				return
			}
		}
	}
}

// search is the place in sorted of the first entry at or above addr.
func (s *Symbols) search(addr uint64) int {
	lo, hi := 0, len(s.sorted)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if s.sorted[mid].Address < addr {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// firstName is the first name among the entries from place i on that have the
// address addr.
func (s *Symbols) firstName(i int, addr uint64) (string, bool) {
	for ; i < len(s.sorted) && s.sorted[i].Address == addr; i++ {
		if name := s.strings.name(s.sorted[i].StringIdx); name != "" {
			return name, true
		}
	}
	return "", false
}

func (c *Cache) loadSymbols(ctx context.Context) (*Symbols, error) {
	raw, err := c.sections[pod.SectionSymbols].load(ctx)
	if err != nil {
		return nil, err
	}
	s, err := c.parseSymbols(raw)
	if err != nil {
		return nil, err
	}
	if s.strings, err = c.strings.get(ctx, c.loadStrings); err != nil {
		return nil, err
	}
	s.thin()
	records, err := c.records.get(ctx, c.loadMetadataRecords)
	switch {
	case err == nil:
		s.modules = newModuleMap(records.modules, s.strings)
	case final(err):
		s.modules = moduleMap{err: err}
	default:
		return nil, err
	}
	return s, nil
}

// parseSymbols makes entries of the decoded section, and sorts them where they
// are not.
func (c *Cache) parseSymbols(raw []byte) (*Symbols, error) {
	p := payload{file: c.file, id: pod.SectionSymbols, raw: raw}
	s := &Symbols{entries: list[pod.SymbolEntry](&p, pod.SymbolEntrySize, "symbols")}
	if p.err != nil {
		return nil, p.err
	}
	s.trailing = len(raw) - p.off
	s.sorted = s.entries
	if !slices.IsSortedFunc(s.entries, byAddress) {
		s.sorted = slices.Clone(s.entries)
		slices.SortStableFunc(s.sorted, byAddress)
	}
	return s, nil
}

// longRun is how many entries of one address are too many to walk over in a
// look-up.
const longRun = 32

// thin takes out of sorted the holes that share their address with a name or
// another hole, so that the first entry of an address has its name if there is
// one. They answer nothing, and a look-up would have to walk over them. Files that
// have no long runs of one address, which is nearly all, stay as they are.
func (s *Symbols) thin() {
	long := false
	for i := longRun; i < len(s.sorted) && !long; i += longRun {
		long = s.sorted[i].Address == s.sorted[i-longRun].Address
	}
	if !long {
		return
	}
	var kept []pod.SymbolEntry
	for _, e := range s.sorted {
		last := len(kept) - 1
		switch {
		case last < 0 || kept[last].Address != e.Address:
			kept = append(kept, e)
		case s.strings.name(e.StringIdx) == "":
		case s.strings.name(kept[last].StringIdx) == "":
			kept[last] = e
		default:
			kept = append(kept, e)
		}
	}
	s.sorted = kept
}

func byAddress(a, b pod.SymbolEntry) int { return cmp.Compare(a.Address, b.Address) }
