package lazy

// Find is the symbol at or before pc (floor): the first name among the entries
// of the greatest address that is not above pc. An exact hit always answers.
// Else there is none where these entries are a hole, or where Metadata names
// modules and pc does not lie in the module that the entry is in.
// [Symbols.Explain] says which.
func (s *Symbols) Find(pc uint64) (Symbol, bool) {
	i, cluster := s.index.Locate(pc)
	// Nearly always pc lies in a span, and the entry before it has a name and an address
	// of its own. What else there is takes the longer way.
	if uint(cluster) < uint(len(s.spans)) && pc < s.spans[cluster].end {
		sorted := s.index.Entries()
		if e := &sorted[i]; e.Len != 0 && i > 0 && sorted[i-1].Address != e.Address {
			return Symbol{Name: s.name(e.Off, e.Len), Address: e.Address, Offset: pc - e.Address, Module: s.spans[cluster].module}, true
		}
	}
	sym, reason := s.answer(pc, i)
	return sym, reason == Found
}

// Reason says why [Symbols.Find] has no answer.
type Reason uint8

// The reasons.
const (
	Found          Reason = 0 // Find has an answer
	NoSymbols      Reason = 1 // the cache has none
	BeforeFirst    Reason = 2 // no symbol starts at or before the address, in its module
	OutsideModules Reason = 3 // the address is in no module
	InHole         Reason = 4 // the function before the address has ended
	UnknownModules Reason = 5 // Metadata is damaged, and only exact hits count
	NotAtStart     Reason = 6 // no symbol starts at the address, of [Cache.LookupExact] only
)

// String is the reason in words: "in a hole".
func (r Reason) String() string {
	switch r {
	case Found:
		return "found"
	case NoSymbols:
		return "no symbols in the cache"
	case BeforeFirst:
		return "before the first symbol"
	case OutsideModules:
		return "outside every module"
	case InHole:
		return "in a hole"
	case UnknownModules:
		return "module bounds are not known"
	case NotAtStart:
		return "no symbol at this address"
	}
	return "unknown reason"
}

// Explain says why [Symbols.Find] has no answer for pc, or [Found]. An address
// below every symbol is [BeforeFirst], whether or not it is in a module.
func (s *Symbols) Explain(pc uint64) Reason {
	_, reason := s.find(pc)
	return reason
}

// BoundsErr is the error of the Metadata section where it is damaged and
// [Symbols.Find] answers exact hits only; else nil.
func (s *Symbols) BoundsErr() error { return s.modules.err }

func (s *Symbols) find(pc uint64) (Symbol, Reason) {
	return s.answer(pc, s.index.Floor(pc))
}

// answer is the answer for pc if place i of the sorted entries is the last at or
// below it.
func (s *Symbols) answer(pc uint64, i int) (Symbol, Reason) {
	if i < 0 {
		if len(s.entries) == 0 {
			return Symbol{}, NoSymbols
		}
		return Symbol{}, BeforeFirst
	}
	sorted := s.index.Entries()
	addr, off, n := sorted[i].Address, sorted[i].Off, sorted[i].Len
	if i > 0 && sorted[i-1].Address == addr {
		off, n = s.index.NameAt(s.index.First(i))
	}
	module, reason := s.modules.judge(pc, addr, n != 0)
	if reason != Found {
		return Symbol{}, reason
	}
	return Symbol{Name: s.name(off, n), Address: addr, Offset: pc - addr, Module: s.modules.name(module)}, Found
}
