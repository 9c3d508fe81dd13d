package convert

import (
	"example.com/tracecache/internal/bounds"
	"example.com/tracecache/trace"
)

// moduleBounds bound the answers of a floor look-up.
type moduleBounds struct {
	modules bounds.Map
}

func newBounds(modules []trace.Module) moduleBounds {
	ranges := make([]bounds.Module, len(modules))
	for i, m := range modules {
		ranges[i] = bounds.Module{Base: m.Base, Size: m.Size}
	}
	return moduleBounds{bounds.New(ranges)}
}

// joins reports whether a floor look-up of addr may answer with a symbol at from.
func (b *moduleBounds) joins(from, addr uint64) bool {
	if b.modules.Len() == 0 || from == addr {
		return true
	}
	m := b.modules.At(addr)
	return m != bounds.None && m == b.modules.At(from)
}
