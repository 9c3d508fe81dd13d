package convert

import (
	"cmp"
	"context"
	"math"
	"slices"

	"example.com/tracecache/trace"
)

// layer is the symbols of one part, ascending by address.
type layer struct {
	symbols []trace.Symbol

	// sized: the layer marks where functions end, so that an entry counts up
	// to the next one. Without, the next entry is only the next that is known.
	sized bool

	pos  int          // of the merge
	now  trace.Symbol // what a floor look-up answers at the present address
	used bool         // now is set
}

// mergeSymbols joins the symbols of the models, then the points of the parts.
func mergeSymbols(ctx context.Context, parts []*Part, models []*trace.Model, modules []trace.Module) ([]trace.Symbol, error) {
	b := newBounds(modules)
	var layers []*layer
	var points []trace.Symbol
	for _, movable := range []bool{true, false} { // the names of binaries go first
		for i, p := range parts {
			if syms := models[i].Symbols; p.movable == movable && len(syms) > 0 {
				layers = append(layers, newLayer(syms, movable))
			}
		}
	}
	for _, p := range parts {
		points = append(points, p.points...)
	}
	slices.SortStableFunc(points, byAddress)
	points = uniqueNames(points)

	syms, err := joinLayers(ctx, layers, &b)
	if err != nil || len(points) == 0 {
		return syms, err
	}
	return addPoints(syms, points, &b), ctx.Err()
}

func newLayer(syms []trace.Symbol, sized bool) *layer {
	if !slices.IsSortedFunc(syms, byAddress) {
		syms = slices.Clone(syms)
		slices.SortStableFunc(syms, byAddress)
	}
	sized = sized || slices.ContainsFunc(syms, func(s trace.Symbol) bool { return s.Name == "" })
	return &layer{symbols: syms, sized: sized}
}

// joinLayers is all entries of the layers, in the order of layers at each
// address. A name that more than one layer has at an address comes once. A hole
// gives way to a name at its address, and, inside a function of another layer
// that knows sizes, to that function's name.
func joinLayers(ctx context.Context, layers []*layer, b *moduleBounds) ([]trace.Symbol, error) {
	switch len(layers) {
	case 0:
		return nil, nil
	case 1:
		return layers[0].symbols, nil
	}
	total := 0
	for _, l := range layers {
		total += len(l.symbols)
	}
	out := make([]trace.Symbol, 0, total)
	for n := 0; ; n++ {
		if n%65536 == 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
		addr, more := nextAddress(layers)
		if !more {
			return out, nil
		}
		from := len(out)
		for _, l := range layers {
			out = l.take(out, addr)
		}
		if len(out) > from+1 {
			out = append(out[:from], uniqueNames(out[from:])...)
		}
		if len(out) == from {
			out = append(out, trace.Symbol{Address: addr, Name: covering(layers, addr, b)})
		}
	}
}

// nextAddress is the least address that a layer still has an entry for.
func nextAddress(layers []*layer) (addr uint64, more bool) {
	for _, l := range layers {
		if l.pos < len(l.symbols) && (!more || l.symbols[l.pos].Address < addr) {
			addr, more = l.symbols[l.pos].Address, true
		}
	}
	return addr, more
}

// take appends the layer's names at addr and steps behind its entries there.
func (l *layer) take(out []trace.Symbol, addr uint64) []trace.Symbol {
	first := true
	for ; l.pos < len(l.symbols) && l.symbols[l.pos].Address == addr; l.pos++ {
		s := l.symbols[l.pos]
		if first || l.now.Name == "" {
			l.now, l.used = s, true
		}
		first = false
		if s.Name != "" {
			out = append(out, s)
		}
	}
	return out
}

// covering is the name of the innermost function around addr, where no layer has
// a name to begin.
func covering(layers []*layer, addr uint64, b *moduleBounds) string {
	var found trace.Symbol
	for _, l := range layers {
		if l.sized && l.used && l.now.Name != "" && b.joins(l.now.Address, addr) &&
			(found.Name == "" || l.now.Address > found.Address) {
			found = l.now
		}
	}
	return found.Name
}

// addPoints adds to syms the points at addresses that a floor look-up in syms
// has no name for, each with a hole behind it. Both are ascending.
func addPoints(syms, points []trace.Symbol, b *moduleBounds) []trace.Symbol {
	out := make([]trace.Symbol, 0, len(syms)+2*len(points))
	pos := 0
	var now trace.Symbol // what a floor look-up in syms answers, if named
	advance := func(addr uint64) {
		for pos < len(syms) && syms[pos].Address <= addr {
			s := syms[pos]
			if pos == 0 || s.Address != now.Address || now.Name == "" {
				now = s
			}
			out = append(out, s)
			pos++
		}
	}
	for i := 0; i < len(points); {
		addr := points[i].Address
		n := i + 1
		for n < len(points) && points[n].Address == addr {
			n++
		}
		group := points[i:n]
		i = n
		advance(addr)
		if now.Name != "" && b.joins(now.Address, addr) {
			continue
		}
		out = append(out, group...)
		if addr == math.MaxUint64 || pos < len(syms) && syms[pos].Address == addr+1 {
			continue
		}
		end := trace.Symbol{Address: addr + 1}
		switch {
		case now.Name != "" && b.joins(now.Address, addr+1):
			end.Name = now.Name // the point lies before the start of a module
		case i < len(points) && points[i].Address == addr+1:
			continue
		}
		out = append(out, end)
	}
	return append(out, syms[pos:]...)
}

func byAddress(a, b trace.Symbol) int { return cmp.Compare(a.Address, b.Address) }

// uniqueNames is syms, ascending by address, without what comes twice. It
// changes syms.
func uniqueNames(syms []trace.Symbol) []trace.Symbol {
	out := syms[:0]
	var seen map[string]struct{} // of one address, where there are many names
	from := 0                    // of the address, in out
	for _, s := range syms {
		if len(out) > from && out[from].Address != s.Address {
			from, seen = len(out), nil
		}
		if len(out)-from < 16 {
			if slices.ContainsFunc(out[from:], func(o trace.Symbol) bool { return o.Name == s.Name }) {
				continue
			}
		} else {
			if seen == nil {
				seen = make(map[string]struct{})
				for _, o := range out[from:] {
					seen[o.Name] = struct{}{}
				}
			}
			if _, ok := seen[s.Name]; ok {
				continue
			}
			seen[s.Name] = struct{}{}
		}
		out = append(out, s)
	}
	return out
}
