package lazy

import (
	"context"
	"errors"
	"fmt"
	"math"

	"example.com/tracecache/pod"
	"example.com/tracecache/trace"
)

// LostModules is the name of the module that stands in for all modules where
// [Cache.Salvage] could not read them.
const LostModules = "(modules are lost)"

// Salvage is what can still be read of a damaged cache, as [Cache.Model] gives it,
// and for each section that is damaged or not supported the reason, nil for the others.
// A cache written from it is sound. An error of another kind, as of ctx, of a disk that
// fails at the moment, or [ErrTooLarge], says nothing of the section: it is returned.
// It is ErrTooLarge, too, where callstacks share frames, or modules build ids, in such
// numbers that a file without sharing would have a section of more than
// [WithMaxSection].
//
// A section stands for itself, but for this: without the string table all names are
// empty, and the symbols, which are nothing else, are lost, with the reason of the
// string table. Without Metadata nobody knows which module an address lies in: frames
// are in none, and in place of the modules there is one of the name [LostModules] at
// the very end of the address space, so that in the cache written from it, too, only
// the exact addresses of symbols have names.
//
// With [WithHashCheck] a section counts as damaged also where only its hash tells
// that its bytes are not those written.
func (c *Cache) Salvage(ctx context.Context) (m *trace.Model, lost [pod.SectionCount]error, err error) {
	_ = c.Load(ctx) // what fails fails again below
	if err := ctx.Err(); err != nil {
		return nil, lost, err
	}
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
	frames, err := c.addCallstacks(m)
	lost[pod.SectionCallstacks] = err
	lost[pod.SectionSymbols] = c.addSymbols(m)
	for _, err := range lost {
		if err != nil && !pod.Damaged(err) && !errors.Is(err, ErrUnsupported) {
			return nil, lost, err
		}
	}
	if err := c.unshared(m); err != nil {
		return nil, lost, err
	}
	for i := range frames {
		f := &frames[i]
		if lost[pod.SectionMetadata] != nil || int64(f.ModuleIndex) >= int64(len(m.Modules)) {
			f.ModuleIndex, f.Offset = trace.NoModule, 0
		}
	}
	return m, lost, nil
}

// unshared sees that a file of m, in which nothing is shared, is not much larger than
// the one that m was read from.
func (c *Cache) unshared(m *trace.Model) error {
	var frames, ids int64 // bytes
	for _, stack := range m.Callstacks {
		frames += int64(len(stack.Frames)) * pod.ResolvedFrameSize
		if frames > c.opts.maxSection {
			return c.tooLarge(pod.SectionCallstacks, frames)
		}
	}
	for _, mod := range m.Modules {
		ids += int64(len(mod.ImageID))
		if ids > c.opts.maxSection {
			return c.tooLarge(pod.SectionMetadata, ids)
		}
	}
	return nil
}

func (c *Cache) tooLarge(id pod.Section, bytes int64) error {
	cause := fmt.Errorf("%w: without sharing it takes more than %d bytes, at most %d are allowed", ErrTooLarge, bytes-1, c.opts.maxSection)
	return &pod.Error{Path: c.file.Path(), Section: id, Err: cause}
}

// orNone is the string table, or one in which every name is empty.
func (n namesOf) orNone() *Strings {
	if n.err != nil {
		return &Strings{}
	}
	return n.strings
}
