package foreign

import (
	"fmt"

	"example.com/tracecache/trace"
)

const noModule = 0xffffffff

// sample is a model with something in every list, regular enough to compress.
// Sizes scale with k; k of 1 gives sections of about one KiB.
func sample(k int) *trace.Model {
	m := &trace.Model{
		FileSize:     123_456_789,
		TotalEvents:  98_765,
		ParseTimeMs:  432,
		TraceStartUs: 1_000,
		TraceEndUs:   61_000_000,
		Session: trace.Session{
			Platform:          "linux-amd64",
			AppName:           "server",
			ProjectName:       "example",
			CommandLine:       "server --listen :8080",
			Branch:            "main",
			BuildVersion:      "v1.2.3",
			Changelist:        4711,
			ConfigurationType: 3,
			HasSession:        true,
		},
		Modules: []trace.Module{
			{Name: "server", FullPath: "/opt/example/bin/server", Base: 0x400000, Size: 0x100000, ImageID: []byte{0xde, 0xad, 0xbe, 0xef, 0x01}},
			{Name: "libc.so.6", FullPath: "/lib/x86_64-linux-gnu/libc.so.6", Base: 0x7f0000000000, Size: 0x200000},
			{Name: "vdso", Base: 0x7fff00000000, Size: 0x2000, ImageID: []byte{1, 2, 3}},
		},
		AllocSummary: trace.AllocSummary{
			HasMemoryData: true, PeakTimeUs: 30_000_000, LiveAllocations: 17, TotalAllocs: 1_000_000,
			TotalFrees: 999_983, TotalReallocAllocs: 12, TotalReallocFrees: 11, PeakBytes: 1 << 30, EndBytes: 4096,
		},
	}
	for i := range 20 * k {
		m.Threads = append(m.Threads, trace.Thread{
			ThreadID: uint32(i + 1), Name: fmt.Sprintf("worker %d", i), GroupName: "pool",
			SystemID: uint32(10_000 + i), SortHint: int32(i - 3),
		})
		m.EventTypeCounts = append(m.EventTypeCounts, trace.EventTypeCount{
			Name: fmt.Sprintf("Event.Type%d", i%7), Count: uint64(i) << 33,
		})
		m.CallstackStats = append(m.CallstackStats, trace.CallstackStat{
			CallstackID: uint32(i + 1), LiveCount: uint64(i), LiveBytes: uint64(i) * 64,
			ThreadIDs: []uint32{1, 2, 3, 4}[:i%5],
		})
		m.ChurnStats = append(m.ChurnStats, trace.ChurnStat{
			CallstackID: uint32(i + 1), ChurnAllocs: 1, ChurnBytes: 16, TotalAllocs: 2, TotalBytes: 32,
			MeanDistance: float64(i) / 4,
		})
		m.Callstacks = append(m.Callstacks, sampleStack(i))
	}
	for i := range 4 * k {
		m.Channels = append(m.Channels, trace.Channel{
			Name: fmt.Sprintf("channel%d", i), Enabled: i%2 == 0, ReadOnly: i%3 == 0,
		})
		m.ScopeStats = append(m.ScopeStats, trace.ScopeStat{
			Name: fmt.Sprintf("Scope %d", i), MinUs: uint64(i), MaxUs: uint64(i) * 1000, Count: 7,
			MeanUs: 12.5, StdDevUs: 0.25,
		})
		m.Heaps = append(m.Heaps, trace.Heap{ID: uint32(i), ParentID: uint32(i / 2), Flags: 5, Name: fmt.Sprintf("heap %d", i)})
		m.HeapStats = append(m.HeapStats, trace.HeapStat{
			HeapID: uint32(i), CurrentBytes: 100, PeakBytes: 1 << 40, AllocCount: 10, FreeCount: 9,
		})
	}
	for i := range 60 * k {
		start := 0x401000 + uint64(i)*0x40
		m.Symbols = append(m.Symbols, trace.Symbol{Address: start, Name: fmt.Sprintf("example.com/server/pkg%d.(*Type%d).Method%d", i%3, i%5, i)})
		if i%4 == 3 {
			m.Symbols = append(m.Symbols, trace.Symbol{Address: start + 0x31})
		}
	}
	return m
}

// sampleStack has one to four frames, the last in no module.
func sampleStack(i int) trace.Callstack {
	c := trace.Callstack{ID: uint32(i + 1)}
	for j := range i % 4 {
		off := uint64(0x1000 + 0x40*i + j)
		c.Frames = append(c.Frames, trace.Frame{Address: 0x400000 + off, Offset: off})
	}
	c.Frames = append(c.Frames, trace.Frame{Address: 0x10, ModuleIndex: noModule})
	return c
}

// named is a model with some of the given strings in every kind of place where
// a string can be.
func named(names ...string) *trace.Model {
	at := func(i int) string { return names[i%len(names)] }
	m := &trace.Model{Session: trace.Session{
		Platform: at(0), AppName: at(1), ProjectName: at(2), CommandLine: at(3), Branch: at(4), BuildVersion: at(5),
	}}
	for i := range names {
		m.Threads = append(m.Threads, trace.Thread{ThreadID: uint32(i), Name: at(i), GroupName: at(i + 1)})
		m.Symbols = append(m.Symbols, trace.Symbol{Address: 0x1000 + 16*uint64(i), Name: at(i)})
	}
	m.Channels = []trace.Channel{{Name: at(6)}}
	m.Modules = []trace.Module{{Name: at(7), FullPath: at(8), Base: 0x1000, Size: 0x10000}}
	m.EventTypeCounts = []trace.EventTypeCount{{Name: at(9), Count: 1}}
	m.ScopeStats = []trace.ScopeStat{{Name: at(10), Count: 1}}
	m.Heaps = []trace.Heap{{ID: 1, Name: at(11)}}
	return m
}
