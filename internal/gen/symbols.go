package gen

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"example.com/tracecache/trace"
)

const (
	// align is what functions start at a multiple of.
	align = 16

	pageSize = 4 << 10

	// moduleSlot is the part of the address space that one module is placed in.
	moduleSlot = (1 << 64) / Modules / pageSize * pageSize

	// uniformSize is the size of a module whose functions lie anywhere in it.
	uniformSize  = 1 << 30
	uniformSlots = uniformSize / align
)

// addSymbols makes the modules and their symbols.
func (c Config) addSymbols(m *trace.Model) {
	var (
		places    = c.rand(streamModules)
		addresses = c.rand(streamAddresses)
		holes     = c.rand(streamHoles)
		names     = newNamer(c.rand(streamNames))
		functions = c.Symbols - c.Holes
	)
	if c.Symbols > 0 {
		m.Symbols = make([]trace.Symbol, 0, c.Symbols)
	}
	for i := range Modules {
		first, next := share(functions, i), share(functions, i+1)
		starts, size := c.starts(addresses, next-first)
		base := uint64(i)*moduleSlot + pageSize + pageSize*places.Uint64N((moduleSlot-size)/pageSize-1)
		m.Modules = append(m.Modules, newModule(places, i, base, size))
		names.enter(i)
		for k := range starts[:len(starts)-1] {
			m.Symbols = append(m.Symbols, trace.Symbol{Address: base + starts[k], Name: names.next()})
			if c.hasHole(first + k) {
				end := starts[k] + 1 + holes.Uint64N(starts[k+1]-starts[k]-1)
				m.Symbols = append(m.Symbols, trace.Symbol{Address: base + end})
			}
		}
	}
}

// share is the first of n functions that is in module i.
func share(n, i int) int { return int(uint64(n) * uint64(i) / Modules) }

// hasHole reports whether a hole follows function i. Holes are spread evenly over
// the functions.
func (c Config) hasHole(i int) bool {
	functions, holes := uint64(c.Symbols-c.Holes), uint64(c.Holes)
	return (uint64(i)+1)*holes/functions > uint64(i)*holes/functions
}

// starts are the offsets in a module of its n functions, ascending, and behind
// them the end of the last one; size is the module's.
func (c Config) starts(rng *rand.Rand, n int) (starts []uint64, size uint64) {
	if c.Spread == Uniform {
		return uniformStarts(rng, n), uniformSize
	}
	at := uint64(pageSize)
	starts = make([]uint64, 0, n+1)
	for range n {
		starts = append(starts, at)
		// Most functions are small, and a few are large.
		at += align * (1 + rng.Uint64N(4<<rng.Uint64N(6)))
	}
	return append(starts, at), (at + pageSize - 1) / pageSize * pageSize
}

func uniformStarts(rng *rand.Rand, n int) []uint64 {
	starts := make([]uint64, 0, n+1)
	for len(starts) < n {
		for range n - len(starts) {
			starts = append(starts, align*rng.Uint64N(uniformSlots))
		}
		slices.Sort(starts)
		starts = slices.Compact(starts)
	}
	if n == 0 {
		return []uint64{0}
	}
	return append(starts, starts[n-1]+align)
}

func newModule(rng *rand.Rand, i int, base, size uint64) trace.Module {
	id := make([]byte, 20)
	for k := range id {
		id[k] = byte(rng.Uint64())
	}
	name := fmt.Sprintf("lib%s_%s.so", words[i%len(words)], words[(i*7+3)%len(words)])
	return trace.Module{Name: name, FullPath: "/opt/engine/lib/" + name, Base: base, Size: size, ImageID: id}
}
