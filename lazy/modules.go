package lazy

import (
	"example.com/tracecache/internal/bounds"
	"example.com/tracecache/pod"
)

// moduleMap says which module an address is in.
type moduleMap struct {
	bounds bounds.Map
	names  []string
	err    error // Metadata is damaged: nothing is known
}

func newModuleMap(modules []pod.ModuleInfo, strings *Strings) moduleMap {
	names := make([]string, len(modules))
	for i, mod := range modules {
		names[i] = strings.name(mod.Name)
	}
	return moduleMap{bounds: bounds.New(ranges(modules)), names: names}
}

// ranges are where modules say that they lie.
func ranges(modules []pod.ModuleInfo) []bounds.Module {
	r := make([]bounds.Module, len(modules))
	for i, mod := range modules {
		r[i] = bounds.Module{Base: mod.Base, Size: mod.Size}
	}
	return r
}

// judge says whether an entry at addr, a name or a hole, is an answer for pc, which
// is at or above it, and which module pc is in.
func (m *moduleMap) judge(pc, addr uint64, named bool) (module int, r Reason) {
	module, first, _ := m.bounds.Range(pc)
	switch {
	case named && addr == pc:
		return module, Found
	case m.err != nil && named:
		return module, UnknownModules
	case m.err != nil:
		return module, InHole
	case m.bounded() && module == bounds.None:
		return module, OutsideModules
	case addr < first && module != m.bounds.At(addr):
		return module, BeforeFirst
	case !named:
		return module, InHole
	}
	return module, Found
}

// bounded reports whether there are modules at all.
func (m *moduleMap) bounded() bool { return m.bounds.Len() > 0 }

// name is the name of a module, empty for [bounds.None].
func (m *moduleMap) name(module int) string {
	if module == bounds.None {
		return ""
	}
	return m.names[module]
}
