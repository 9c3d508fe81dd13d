package convert

import (
	"fmt"
	"slices"

	"example.com/tracecache/trace"
)

// warn tells the caller of something that is no error.
func (o *options) warn(format string, args ...any) {
	if o.warning != nil {
		o.warning(fmt.Sprintf(format, args...))
	}
}

// warnOfNothing warns of a binary that names nothing.
func (o *options) warnOfNothing(p *Part) {
	named := func(s trace.Symbol) bool { return s.Name != "" }
	if isBinary(p.Kind) && !slices.ContainsFunc(p.Model.Symbols, named) {
		o.warn("%s: no function was found in it, as in a stripped binary without its debug file", p.Path)
	}
}

// warnOfStay warns of a part that nothing moves but seems to be meant for another
// place.
func (o *options) warnOfStay(p *Part, parts []*Part) {
	if len(p.Model.Modules) == 0 {
		return
	}
	switch {
	case p.Kind == KindBreakpad:
		o.warnOfBreakpad(p, parts)
	case isBinary(p.Kind):
		o.warnOfNamesake(p, parts)
	}
}

// warnOfBreakpad warns of a Breakpad file beside a profile that has no module for
// it: nothing is at its own place.
func (o *options) warnOfBreakpad(p *Part, parts []*Part) {
	if !slices.ContainsFunc(parts, func(other *Part) bool { return other.Kind == KindPprof }) {
		return
	}
	own := p.Model.Modules[0]
	why := "no other input has a module of its build id " + shownID(own.ImageID)
	if p.noCodeID {
		why = "it has no INFO CODE_ID to find its module by"
	}
	o.warn("%s: its names stay at %#x, as %s: say where with %s@0xBASE", p.Path, own.Base, why, p.Path)
}

// warnOfNamesake warns of a binary if another part has a module of its name, and
// none of them where the binary is.
func (o *options) warnOfNamesake(p *Part, parts []*Part) {
	own := p.Model.Modules[0]
	var namesake *trace.Module
	var in *Part
	for _, other := range parts {
		if other.movable {
			continue
		}
		for i := range other.Model.Modules {
			mod := &other.Model.Modules[i]
			if baseName(mod.Name) != baseName(own.Name) {
				continue
			}
			if slices.ContainsFunc(p.Model.Modules, func(m trace.Module) bool { return m.Base == mod.Base }) {
				return
			}
			if namesake == nil {
				namesake, in = mod, other
			}
		}
	}
	if namesake == nil {
		return
	}
	id := namesake.ImageID
	if !isID(*namesake) {
		id = nil
	}
	o.warn("%s: it stays at %#x, as the module %s of %s has build id %s, not %s: if they are the same, say so with %s@%#x",
		p.Path, own.Base, namesake.Name, in.Path, shownID(id), shownID(own.ImageID), p.Path, namesake.Base)
}
