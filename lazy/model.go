package lazy

import (
	"context"
	"errors"
	"slices"
	"sync"

	"example.com/tracecache/internal/index"
	"example.com/tracecache/internal/parallel"
	"example.com/tracecache/internal/view"
	"example.com/tracecache/pod"
	"example.com/tracecache/trace"
)

// Model loads every section and returns all of it, resolved: lists in file order,
// symbols with holes and aliases. Strings share memory with the string table,
// and frames of all callstacks are slices of one array, as in the file. Damage of
// any section is an error.
func (c *Cache) Model() (*trace.Model, error) { return c.ModelOf() }

// ModelOf is the part of [Cache.Model] that the sections ids hold, all of it where
// none is named; the rest of the model is left empty. Only these are loaded, with
// the string table where they need it, so damage of another section is no error.
func (c *Cache) ModelOf(ids ...pod.Section) (*trace.Model, error) {
	if len(ids) == 0 {
		ids = pod.Sections[:]
	}
	ctx := context.Background()
	m := &trace.Model{}
	loadErrs, addErrs := make([]error, len(ids)), make([]error, len(ids))
	var wg sync.WaitGroup
	for i, id := range ids {
		if slices.Contains(ids[:i], id) {
			continue
		}
		wg.Go(func() {
			if loadErrs[i] = c.loadOne(ctx, id); loadErrs[i] == nil {
				addErrs[i] = c.addTo(m, id)
			}
		})
	}
	wg.Wait()
	if err := errors.Join(loadErrs...); err != nil {
		return nil, err
	}
	for _, err := range addErrs {
		if err != nil {
			return nil, err
		}
	}
	return m, nil
}

// addTo makes the part of m that a section holds. Each section has its own
// fields, so that several can be made side by side.
func (c *Cache) addTo(m *trace.Model, id pod.Section) error {
	switch id {
	case pod.SectionMetadata:
		md, err := c.Metadata()
		if err != nil {
			return err
		}
		names, err := md.Names()
		if err != nil {
			return err
		}
		addMetadata(m, md, names)
	case pod.SectionMemory:
		mem, err := c.Memory()
		if err != nil {
			return err
		}
		names, err := mem.Names()
		if err != nil {
			return err
		}
		addMemory(m, mem, names)
	case pod.SectionCallstacks:
		_, err := c.addCallstacks(m)
		return err
	case pod.SectionSymbols:
		return c.addSymbols(m)
	}
	return nil // the strings are in the others
}

// each makes a list of the model of a list of records, long ones on several
// goroutines.
func each[R, T any](recs []R, conv func(*R) T) []T {
	list := view.Make[T](len(recs))
	parallel.Each(len(recs), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			list[i] = conv(&recs[i])
		}
	})
	return list
}

func addMetadata(m *trace.Model, md *Metadata, s *Strings) {
	m.Session = md.session(s)
	r := md.Record()
	m.FileSize, m.TotalEvents, m.ParseTimeMs = r.FileSize, r.TotalEvents, r.ParseTimeMs
	m.TraceStartUs, m.TraceEndUs = r.TraceStartUs, r.TraceEndUs
	m.Threads = each(md.Threads(), func(t *pod.ThreadInfo) trace.Thread {
		return trace.Thread{
			ThreadID: t.ThreadID, Name: s.name(t.Name), GroupName: s.name(t.GroupName),
			SystemID: t.SystemID, SortHint: t.SortHint,
		}
	})
	m.Channels = each(md.Channels(), func(ch *pod.ChannelInfo) trace.Channel {
		return trace.Channel{Name: s.name(ch.Name), Enabled: ch.Enabled != 0, ReadOnly: ch.ReadOnly != 0}
	})
	m.Modules = each(md.Modules(), func(mod *pod.ModuleInfo) trace.Module {
		return trace.Module{
			Name: s.name(mod.Name), FullPath: s.name(mod.FullPath),
			Base: mod.Base, Size: mod.Size, ImageID: md.imageID(*mod),
		}
	})
	m.EventTypeCounts = each(md.EventTypeCounts(), func(e *pod.EventTypeCount) trace.EventTypeCount {
		return trace.EventTypeCount{Name: s.name(e.Name), Count: e.Count}
	})
	m.ScopeStats = each(md.ScopeStats(), func(st *pod.CPUScopeStat) trace.ScopeStat {
		return trace.ScopeStat{
			Name: s.name(st.Name), MinUs: st.MinUs, MaxUs: st.MaxUs,
			Count: st.Count, MeanUs: st.MeanUs, StdDevUs: st.StdDevUs,
		}
	})
}

