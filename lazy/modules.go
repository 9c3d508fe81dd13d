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
	ranges := make([]bounds.Module, len(modules))
	names := make([]string, len(modules))
	for i, mod := range modules {
		ranges[i] = bounds.Module{Base: mod.Base, Size: mod.Size}
		names[i] = strings.name(mod.Name)
	}
	return moduleMap{bounds: bounds.New(ranges), names: names}
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
