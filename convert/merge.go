package convert

import (
	"context"
	"errors"
	"fmt"
	"math"

	"example.com/tracecache/trace"
)

// Merge joins parts into one model with one address space. A single part comes
// back as it is, but for a profile's points, which become symbols.
//
// Parts that say where things are (profiles, JSON models, what was placed) stay;
// any other is moved to the module of equal build id that one of these has, or a
// part before it. If there are several such modules at different places, as of two
// processes, it is an error that names two. Breakpad files come last in this: one
// with an ELF binary of its build id goes to that binary's load address, and the
// binary's module records are those of both.
//
// Modules of different parts are one if they have the same Base and the same
// build id, or the same Base and name and no two build ids. Its index is that in
// the profile; Size is the larger one; name, path and build id come from the
// first that has one. Modules of different parts that overlap are an error that
// names both.
//
// Callstacks with equal frames in different parts are one, and their stats are
// summed. A callstack keeps its ID unless an earlier part uses it. Other lists
// are joined in order, counts are added up (no sum exceeds 64 bits, it stays at
// the greatest value), start and end are the earliest and the latest that are
// not 0, the peak time is that of the highest peak, the session is that of the first part that has one.
//
// Symbols are ascending by address, binaries' before JSON models' at one
// address, names that come twice once. Where one part has a hole inside a
// function of another that knows sizes, the function goes on. A profile's point
// is left out if another part's symbols name the address.
//
// Parts are not changed; the result may share memory with them.
func Merge(parts ...*Part) (*trace.Model, error) {
	return merge(newOptions(context.Background(), nil), parts)
}

func merge(o *options, parts []*Part) (*trace.Model, error) {
	if len(parts) == 0 {
		return nil, errors.New("no inputs")
	}
	if len(parts) == 1 && len(parts[0].points) == 0 {
		return parts[0].Model, nil
	}
	models, err := place(o, parts)
	if err != nil {
		return nil, err
	}
	sp, err := newSpace(parts, models)
	if err != nil {
		return nil, err
	}
	m := &trace.Model{Modules: sp.modules}
	stacks := newStackMerge(m, models)
	for i, p := range parts {
		if err := o.done(); err != nil {
			return nil, fmt.Errorf("%s: %w", p.Path, err)
		}
		addScalars(m, models[i])
		addLists(m, models[i])
		if err := stacks.add(models[i], sp.remap[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", p.Path, err)
		}
	}
	m.AllocSummary.PeakTimeUs = peakTime(models)
	m.Symbols, err = mergeSymbols(o.ctx, parts, models, sp.modules)
	return m, err
}

// addScalars adds a part's single values.
func addScalars(m, part *trace.Model) {
	grow(&m.FileSize, part.FileSize)
	grow(&m.TotalEvents, part.TotalEvents)
	grow(&m.ParseTimeMs, part.ParseTimeMs)
	if m.TraceStartUs == 0 || part.TraceStartUs != 0 && part.TraceStartUs < m.TraceStartUs {
		m.TraceStartUs = part.TraceStartUs
	}
	m.TraceEndUs = max(m.TraceEndUs, part.TraceEndUs)
	if m.Session == (trace.Session{}) {
		m.Session = part.Session
	}

	sum, a := &m.AllocSummary, part.AllocSummary
	sum.HasMemoryData = sum.HasMemoryData || a.HasMemoryData
	grow(&sum.LiveAllocations, a.LiveAllocations)
	grow(&sum.TotalAllocs, a.TotalAllocs)
	grow(&sum.TotalFrees, a.TotalFrees)
	grow(&sum.TotalReallocAllocs, a.TotalReallocAllocs)
	grow(&sum.TotalReallocFrees, a.TotalReallocFrees)
	grow(&sum.PeakBytes, a.PeakBytes)
	grow(&sum.EndBytes, a.EndBytes)
}

// peakTime is when the highest of the peaks was: those of different traces have
// no time in common.
func peakTime(models []*trace.Model) uint64 {
	highest := models[0].AllocSummary
	for _, part := range models[1:] {
		if part.AllocSummary.PeakBytes > highest.PeakBytes {
			highest = part.AllocSummary
		}
	}
	return highest.PeakTimeUs
}

// addLists appends the lists that refer to nothing else.
func addLists(m, part *trace.Model) {
	m.Threads = append(m.Threads, part.Threads...)
	m.Channels = append(m.Channels, part.Channels...)
	m.EventTypeCounts = append(m.EventTypeCounts, part.EventTypeCounts...)
	m.ScopeStats = append(m.ScopeStats, part.ScopeStats...)
	m.Heaps = append(m.Heaps, part.Heaps...)
	m.HeapStats = append(m.HeapStats, part.HeapStats...)
}

// grow adds to a count, up to the greatest value there is.
func grow(sum *uint64, n uint64) {
	if n > math.MaxUint64-*sum {
		n = math.MaxUint64 - *sum
	}
	*sum += n
}
