package gen

import (
	"math/rand/v2"
	"slices"
	"sort"

	"example.com/tracecache/trace"
)

// addCallstacks makes callstacks with the ids 1, 2, …. Each shares its outer
// frames with the one before it.
func (c Config) addCallstacks(m *trace.Model) {
	if c.Callstacks == 0 {
		return
	}
	rng := c.rand(streamCallstacks)
	frames := make([]trace.Frame, c.Callstacks*Frames)
	for i := range c.Callstacks {
		stack := frames[i*Frames : (i+1)*Frames : (i+1)*Frames]
		inner := Frames
		if i > 0 {
			inner = 1 + rng.IntN(Frames)
			copy(stack[inner:], m.Callstacks[i-1].Frames[inner:])
		}
		for k := range inner {
			stack[k] = frame(rng, m)
		}
		m.Callstacks = append(m.Callstacks, trace.Callstack{ID: uint32(i + 1), Frames: stack})
	}
}

// frame is a frame in any function, or, one in twenty, in code that belongs to
// no module.
func frame(rng *rand.Rand, m *trace.Model) trace.Frame {
	if rng.IntN(20) == 0 {
		mod := m.Modules[rng.IntN(Modules)]
		return trace.Frame{Address: mod.Base - 1 - rng.Uint64N(pageSize), ModuleIndex: trace.NoModule}
	}
	i := rng.IntN(len(m.Symbols))
	if m.Symbols[i].Name == "" {
		i-- // A function stands in front of every hole.
	}
	addr := m.Symbols[i].Address
	room := uint64(align)
	if i+1 < len(m.Symbols) {
		room = min(room, m.Symbols[i+1].Address-addr)
	}
	addr += rng.Uint64N(room)
	mod := sort.Search(Modules, func(k int) bool { return m.Modules[k].Base > addr }) - 1
	return trace.Frame{Address: addr, ModuleIndex: uint32(mod), Offset: addr - m.Modules[mod].Base}
}

// threadIDs are one to four ids of the threads that addMetadata makes.
func threadIDs(rng *rand.Rand) []uint32 {
	ids := make([]uint32, 1+rng.IntN(4))
	for i := range ids {
		ids[i] = 1 + rng.Uint32N(threads)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
