package foreign

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/tracecache/pod"
	"example.com/tracecache/trace"
	"example.com/tracecache/writer"
)

const goldenDir = "../../testdata/golden"

var goldens = []struct {
	name   string
	method pod.Method
}{
	{"small", pod.MethodLZ4},
	{"small-none", pod.MethodNone},
	{"small-zstd", pod.MethodZstd},
	{"small-oodle", pod.MethodOodle},
}

// golden is a model with each kind of thing in it: strings that occur twice,
// symbols out of order, a hole, aliases, an image id of odd size, and enough
// symbols for two blocks.
func golden() *trace.Model {
	m := &trace.Model{
		FileSize: 4096, TotalEvents: 12, ParseTimeMs: 3, TraceStartUs: 10, TraceEndUs: 1_000_010,
		Session: trace.Session{
			Platform: "linux", AppName: "app", ProjectName: "app", CommandLine: "app -v", Branch: "main",
			BuildVersion: "1.0", Changelist: 77, ConfigurationType: 2, HasSession: true,
		},
		Threads: []trace.Thread{
			{ThreadID: 1, Name: "main", SystemID: 100, SortHint: -1},
			{ThreadID: 2, Name: "worker", GroupName: "pool", SystemID: 101, SortHint: 5},
		},
		Channels: []trace.Channel{{Name: "cpu", Enabled: true}, {Name: "memory", ReadOnly: true}},
		Modules: []trace.Module{
			{Name: "app", FullPath: "/bin/app", Base: 0x400000, Size: 0x2000, ImageID: []byte{0xab, 0xcd, 0xef}},
			{Name: "libc.so", FullPath: "/lib/libc.so", Base: 0x7f0000000000},
		},
		EventTypeCounts: []trace.EventTypeCount{{Name: "cpu", Count: 5}, {Name: "Alloc", Count: 1 << 40}},
		ScopeStats:      []trace.ScopeStat{{Name: "Frame", MinUs: 1, MaxUs: 9, Count: 4, MeanUs: 3.5, StdDevUs: 0.25}},
		AllocSummary: trace.AllocSummary{
			HasMemoryData: true, PeakTimeUs: 500, LiveAllocations: 2, TotalAllocs: 10, TotalFrees: 8,
			TotalReallocAllocs: 1, TotalReallocFrees: 1, PeakBytes: 1 << 20, EndBytes: 256,
		},
		Heaps:     []trace.Heap{{ID: 0, Flags: 1, Name: "root"}, {ID: 1, ParentID: 0, Name: "main"}},
		HeapStats: []trace.HeapStat{{HeapID: 1, CurrentBytes: 256, PeakBytes: 1 << 20, AllocCount: 10, FreeCount: 8}},
		CallstackStats: []trace.CallstackStat{
			{CallstackID: 1, LiveCount: 1, LiveBytes: 128, ThreadIDs: []uint32{1}},
			{CallstackID: 2, LiveCount: 1, LiveBytes: 128, ThreadIDs: []uint32{1, 2, 3, 4, 5}},
		},
		ChurnStats: []trace.ChurnStat{{CallstackID: 2, ChurnAllocs: 3, ChurnBytes: 96, TotalAllocs: 4, TotalBytes: 128, MeanDistance: 1.5}},
		Callstacks: []trace.Callstack{
			{ID: 1, Frames: []trace.Frame{{Address: 0x400123, Offset: 0x123}, {Address: 0x10, ModuleIndex: noModule}}},
			{ID: 2},
			{ID: 5, Frames: []trace.Frame{{Address: 0x7f0000000040, ModuleIndex: 1, Offset: 0x40}}},
		},
		Symbols: []trace.Symbol{
			{Address: 0x401800, Name: "tail"}, {Address: 0x401810},
			{Address: 0x400100, Name: "main"}, {Address: 0x400100, Name: "alias of main"}, {Address: 0x400000, Name: "start"},
		},
	}
	for i := range 62 {
		m.Symbols = append(m.Symbols, trace.Symbol{Address: 0x400200 + uint64(i)*0x20, Name: fmt.Sprintf("pkg.f%d", i)})
	}
	return m
}

func writeGolden(t *testing.T, method pod.Method) []byte {
	var b bytes.Buffer
	n, err := writer.Write(&b, golden(), writer.WithCodec(method), writer.WithBlockSize(1024),
		writer.WithSource(4096, time.Unix(1_700_000_000, 123_456_789)))
	require.NoError(t, err)
	require.EqualValues(t, b.Len(), n)
	return b.Bytes()
}

// The writer's files stay as they are, byte for byte, and each byte has its
// explanation. Where a change of the format is meant, -update writes the files
// anew, and the difference of the dumps shows what changed.
func TestGolden(t *testing.T) {
	for _, g := range goldens {
		t.Run(g.name, func(t *testing.T) {
			b := writeGolden(t, g.method)
			path := filepath.Join(goldenDir, g.name)
			if *update {
				require.NoError(t, os.MkdirAll(goldenDir, 0o755))
				require.NoError(t, os.WriteFile(path+".ztac", b, 0o644))
				require.NoError(t, os.WriteFile(path+".txt", []byte(annotate(b)), 0o644))
			}
			want, err := os.ReadFile(path + ".ztac")
			require.NoError(t, err)
			dump, err := os.ReadFile(path + ".txt")
			require.NoError(t, err)
			assert.Equal(t, string(dump), annotate(b))
			assert.Equal(t, want, b)
		})
	}
}

// What the writer makes is what the writer of this package makes of the same
// model: the same payloads whatever the codec, and without compression the same
// file.
func TestWriterAgrees(t *testing.T) {
	m := golden()
	slices.SortStableFunc(m.Symbols, func(a, b trace.Symbol) int { return cmp.Compare(a.Address, b.Address) })
	m.CallstackStats[1].ThreadIDs = m.CallstackStats[1].ThreadIDs[:4]
	v := variant{
		want: m, packing: packing{sums: true},
		layout: layout{sourceSize: 4096, sourceModNs: 1_700_000_000_123_456_789},
	}
	built, sections := v.build()
	assert.Equal(t, built, writeGolden(t, pod.MethodNone))
	for _, g := range goldens {
		p := parse(writeGolden(t, g.method))
		for id, s := range p.sections {
			assert.Equal(t, sections[id], s.payload, "%s, %s", g.name, names[id])
			assert.NotZero(t, s.reserved, "%s, %s: no checksum table", g.name, names[id])
			assert.False(t, s.hash20)
		}
		symbols := p.sections[4]
		assert.Equal(t, byte(g.method), symbols.method, g.name)
		if g.method != pod.MethodNone {
			assert.Len(t, symbols.blocks, 2, "%s: not the block size that was asked for", g.name)
		}
	}
}
