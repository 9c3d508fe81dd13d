package gen

import (
	"fmt"
	"math/rand/v2"

	"example.com/tracecache/trace"
)

// How long the short lists are.
const (
	threads    = 48
	channels   = 24
	eventTypes = 160
	scopes     = 400
	heaps      = 12
)

func (c Config) addMetadata(m *trace.Model) {
	rng := c.rand(streamMetadata)
	m.FileSize = 1<<30 + rng.Uint64N(1<<30)
	m.TotalEvents = rng.Uint64N(1 << 28)
	m.ParseTimeMs = rng.Uint64N(100_000)
	m.TraceStartUs = rng.Uint64N(1 << 40)
	m.TraceEndUs = m.TraceStartUs + rng.Uint64N(1<<32)
	m.Session = trace.Session{
		Platform: "Linux", AppName: "engine", ProjectName: "Voxel World",
		CommandLine: fmt.Sprintf("engine -map=island -seed=%d", rng.Uint32()),
		Branch:      "release/5.1", BuildVersion: fmt.Sprintf("5.1.%d", rng.IntN(100)),
		Changelist: rng.Uint32(), ConfigurationType: 3, HasSession: true,
	}
	for i := range threads {
		m.Threads = append(m.Threads, trace.Thread{
			ThreadID: uint32(i + 1), Name: fmt.Sprintf("Worker %s %d", word(rng), i), GroupName: word(rng),
			SystemID: rng.Uint32(), SortHint: int32(i) - threads/2,
		})
	}
	for i := range channels {
		m.Channels = append(m.Channels, trace.Channel{
			Name: fmt.Sprintf("%s%d", word(rng), i), Enabled: rng.IntN(2) == 0, ReadOnly: rng.IntN(4) == 0,
		})
	}
	for i := range eventTypes {
		m.EventTypeCounts = append(m.EventTypeCounts, trace.EventTypeCount{
			Name: fmt.Sprintf("%s.%s.%d", word(rng), word(rng), i), Count: rng.Uint64N(1 << 24),
		})
	}
	for i := range scopes {
		least := rng.Uint64N(1 << 16)
		m.ScopeStats = append(m.ScopeStats, trace.ScopeStat{
			Name: fmt.Sprintf("%s::%s #%d", word(rng), word(rng), i), MinUs: least, MaxUs: least + rng.Uint64N(1<<20),
			Count: rng.Uint64N(1 << 20), MeanUs: eighths(rng, 1<<16), StdDevUs: eighths(rng, 1<<12),
		})
	}
}

func (c Config) addMemory(m *trace.Model) {
	rng := c.rand(streamMemory)
	peak := 1<<30 + rng.Uint64N(1<<34)
	m.AllocSummary = trace.AllocSummary{
		HasMemoryData: true, PeakTimeUs: m.TraceStartUs + rng.Uint64N(1<<30),
		LiveAllocations: rng.Uint64N(1 << 24), TotalAllocs: 1<<24 + rng.Uint64N(1<<30), TotalFrees: rng.Uint64N(1 << 30),
		TotalReallocAllocs: rng.Uint64N(1 << 20), TotalReallocFrees: rng.Uint64N(1 << 20),
		PeakBytes: peak, EndBytes: rng.Uint64N(peak),
	}
	for i := range uint32(heaps) {
		heap := trace.Heap{ID: i, Flags: rng.Uint32N(4), Name: fmt.Sprintf("%s heap %d", word(rng), i)}
		if i > 0 {
			heap.ParentID = rng.Uint32N(i)
		}
		m.Heaps = append(m.Heaps, heap)
		most := rng.Uint64N(1 << 32)
		m.HeapStats = append(m.HeapStats, trace.HeapStat{
			HeapID: i, CurrentBytes: rng.Uint64N(most + 1), PeakBytes: most,
			AllocCount: rng.Uint64N(1 << 24), FreeCount: rng.Uint64N(1 << 24),
		})
	}
	for i, stack := range m.Callstacks {
		live := 1 + rng.Uint64N(1<<12)
		m.CallstackStats = append(m.CallstackStats, trace.CallstackStat{
			CallstackID: stack.ID, LiveCount: live, LiveBytes: live * (1 + rng.Uint64N(1<<10)), ThreadIDs: threadIDs(rng),
		})
		if i%4 != 0 {
			continue
		}
		churn := rng.Uint64N(1 << 16)
		m.ChurnStats = append(m.ChurnStats, trace.ChurnStat{
			CallstackID: stack.ID, ChurnAllocs: churn, ChurnBytes: churn * 48,
			TotalAllocs: churn + live, TotalBytes: (churn + live) * 48, MeanDistance: eighths(rng, 1<<10),
		})
	}
}

func word(rng *rand.Rand) string { return words[rng.IntN(len(words))] }

// eighths is a number below limit that a float holds exactly.
func eighths(rng *rand.Rand, limit uint64) float64 { return float64(rng.Uint64N(8*limit)) / 8 }