func addMemory(m *trace.Model, mem *Memory, s *Strings) {
	sum := mem.Summary()
	m.AllocSummary = trace.AllocSummary{
		HasMemoryData: sum.HasMemoryData != 0, PeakTimeUs: sum.PeakTimeUs,
		LiveAllocations: sum.LiveAllocations,
		TotalAllocs:     sum.TotalAllocs, TotalFrees: sum.TotalFrees,
		TotalReallocAllocs: sum.TotalReallocAllocs, TotalReallocFrees: sum.TotalReallocFrees,
		PeakBytes: sum.PeakBytes, EndBytes: sum.EndBytes,
	}
	m.Heaps = each(mem.Heaps(), func(h *pod.HeapInfo) trace.Heap {
		return trace.Heap{ID: h.ID, ParentID: h.ParentID, Flags: h.Flags, Name: s.name(h.Name)}
	})
	m.HeapStats = each(mem.HeapStats(), func(h *pod.HeapStat) trace.HeapStat {
		return trace.HeapStat{
			HeapID: h.HeapID, CurrentBytes: h.CurrentBytes, PeakBytes: h.PeakBytes,
			AllocCount: h.AllocCount, FreeCount: h.FreeCount,
		}
	})
	m.CallstackStats = each(mem.CallstackStats(), func(st *pod.CallstackAllocStat) trace.CallstackStat {
		return trace.CallstackStat{
			CallstackID: st.CallstackID, LiveCount: st.LiveCount, LiveBytes: st.LiveBytes,
			ThreadIDs: ThreadIDs(st),
		}
	})
	m.ChurnStats = each(mem.ChurnStats(), func(st *pod.CallstackChurnStat) trace.ChurnStat {
		return trace.ChurnStat{
			CallstackID: st.CallstackID, ChurnAllocs: st.ChurnAllocs, ChurnBytes: st.ChurnBytes,
			TotalAllocs: st.TotalAllocs, TotalBytes: st.TotalBytes, MeanDistance: st.MeanDistance,
		}
	})
}

// addCallstacks returns the frames of all callstacks, which these are slices of.
func (c *Cache) addCallstacks(m *trace.Model) ([]trace.Frame, error) {
	stacks, err := c.Callstacks()
	if err != nil {
		return nil, err
	}
	frames := each(stacks.frames, func(f *pod.ResolvedFrame) trace.Frame {
		return trace.Frame{Address: f.Address, ModuleIndex: f.ModuleIndex, Offset: uint64(f.Offset)}
	})
	m.Callstacks = each(stacks.headers, func(h *pod.CallstackHeader) trace.Callstack {
		off, n := int(h.FrameOffset), int(h.FrameCount)
		return trace.Callstack{ID: h.ID, Frames: frames[off : off+n : off+n]}
	})
	return frames, nil
}

func (c *Cache) addSymbols(m *trace.Model) error {
	symbols, err := c.Symbols()
	if err != nil {
		return err
	}
	m.Symbols = each(symbols.entries, func(e *index.Entry) trace.Symbol {
		return trace.Symbol{Address: e.Address, Name: symbols.name(e.Off, e.Len)}
	})
	return nil
}
