package lazy

import (
	"cmp"
	"math"
	"slices"

	"example.com/tracecache/pod"
)

// moduleMap says which module an address is in. Modules may overlap; the map
// holds the ranges that are left when the one with the highest Base wins (of
// equal Bases, the first in the list).
type moduleMap struct {
	err    error    // Metadata is damaged: nothing is known
	starts []uint64 // ascending; range i is [starts[i], starts[i+1])
	owners []int32  // the module of each range; none: noOwner
	names  []string
}

const noOwner = -1

// bounded reports whether there are modules at all.
func (m *moduleMap) bounded() bool { return len(m.names) > 0 }

// find is the name of the module that addr is in.
func (m *moduleMap) find(addr uint64) (name string, ok bool) {
	owner := m.owner(addr)
	if owner == noOwner {
		return "", false
	}
	return m.names[owner], true
}

// same reports whether two addresses are in the same module.
func (m *moduleMap) same(a, b uint64) bool {
	owner := m.owner(a)
	return owner != noOwner && owner == m.owner(b)
}

// owner is the module that addr is in, or noOwner.
func (m *moduleMap) owner(addr uint64) int32 {
	lo, hi := 0, len(m.starts)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if m.starts[mid] <= addr {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 {
		return noOwner
	}
	return m.owners[lo-1]
}

// openModule is a module that the sweep of newModuleMap is in.
type openModule struct {
	index int32
	last  uint64 // its last address
}

// newModuleMap sweeps over the modules in the order of their Bases. The stack
// holds those that reach the current address or ended under another one; its top
// has the highest Base.
func newModuleMap(modules []pod.ModuleInfo, strings *Strings) moduleMap {
	var m moduleMap
	order := make([]int32, len(modules))
	for i, mod := range modules {
		order[i] = int32(i)
		m.names = append(m.names, strings.name(mod.Name))
	}
	// Of equal Bases the first in the list comes last, and lands on top.
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(modules[a].Base, modules[b].Base), cmp.Compare(b, a))
	})
	nextBase := uint64(0) // the next higher Base; 0: there is none
	lasts := make([]uint64, len(modules))
	for k := len(order) - 1; k >= 0; k-- {
		mod := modules[order[k]]
		if k+1 < len(order) && modules[order[k+1]].Base > mod.Base {
			nextBase = modules[order[k+1]].Base
		}
		lasts[k] = lastAddress(mod, nextBase)
	}
	var stack []openModule
	for k, i := range order {
		base := modules[i].Base
		stack = m.closeBefore(stack, base)
		stack = append(stack, openModule{i, lasts[k]})
		m.mark(base, i)
	}
	m.closeAll(stack)
	return m
}

// lastAddress is the last address of a module. A Size that passes the end of the
// address space reaches its end.
func lastAddress(mod pod.ModuleInfo, nextBase uint64) uint64 {
	if mod.Size == 0 {
		return nextBase - 1 // of 0, the last address there is
	}
	if mod.Size-1 > math.MaxUint64-mod.Base {
		return math.MaxUint64
	}
	return mod.Base + mod.Size - 1
}

// closeBefore takes the modules off the stack that end below addr, and marks
// what shows up under each.
func (m *moduleMap) closeBefore(stack []openModule, addr uint64) []openModule {
	for len(stack) > 0 {
		top := stack[len(stack)-1]
		if top.last >= addr {
			break
		}
		stack = stack[:len(stack)-1]
		// Those below that have ended by then never show up.
		for len(stack) > 0 && stack[len(stack)-1].last <= top.last {
			stack = stack[:len(stack)-1]
		}
		under := int32(noOwner)
		if len(stack) > 0 {
			under = stack[len(stack)-1].index
		}
		m.mark(top.last+1, under)
	}
	return stack
}

// closeAll ends every module that does not reach the end of the address space.
func (m *moduleMap) closeAll(stack []openModule) {
	m.closeBefore(stack, math.MaxUint64)
}

// mark starts a range of owner at addr, which is not below the last one's start.
func (m *moduleMap) mark(addr uint64, owner int32) {
	if n := len(m.starts); n > 0 && m.starts[n-1] == addr {
		m.owners[n-1] = owner
		return
	}
	m.starts = append(m.starts, addr)
	m.owners = append(m.owners, owner)
}
