package convert

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"example.com/tracecache/trace"
)

// Part is one imported file, in an address space of its own until [Merge]
// places it.
type Part struct {
	Path string
	Kind Kind

	// Model is what the file says. A profile's has no symbols: the addresses
	// that it names are points, which become symbols in Merge, where it is
	// known what else has a name there.
	Model *trace.Model

	// points are a profile's sampled addresses with the name of the outermost
	// function there, ascending; several names of one address are aliases in
	// order of appearance.
	points []trace.Symbol

	movable bool // may be moved to a fixed module of equal build id
	placed  bool // was moved by Place

	// load is, of an ELF binary, the address of its first segment, which moves
	// with the rest.
	load uint64

	// noCodeID is of a Breakpad file whose build id is only a part of the
	// binary's, or none.
	noCodeID bool
}

// Place moves a binary or a Breakpad file so that its first module's Base is
// base, with everything else of it; Merge will not move it again. The model is
// replaced, not changed. It is an error for a kind that says itself where things
// are, for a file without a module, and where an address would leave 64 bits.
func (p *Part) Place(base uint64) error {
	if !p.movable {
		return fmt.Errorf("%s: cannot be placed at %#x: a %s input says itself where its modules are", p.Path, base, p.Kind)
	}
	if len(p.Model.Modules) == 0 {
		return fmt.Errorf("%s: cannot be placed at %#x: it has no module", p.Path, base)
	}
	from := p.Model.Modules[0].Base
	m, err := moved(p, from, base)
	if err != nil {
		return err
	}
	p.Model = m
	p.load += base - from // which may wrap: nothing need lie at its start
	p.placed = true
	return nil
}

// moved is the part's model with every module and symbol moved by as much as it
// is from one address to the other. What does not move is shared.
func moved(p *Part, from, to uint64) (*trace.Model, error) {
	if from == to {
		return p.Model, nil
	}
	fits := func(addr uint64) bool {
		if to > from {
			return addr <= math.MaxUint64-(to-from)
		}
		return addr >= from-to
	}
	bias := to - from // the sums below wrap to the right value where it fits
	m := *p.Model
	m.Modules = slices.Clone(m.Modules)
	for i := range m.Modules {
		mod := &m.Modules[i]
		if !fits(mod.Base) || !fits(lastOf(*mod)) {
			return nil, fmt.Errorf("%s: module %s at %#x does not fit in 64 bits when %#x moves to %#x", p.Path, mod.Name, mod.Base, from, to)
		}
		mod.Base += bias
	}
	m.Symbols = make([]trace.Symbol, 0, len(p.Model.Symbols))
	for _, sym := range p.Model.Symbols {
		switch {
		case fits(sym.Address):
			sym.Address += bias
			m.Symbols = append(m.Symbols, sym)
		case sym.Name != "":
			return nil, fmt.Errorf("%s: symbol %s at %#x does not fit in 64 bits when %#x moves to %#x", p.Path, sym.Name, sym.Address, from, to)
		}
		// A hole behind the last address there is has nothing to end.
	}
	return &m, nil
}

// lastOf is the last address of a module; one of size 0 is taken for a single
// address, as it reaches only to whatever comes next.
func lastOf(m trace.Module) uint64 {
	if m.Size == 0 {
		return m.Base
	}
	if m.Size-1 > math.MaxUint64-m.Base {
		return math.MaxUint64
	}
	return m.Base + m.Size - 1
}

// baseName is the last element of a path of any system: a profile may come from
// another one than this.
func baseName(file string) string {
	if file == "" {
		return ""
	}
	return path.Base(strings.ReplaceAll(file, `\`, "/"))
}
