package lazy

import (
	"math"

	"example.com/tracecache/pod"
	"example.com/tracecache/trace"
)

// LostModules is the name of the module that stands in for all modules where
// [Cache.Salvage] could not read them.
const LostModules = "(modules are lost)"

// Salvage is what can still be read of a damaged cache, as [Cache.Model] gives it,
// and for each section that cannot be read the reason, nil for the others. A cache
// written from it is sound.
//
// A section stands for itself, but for this: without the string table all names are
// empty, and the symbols, which are nothing else, are lost, with the reason of the
// string table. Without Metadata nobody knows which module an address lies in: frames
// are in none, and in place of the modules there is one of the name [LostModules] at
// the very end of the address space, so that in the cache written from it, too, only
// the exact addresses of symbols have names.
//
// With [WithHashCheck] a section counts as unreadable also where only its hash tells
// that its bytes are not those written.
func (c *Cache) Salvage() (m *trace.Model, lost [pod.SectionCount]error) {
	m = &trace.Model{}
	_, lost[pod.SectionStringTable] = c.Strings()
	if md, err := c.Metadata(); err != nil {
		lost[pod.SectionMetadata] = err
		m.Modules = []trace.Module{{Name: LostModules, Base: math.MaxUint64, Size: 1}}
	} else {
		addMetadata(m, md, md.names.orNone())
	}
	if mem, err := c.Memory(); err != nil {
		lost[pod.SectionMemory] = err
	} else {
		addMemory(m, mem, mem.names.orNone())
	}
	lost[pod.SectionCallstacks] = c.addCallstacks(m)
	lost[pod.SectionSymbols] = c.addSymbols(m)
	for _, stack := range m.Callstacks {
		for i := range stack.Frames {
			f := &stack.Frames[i]
			if lost[pod.SectionMetadata] != nil || int64(f.ModuleIndex) >= int64(len(m.Modules)) {
				f.ModuleIndex, f.Offset = trace.NoModule, 0
			}
		}
	}
	return m, lost
}

// orNone is the string table, or one in which every name is empty.
func (n namesOf) orNone() *Strings {
	if n.err != nil {
		return &Strings{}
	}
	return n.strings
}
