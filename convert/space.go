package convert

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"example.com/tracecache/trace"
)

// anchor is a module that stays where it is, to which a binary of the same build
// id moves.
type anchor struct {
	part *Part
	mod  trace.Module
}

// place is the model of each part, moved to where it belongs.
func place(o *options, parts []*Part) ([]*trace.Model, error) {
	models := make([]*trace.Model, len(parts))
	anchors := make(map[string][]anchor) // by build id
	settle := func(i int, m *trace.Model) {
		models[i] = m
		for _, mod := range m.Modules {
			if id := string(mod.ImageID); id != "" {
				anchors[id] = append(anchors[id], anchor{parts[i], mod})
			}
		}
	}
	for i, p := range parts {
		if !p.movable || p.placed {
			settle(i, p.Model)
		}
	}
	// A Breakpad file follows a binary of its build id; the other way round the
	// binary would leave its own place.
	for _, breakpad := range []bool{false, true} {
		for i, p := range parts {
			if models[i] != nil || (p.Kind == KindBreakpad) != breakpad {
				continue
			}
			if breakpad {
				m, err := besideBinary(p, parts, models)
				if err != nil {
					return nil, err
				}
				if m != nil {
					models[i] = m
					continue
				}
			}
			from, to, found, err := destination(p, anchors)
			if err != nil {
				return nil, err
			}
			if !found {
				o.warnOfStay(p, parts)
			}
			m, err := moved(p, from, to)
			if err != nil {
				return nil, err
			}
			settle(i, m)
		}
	}
	return models, nil
}

// besideBinary is the model of a Breakpad file at the load address of the ELF
// binary of its build id, whose module records stand for both, or nil if no such
// binary is among the parts.
func besideBinary(p *Part, parts []*Part, models []*trace.Model) (*trace.Model, error) {
	if len(p.Model.Modules) == 0 {
		return nil, nil
	}
	id := p.Model.Modules[0].ImageID
	var binary *Part
	var load uint64
	for i, b := range parts {
		if b.Kind != KindELF || len(id) == 0 || len(b.Model.Modules) == 0 || !bytes.Equal(b.Model.Modules[0].ImageID, id) {
			continue
		}
		at := b.load + models[i].Modules[0].Base - b.Model.Modules[0].Base
		if binary != nil && at != load {
			return nil, fmt.Errorf("%s: build id %x is at %#x in %s and at %#x in %s: say which with %s@0xBASE",
				p.Path, id, load, binary.Path, at, b.Path, p.Path)
		}
		binary, load = b, at
	}
	if binary == nil {
		return nil, nil
	}
	m, err := moved(p, p.Model.Modules[0].Base, load)
	if err != nil {
		return nil, err
	}
	beside := *m
	beside.Modules = nil
	return &beside, nil
}

// destination is which address of the part goes where: both the same if it stays,
// and found tells whether there was a place to go to.
//
// A binary has one build id and may have several modules. The ways to put one of
// them on the first anchor are tried in turn; one is right if it puts a module on
// every other anchor too. Where several are, staying is preferred, then the one
// whose sizes agree best: the mapping of a segment ends where the segment ends.
func destination(p *Part, anchors map[string][]anchor) (from, to uint64, found bool, err error) {
	mods := p.Model.Modules
	first := slices.IndexFunc(mods, func(mod trace.Module) bool { return len(anchors[string(mod.ImageID)]) > 0 })
	if first < 0 {
		return 0, 0, false, nil
	}
	id := mods[first].ImageID
	targets := anchors[string(id)]
	var own []trace.Module
	for _, mod := range mods {
		if bytes.Equal(mod.ImageID, id) {
			own = append(own, mod)
		}
	}

	best := uint64(0)
	var conflict anchor
	for _, mod := range own {
		misfit, off, ok := fit(own, targets, targets[0].mod.Base-mod.Base)
		switch {
		case !ok:
			conflict = off
		case mod.Base == targets[0].mod.Base:
			return mod.Base, mod.Base, true, nil
		case !found || misfit < best:
			found, best = true, misfit
			from, to = mod.Base, targets[0].mod.Base
		}
	}
	if !found {
		return 0, 0, false, fmt.Errorf("%s: build id %x is at %#x in %s and at %#x in %s, as of two processes: say which with %s@0xBASE",
			p.Path, id, targets[0].mod.Base, targets[0].part.Path, conflict.mod.Base, conflict.part.Path, p.Path)
	}
	return from, to, true, nil
}

// fit reports whether each target has one of the own modules at its base once
// these are moved by bias, and by how much the sizes differ; if not, which target
// has none.
func fit(own []trace.Module, targets []anchor, bias uint64) (misfit uint64, off anchor, ok bool) {
	for _, t := range targets {
		i := slices.IndexFunc(own, func(mod trace.Module) bool { return mod.Base+bias == t.mod.Base })
		if i < 0 {
			return 0, t, false
		}
		a, b := own[i].Size, t.mod.Size
		grow(&misfit, max(a, b)-min(a, b))
	}
	return misfit, anchor{}, true
}

