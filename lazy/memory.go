package lazy

import (
	"context"

	"example.com/tracecache/pod"
)

// Memory is the Memory section: the allocation summary, heaps and statistics by
// callstack. Records are views of the decoded section; the names of heaps are
// indices into [Memory.Names]. It stays valid after Close.
type Memory struct {
	memoryRecords
	names namesOf
}

// memoryRecords is what the Memory section holds by itself.
type memoryRecords struct {
	summary        pod.AllocSummary
	heaps          []pod.HeapInfo
	heapStats      []pod.HeapStat
	callstackStats []pod.CallstackAllocStat
	churnStats     []pod.CallstackChurnStat
	trailing       int // bytes behind the last list
}

// Memory returns the Memory section, loading it and the string table on first
// use. A damaged string table is no error here, but one of [Memory.Names].
func (c *Cache) Memory() (*Memory, error) {
	return access(c, context.Background(), pod.SectionMemory, &c.memory, (*Cache).loadMemory)
}

// Summary is the allocation summary.
func (m *Memory) Summary() pod.AllocSummary { return m.summary }

// Heaps are the heaps of the traced program.
func (m *Memory) Heaps() []pod.HeapInfo { return m.heaps }

// HeapStats are the statistics by heap.
func (m *Memory) HeapStats() []pod.HeapStat { return m.heapStats }

// CallstackStats are what was still allocated, by callstack. See [ThreadIDs].
func (m *Memory) CallstackStats() []pod.CallstackAllocStat { return m.callstackStats }

// ChurnStats are the short-lived allocations by callstack.
func (m *Memory) ChurnStats() []pod.CallstackChurnStat { return m.churnStats }

// Names is the string table that the names of heaps index, or the error of the
// StringTable section.
func (m *Memory) Names() (*Strings, error) { return m.names.strings, m.names.err }

// ThreadIDs are the thread ids of s, four at most whatever its count says.
func ThreadIDs(s *pod.CallstackAllocStat) []uint32 {
	n := min(s.ThreadIDCount, pod.MaxThreadIDs)
	return s.ThreadIDs[:n:n]
}

func (c *Cache) loadMemory(ctx context.Context) (*Memory, error) {
	c.pin(pod.SectionMemory, pod.SectionStringTable)
	defer c.unpin(pod.SectionMemory, pod.SectionStringTable)
	recs, err := get(c, ctx, &c.memoryRecords, (*Cache).loadMemoryRecords)
	if err != nil {
		return nil, err
	}
	names, err := c.namesFor(ctx)
	if err != nil {
		return nil, err
	}
	return &Memory{*recs, names}, nil
}

func (c *Cache) loadMemoryRecords(ctx context.Context) (*memoryRecords, error) {
	c.pin(pod.SectionMemory)
	defer c.unpin(pod.SectionMemory)
	d, err := c.load(ctx, pod.SectionMemory)
	if err != nil {
		return nil, err
	}
	return parsed(c, d, func() (*memoryRecords, int, error) { return c.parseMemory(d.raw) })
}

// parseMemory makes records of the decoded section, once: the long list whose
// alignment is off is moved in raw. They take extra bytes beside it.
func (c *Cache) parseMemory(raw []byte) (m *memoryRecords, extra int, err error) {
	p := payload{file: c.file, id: pod.SectionMemory, raw: raw}
	m = &memoryRecords{
		summary:        record[pod.AllocSummary](&p, pod.AllocSummarySize, "allocation summary"),
		heaps:          list[pod.HeapInfo](&p, pod.HeapInfoSize, "heaps"),
		heapStats:      list[pod.HeapStat](&p, pod.HeapStatSize, "heap stats"),
		callstackStats: listInPlace[pod.CallstackAllocStat](&p, pod.CallstackAllocStatSize, "callstack allocation stats"),
		churnStats:     list[pod.CallstackChurnStat](&p, pod.CallstackChurnStatSize, "churn stats"),
	}
	if p.err != nil {
		return nil, 0, p.err
	}
	m.trailing = len(raw) - p.off
	return m, p.extra, nil
}
