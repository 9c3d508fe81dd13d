// Package bounds says which module an address lies in, by the rules that the
// format has for modules that overlap or do not say how large they are.
package bounds

import (
	"cmp"
	"math"
	"slices"

	"example.com/tracecache/internal/index"
)

// Module is the addresses [Base, Base+Size), up to the end of the address space
// where the sum is beyond it. One of Size 0 reaches to the next higher Base, or to
// the end of the address space where there is none.
type Module struct {
	Base uint64
	Size uint64 // bytes
}

// None is the index of no module.
const None = -1

// Map says which of a list of modules an address lies in. Of modules that overlap
// it is the one with the highest Base, of those of one Base the first in the list.
// The zero Map has no modules. It is safe for concurrent use.
type Map struct {
	ranges []span // ascending and disjoint
	starts index.Ranges
	n      int
}

// span is addresses that lie in one module.
type span struct {
	start, last uint64
	module      int32
}

// New returns the map of a list of at most [math.MaxInt32] modules. It takes
// O(n log n) time.
func New(modules []Module) Map {
	// Each module begins and ends once.
	m := marks{make([]uint64, 0, 2*len(modules)), make([]int32, 0, 2*len(modules))}
	order := make([]int32, len(modules))
	for i := range order {
		order[i] = int32(i)
	}
	// Of equal Bases the first in the list comes last, and lands on top.
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(modules[a].Base, modules[b].Base), cmp.Compare(b, a))
	})
	lasts := lastAddresses(modules, order)

	// The stack holds the modules that reach the current address, or ended
	// under one that did; its top has the highest Base.
	var stack []open
	for k, i := range order {
		base := modules[i].Base
		stack = m.closeBefore(stack, base)
		stack = append(stack, open{i, lasts[k]})
		m.mark(base, i)
	}
	m.closeBefore(stack, math.MaxUint64)
	return m.ranges(len(modules))
}

// Len is the number of modules.
func (m *Map) Len() int { return m.n }

// Size is the memory of the map in bytes.
func (m *Map) Size() int { return 24*len(m.ranges) + m.starts.Size() }

// At is the index of the module that addr lies in, or [None].
func (m *Map) At(addr uint64) int {
	module, _, _ := m.Range(addr)
	return module
}

// Range is the index of the module that addr lies in, or [None], and the first and
// the last of the addresses around addr that lie in the same one without a gap or
// another module in between.
func (m *Map) Range(addr uint64) (module int, first, last uint64) {
	i := m.starts.At(addr)
	if i < 0 || addr > m.ranges[i].last {
		return None, 0, 0
	}
	r := &m.ranges[i]
	return int(r.module), r.start, r.last
}

// Edges are, in ascending order, the addresses at which another module begins than
// the address before is in, or none.
func (m *Map) Edges() []uint64 {
	edges := make([]uint64, 0, 2*len(m.ranges))
	for _, r := range m.ranges {
		if n := len(edges); n == 0 || edges[n-1] != r.start {
			edges = append(edges, r.start)
		}
		if r.last != math.MaxUint64 {
			edges = append(edges, r.last+1)
		}
	}
	return edges
}

// Last is the last address of a module whose Size is not 0.
func (m Module) Last() uint64 {
	if m.Size-1 > math.MaxUint64-m.Base {
		return math.MaxUint64
	}
	return m.Base + m.Size - 1
}

// lastAddresses is the last address of each module, in the given order of Bases.
func lastAddresses(modules []Module, order []int32) []uint64 {
	lasts := make([]uint64, len(order))
	var next uint64 // the next higher Base; 0: there is none
	for k := len(order) - 1; k >= 0; k-- {
		mod := modules[order[k]]
		if k+1 < len(order) && modules[order[k+1]].Base > mod.Base {
			next = modules[order[k+1]].Base
		}
		if mod.Size == 0 {
			lasts[k] = next - 1 // of 0, the last address there is
		} else {
			lasts[k] = mod.Last()
		}
	}
	return lasts
}

// open is a module that has begun, and its last address.
type open struct {
	index int32
	last  uint64
}

// marks are the addresses, ascending, from which on another module or none is on
// top.
type marks struct {
	starts []uint64
	owners []int32 // or None
}

// ranges is the map of what the marks say of n modules.
func (m *marks) ranges(n int) Map {
	r := Map{n: n}
	starts := make([]uint64, 0, len(m.starts))
	r.ranges = make([]span, 0, len(m.starts))
	for i, owner := range m.owners {
		if owner == None {
			continue
		}
		last := uint64(math.MaxUint64)
		if i+1 < len(m.starts) {
			last = m.starts[i+1] - 1
		}
		starts = append(starts, m.starts[i])
		r.ranges = append(r.ranges, span{m.starts[i], last, owner})
	}
	if n := len(starts); n > 0 {
		r.starts = index.NewRanges(starts, r.ranges[n-1].last)
	}
	return r
}

// closeBefore takes the modules off the stack that end below addr, and marks what
// shows up under each.
func (m *marks) closeBefore(stack []open, addr uint64) []open {
	for len(stack) > 0 && stack[len(stack)-1].last < addr {
		last := stack[len(stack)-1].last
		// Those below that have ended by then never show up.
		for len(stack) > 0 && stack[len(stack)-1].last <= last {
			stack = stack[:len(stack)-1]
		}
		under := int32(None)
		if len(stack) > 0 {
			under = stack[len(stack)-1].index
		}
		m.mark(last+1, under)
	}
	return stack
}

// mark starts a range at addr, which is not below the last one's start.
func (m *marks) mark(addr uint64, owner int32) {
	if n := len(m.starts); n > 0 && m.starts[n-1] == addr {
		m.owners[n-1] = owner
		return
	}
	m.starts = append(m.starts, addr)
	m.owners = append(m.owners, owner)
}