// space is the modules of all parts in one address space.
type space struct {
	modules []trace.Module
	origins [][]int    // the parts that each module is from, ascending
	remap   [][]uint32 // of each part: old module index to new
	byBase  map[uint64][]int
}

// maxSameBase bounds how many modules of one base are compared with another.
const maxSameBase = 64

// newSpace joins the modules of the models, those of parts that are not movable
// first, so that a profile's module indices stay as they are.
func newSpace(parts []*Part, models []*trace.Model) (*space, error) {
	sp := &space{remap: make([][]uint32, len(parts)), byBase: make(map[uint64][]int)}
	for _, movable := range []bool{false, true} {
		for i, p := range parts {
			if p.movable == movable {
				sp.add(i, models[i].Modules)
			}
		}
	}
	return sp, sp.checkOverlaps(parts)
}

// add joins in the modules of one part.
func (sp *space) add(part int, mods []trace.Module) {
	sp.remap[part] = make([]uint32, len(mods))
	for i, mod := range mods {
		at := sp.find(part, mod)
		if at < 0 {
			at = len(sp.modules)
			sp.modules = append(sp.modules, mod)
			sp.origins = append(sp.origins, []int{part})
			sp.byBase[mod.Base] = append(sp.byBase[mod.Base], at)
		} else {
			unite(&sp.modules[at], mod)
			sp.origins[at] = append(sp.origins[at], part)
			slices.Sort(sp.origins[at])
		}
		sp.remap[part][i] = uint32(at)
	}
}

// find is another part's module that mod is the same as, or -1. Two modules of
// one part are never the same.
func (sp *space) find(part int, mod trace.Module) int {
	same := sp.byBase[mod.Base]
	for _, at := range same[:min(len(same), maxSameBase)] {
		if sameModule(sp.modules[at], mod) && !slices.Contains(sp.origins[at], part) {
			return at
		}
	}
	return -1
}

// sameModule reports whether two modules at one base are the same.
func sameModule(a, b trace.Module) bool {
	if isID(a) && isID(b) {
		return bytes.Equal(a.ImageID, b.ImageID)
	}
	return bytes.Equal(a.ImageID, b.ImageID) && len(a.ImageID) > 0 || baseName(a.Name) == baseName(b.Name)
}

// isID reports whether a module has a build id that another tool would find too.
// On Windows the Go profiler makes one up from the path and the time of the file.
func isID(m trace.Module) bool {
	return len(m.ImageID) > 0 && (m.FullPath == "" || !bytes.HasPrefix(m.ImageID, []byte(m.FullPath)))
}

// unite adds to a module what another part knows of it.
func unite(m *trace.Module, other trace.Module) {
	m.Name = cmp.Or(m.Name, other.Name)
	m.FullPath = cmp.Or(m.FullPath, other.FullPath)
	m.Size = max(m.Size, other.Size)
	if !isID(*m) && len(other.ImageID) > 0 {
		m.ImageID = other.ImageID
	}
}

// checkOverlaps refuses modules that share addresses and no part: what overlaps
// within one part is its own business.
func (sp *space) checkOverlaps(parts []*Part) error {
	order := make([]int, len(sp.modules))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(sp.modules[a].Base, sp.modules[b].Base) })

	// Of the modules seen, the one that reaches furthest of each set of parts.
	var furthest []int
	slot := make(map[string]int)
	for _, at := range order {
		for _, f := range furthest {
			if lastOf(sp.modules[f]) >= sp.modules[at].Base && !intersect(sp.origins[f], sp.origins[at]) {
				return sp.overlap(parts, f, at)
			}
		}
		key := ""
		for _, part := range sp.origins[at] {
			key += strconv.Itoa(part) + " "
		}
		s, ok := slot[key]
		if !ok {
			slot[key] = len(furthest)
			furthest = append(furthest, at)
		} else if lastOf(sp.modules[at]) > lastOf(sp.modules[furthest[s]]) {
			furthest[s] = at
		}
	}
	return nil
}

func (sp *space) overlap(parts []*Part, a, b int) error {
	describe := func(at int) string {
		mod := sp.modules[at]
		end := fmt.Sprintf("%#x", mod.Base+mod.Size)
		if mod.Base+mod.Size < mod.Base {
			end = "2^64"
		}
		return fmt.Sprintf("%s (module %s at [%#x, %s))", parts[sp.origins[at][0]].Path, mod.Name, mod.Base, end)
	}
	return fmt.Errorf("inputs overlap: %s and %s: place one elsewhere with INPUT@0xBASE", describe(a), describe(b))
}

// intersect reports whether two ascending lists have an element in common.
func intersect(a, b []int) bool {
	for len(a) > 0 && len(b) > 0 {
		switch c := cmp.Compare(a[0], b[0]); {
		case c == 0:
			return true
		case c < 0:
			a = a[1:]
		default:
			b = b[1:]
		}
	}
	return false
}
