package convert

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/tracecache/trace"
)

var buildID = []byte{0xab, 0xcd, 0xef}

// binaryPart is a position-independent program: f at 0x1000 with 0x20 bytes, g at
// 0x1040 with 0x10.
func binaryPart() *Part {
	return &Part{Path: "prog", Kind: KindELF, movable: true, Model: &trace.Model{
		FileSize: 1000,
		Modules:  []trace.Module{{Name: "prog", FullPath: "/build/prog", Base: 0, Size: 0x2000, ImageID: buildID}},
		Symbols:  []trace.Symbol{{Address: 0x1000, Name: "f"}, {Address: 0x1020}, {Address: 0x1040, Name: "g"}, {Address: 0x1050}},
	}}
}

// profilePart is a profile of it, loaded at base, behind another module.
func profilePart(path string, base uint64) *Part {
	return &Part{Path: path, Kind: KindPprof,
		Model: &trace.Model{
			FileSize: 10, TotalEvents: 1, TraceStartUs: 100, TraceEndUs: 200,
			Session: trace.Session{AppName: path, HasSession: true},
			Modules: []trace.Module{
				{Name: "libc", FullPath: "/lib/libc", Base: 0x7f0000000000, Size: 0x1000},
				{Name: "prog", FullPath: "/run/prog", Base: base, Size: 0x1800, ImageID: buildID},
			},
			Callstacks: []trace.Callstack{
				{ID: 1, Frames: []trace.Frame{{Address: base + 0x1010, ModuleIndex: 1, Offset: 0x1010}}},
			},
			CallstackStats: []trace.CallstackStat{{CallstackID: 1, LiveCount: 2, LiveBytes: 3, ThreadIDs: []uint32{7}}},
		},
		points: []trace.Symbol{
			{Address: base + 0x1010, Name: "f_demangled"}, // inside f
			{Address: base + 0x1030, Name: "between"},     // behind f, before g
			{Address: base + 0x1040, Name: "g_demangled"}, // the first byte of g
		},
	}
}

func TestMergeMovesBinaryToProfile(t *testing.T) {
	const base = 0x555500000000
	for _, parts := range [][]*Part{
		{profilePart("p", base), binaryPart()},
		{binaryPart(), profilePart("p", base)},
	} {
		m, err := Merge(parts...)
		require.NoError(t, err)
		assert.Equal(t, []trace.Module{
			{Name: "libc", FullPath: "/lib/libc", Base: 0x7f0000000000, Size: 0x1000},
			{Name: "prog", FullPath: "/run/prog", Base: base, Size: 0x2000, ImageID: buildID},
		}, m.Modules)
		assert.Equal(t, []trace.Symbol{
			{Address: base + 0x1000, Name: "f"}, {Address: base + 0x1020},
			{Address: base + 0x1030, Name: "between"}, {Address: base + 0x1031},
			{Address: base + 0x1040, Name: "g"}, {Address: base + 0x1050},
		}, m.Symbols)
		assert.Equal(t, profilePart("p", base).Model.Callstacks, m.Callstacks)
		assert.Equal(t, uint64(1010), m.FileSize)
		assert.Equal(t, "p", m.Session.AppName)
		// The parts are as they were.
		for _, p := range parts {
			if p.movable {
				assert.Equal(t, binaryPart(), p)
			} else {
				assert.Equal(t, profilePart("p", base), p)
			}
		}
	}
}

// A Breakpad file goes to the binary, in whichever order they come.
func TestMergeBreakpadWithBinary(t *testing.T) {
	bin := &Part{Path: "prog", Kind: KindELF, movable: true, load: 0x400000, Model: &trace.Model{
		Modules: []trace.Module{{Name: "prog", Base: 0x400000, Size: 0x2000, ImageID: buildID}},
		Symbols: []trace.Symbol{{Address: 0x401000, Name: "f"}, {Address: 0x401020}},
	}}
	sym := &Part{Path: "prog.sym", Kind: KindBreakpad, movable: true, Model: &trace.Model{
		Modules: []trace.Module{{Name: "prog.debug", Base: 0, Size: 0x1050, ImageID: buildID}},
		Symbols: []trace.Symbol{{Address: 0x1000, Name: "f(int)"}, {Address: 0x1020}, {Address: 0x1040, Name: "g()"}, {Address: 0x1050}},
	}}
	for _, parts := range [][]*Part{{bin, sym}, {sym, bin}} {
		m, err := Merge(parts...)
		require.NoError(t, err)
		require.Len(t, m.Modules, 1)
		assert.Equal(t, uint64(0x400000), m.Modules[0].Base)
		names := []string{"f", "f(int)"}
		if parts[0] == sym {
			slices.Reverse(names)
		}
		assert.Equal(t, []trace.Symbol{
			{Address: 0x401000, Name: names[0]}, {Address: 0x401000, Name: names[1]}, {Address: 0x401020},
			{Address: 0x401040, Name: "g()"}, {Address: 0x401050},
		}, m.Symbols)
	}
}

func TestMergeSegmentsWithTwoBases(t *testing.T) {
	bin := func() *Part {
		p := binaryPart()
		p.Model.Modules = []trace.Module{
			{Name: "prog", Base: 0x10000, Size: 0x1234, ImageID: buildID},
			{Name: "prog", Base: 0x30000, Size: 0x5678, ImageID: buildID},
		}
		p.Model.Symbols = []trace.Symbol{{Address: 0x10100, Name: "f"}, {Address: 0x10200}}
		return p
	}
	prof := func(mods ...trace.Module) *Part {
		for i := range mods {
			mods[i].Name, mods[i].ImageID = "prog", buildID
		}
		return &Part{Path: "prof", Kind: KindPprof, Model: &trace.Model{Modules: mods}}
	}
	tests := []struct {
		name string
		prof *Part
		want uint64 // of f
	}{
		{"both mapped", prof(trace.Module{Base: 0x730000, Size: 0x6000}, trace.Module{Base: 0x710000, Size: 0x2000}), 0x710100},
		{"the second only, told by its size", prof(trace.Module{Base: 0x730000, Size: 0x6000}), 0x710100},
		{"the first only, told by its size", prof(trace.Module{Base: 0x730000, Size: 0x2000}), 0x730100},
		{"one in place", prof(trace.Module{Base: 0x30000, Size: 0x2000}), 0x10100},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, err := Merge(tt.prof, bin())
			require.NoError(t, err)
			assert.Equal(t, tt.want, m.Symbols[0].Address)
			assert.Len(t, m.Modules, 2)
		})
	}
}

func TestMergeErrors(t *testing.T) {
	other := func(path string, base, size uint64) *Part {
		return &Part{Path: path, Kind: KindELF, movable: true, Model: &trace.Model{
			Modules: []trace.Module{{Name: path, Base: base, Size: size}},
		}}
	}
	placed := func(p *Part, base uint64) *Part {
		require.NoError(t, p.Place(base))
		return p
	}
	contradicting := placed(binaryPart(), 0x5000)
	contradicting.Model.Modules[0].ImageID = []byte{1, 2, 3}
	badIndex := profilePart("p", 0x5000)
	badIndex.Model.Callstacks[0].Frames[0].ModuleIndex = 2
	twice := profilePart("both", 0x10000)
	twice.Model.Modules = append(twice.Model.Modules, trace.Module{Name: "prog", Base: 0x90000, Size: 1, ImageID: buildID})
	tests := []struct {
		name  string
		parts []*Part
		want  []string
	}{
		{"nothing", nil, []string{"no inputs"}},
		{"two at base 0", []*Part{other("a.so", 0, 0x1000), other("b.so", 0, 0x2000)},
			[]string{"a.so (module a.so at [0x0, 0x1000))", "b.so (module b.so at [0x0, 0x2000))", "INPUT@0xBASE"}},
		{"one address", []*Part{other("a", 0x1000, 0x1000), other("b", 0x1fff, 0)}, []string{"inputs overlap", "a", "b", "[0x1fff, 0x1fff)"}},
		{"at the end of the space", []*Part{other("a", 1<<64-0x1000, 0x1000), other("b", 1<<64-1, 1)}, []string{"[0xfffffffffffff000, 2^64)"}},
		{"over the end of the space", []*Part{other("a", 1<<64-0x1000, math.MaxUint64), other("b", 1<<64-1, 5)}, []string{"2^64"}},
		{"nested behind a short one", []*Part{other("a", 0, 0x10000), other("b", 0x20000, 0x10), other("c", 0x8000, 0x10)}, []string{"a (", "c ("}},
		{"two processes", []*Part{profilePart("p1", 0x10000), profilePart("p2", 0x90000), binaryPart()},
			[]string{"prog: build id abcdef is at 0x10000 in p1 and at 0x90000 in p2", "prog@0xBASE"}},
		{"two processes in one profile", []*Part{binaryPart(), twice}, []string{"0x10000 in both and at 0x90000 in both"}},
		{"contradicting build ids", []*Part{profilePart("p", 0x5000), contradicting}, []string{"inputs overlap", "p (", "prog ("}},
		{"wrong module index", []*Part{badIndex, other("x", 0, 1)}, []string{"p: corrupt: callstack 1, frame 0: expected a module index below 2, got 2"}},
		{"moved out of the space", []*Part{profilePart("p", 1<<64-0x1800), binaryPart()}, []string{"prog: module prog at 0x0 does not fit"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Merge(tt.parts...)
			require.Error(t, err)
			for _, want := range tt.want {
				assert.ErrorContains(t, err, want)
			}
		})
	}
}

func TestMergeNeighboursDoNotOverlap(t *testing.T) {
	mod := func(base, size uint64) *Part {
		return &Part{Path: fmt.Sprintf("%x", base), Kind: KindELF, movable: true,
			Model: &trace.Model{Modules: []trace.Module{{Name: fmt.Sprintf("m%x", base), Base: base, Size: size}}}}
	}
	m, err := Merge(mod(0x1000, 0x1000), mod(0x2000, 0x1000), mod(0xfff, 0), mod(1<<64-1, 1), mod(0, 0))
	require.NoError(t, err)
	assert.Len(t, m.Modules, 5)

	// What overlaps within one input stays.
	both := &Part{Path: "json", Kind: KindJSON, Model: &trace.Model{Modules: []trace.Module{
		{Name: "outer", Base: 0x100000, Size: 0x1000}, {Name: "inner", Base: 0x100100, Size: 0x10}, {Name: "inner", Base: 0x100100, Size: 0x10},
	}}}
	m, err = Merge(both, mod(0, 0x1000))
	require.NoError(t, err)
	assert.Len(t, m.Modules, 4)
}

func TestMergeSameModule(t *testing.T) {
	part := func(kind Kind, mod trace.Module) *Part {
		return &Part{Path: "p", Kind: kind, Model: &trace.Model{Modules: []trace.Module{mod}}}
	}
	id2 := []byte{9}
	madeUp := []byte(`C:\prog.exe2025-01-01`)
	tests := []struct {
		name string
		a, b trace.Module
		want trace.Module
	}{
		{"equal build id, other name",
			trace.Module{Name: "x", Base: 0x10, Size: 5, ImageID: buildID}, trace.Module{Name: "y", FullPath: "/y", Base: 0x10, Size: 9, ImageID: buildID},
			trace.Module{Name: "x", FullPath: "/y", Base: 0x10, Size: 9, ImageID: buildID}},
		{"equal name, one build id",
			trace.Module{Name: "/usr/bin/x", Base: 0x10, Size: 9}, trace.Module{Name: "x", Base: 0x10, ImageID: id2},
			trace.Module{Name: "/usr/bin/x", Base: 0x10, Size: 9, ImageID: id2}},
		{"a build id made of the path gives way",
			trace.Module{Name: "prog.exe", FullPath: `C:\prog.exe`, Base: 0x10, Size: 9, ImageID: madeUp}, trace.Module{Name: "prog.exe", Base: 0x10, ImageID: id2},
			trace.Module{Name: "prog.exe", FullPath: `C:\prog.exe`, Base: 0x10, Size: 9, ImageID: id2}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, err := Merge(part(KindPprof, tt.a), part(KindPprof, tt.b))
			require.NoError(t, err)
			assert.Equal(t, []trace.Module{tt.want}, m.Modules)
		})
	}
}

func TestPlace(t *testing.T) {
	p := binaryPart()
	require.NoError(t, p.Place(0xffffffff80000000)) // more than half of the space away
	assert.Equal(t, uint64(0xffffffff80000000), p.Model.Modules[0].Base)
	assert.Equal(t, []trace.Symbol{
		{Address: 0xffffffff80001000, Name: "f"}, {Address: 0xffffffff80001020},
		{Address: 0xffffffff80001040, Name: "g"}, {Address: 0xffffffff80001050},
	}, p.Model.Symbols)
	require.NoError(t, p.Place(0))
	assert.Equal(t, binaryPart().Model, p.Model)

	// A placed binary stays, build id or not.
	require.NoError(t, p.Place(0x40000))
	m, err := Merge(profilePart("p", 0x70000), p)
	require.NoError(t, err)
	assert.Len(t, m.Modules, 3)
	assert.Equal(t, uint64(0x41000), m.Symbols[0].Address)

	// To the very end: the hole behind the last address goes.
	p = binaryPart()
	p.Model.Modules[0].Size = 0x1050
	require.NoError(t, p.Place(1<<64-0x1050))
	assert.Len(t, p.Model.Symbols, 3)

	p = binaryPart()
	require.ErrorContains(t, p.Place(1<<64-0x1000), "prog: module prog at 0x0 does not fit")
	p.Model.Modules[0].Size = 1
	require.ErrorContains(t, p.Place(1<<64-0x1000), "prog: symbol f at 0x1000 does not fit")
	assert.Equal(t, uint64(0), p.Model.Modules[0].Base, "a failed move changes nothing")
	require.ErrorContains(t, profilePart("prof", 0).Place(1), "prof: cannot be placed at 0x1: a pprof input")
	require.ErrorContains(t, (&Part{Path: "x", movable: true, Model: new(trace.Model)}).Place(1), "x: cannot be placed at 0x1: it has no module")
}

func TestMergeSingleIsIdentity(t *testing.T) {
	for _, p := range []*Part{
		{Path: "m", Kind: KindJSON, Model: fullModel()},
		binaryPart(),
	} {
		m, err := Merge(p)
		require.NoError(t, err)
		assert.Same(t, p.Model, m)
	}
}

func jsonPart(path string, m *trace.Model) *Part { return &Part{Path: path, Kind: KindJSON, Model: m} }

func TestMergeCallstacks(t *testing.T) {
	stack := func(id uint32, addrs ...uint64) trace.Callstack {
		c := trace.Callstack{ID: id}
		for _, a := range addrs {
			c.Frames = append(c.Frames, trace.Frame{Address: a, ModuleIndex: trace.NoModule})
		}
		return c
	}
	a := &trace.Model{
		Callstacks:     []trace.Callstack{stack(1, 0x10), stack(5, 0x20), stack(6, 0x20)},
		CallstackStats: []trace.CallstackStat{{CallstackID: 5, LiveCount: 1, LiveBytes: 10, ThreadIDs: []uint32{1, 2}}, {CallstackID: 6, LiveCount: 9}, {CallstackID: 40, LiveCount: 4}, {CallstackID: 0, LiveBytes: 1}},
		ChurnStats:     []trace.ChurnStat{{CallstackID: 5, ChurnAllocs: 1, ChurnBytes: 2, TotalAllocs: 3, TotalBytes: math.MaxUint64, MeanDistance: 4}},
	}
	b := &trace.Model{
		Callstacks: []trace.Callstack{
			stack(1, 0x30),       // id in use: a new one
			stack(2, 0x20),       // equal to 5 of a
			stack(5, 0x10, 0x20), // id in use
			stack(7, 0x40),       // keeps its id
		},
		CallstackStats: []trace.CallstackStat{{CallstackID: 1, LiveCount: 5}, {CallstackID: 2, LiveCount: 6, LiveBytes: 7, ThreadIDs: []uint32{2, 3}}, {CallstackID: 40, LiveCount: 8}, {CallstackID: 0, LiveBytes: 2}},
		ChurnStats:     []trace.ChurnStat{{CallstackID: 2, ChurnAllocs: 3, ChurnBytes: 1, TotalAllocs: 1, TotalBytes: 1, MeanDistance: 8}, {CallstackID: 7, TotalAllocs: 1}},
	}
	m, err := Merge(jsonPart("a", a), jsonPart("b", b))
	require.NoError(t, err)
	assert.Equal(t, []trace.Callstack{
		stack(1, 0x10), stack(5, 0x20), stack(6, 0x20), stack(41, 0x30), stack(42, 0x10, 0x20), stack(7, 0x40),
	}, m.Callstacks)
	assert.Equal(t, []trace.CallstackStat{
		{CallstackID: 5, LiveCount: 7, LiveBytes: 17, ThreadIDs: []uint32{1, 2, 3}},
		{CallstackID: 6, LiveCount: 9},
		{CallstackID: 40, LiveCount: 4},
		{CallstackID: 0, LiveBytes: 3}, // no callstack in both
		{CallstackID: 41, LiveCount: 5},
		{CallstackID: 43, LiveCount: 8}, // 40 of b has no callstack, so it is not 40 of a
	}, m.CallstackStats)
	assert.Equal(t, []trace.ChurnStat{
		{CallstackID: 5, ChurnAllocs: 4, ChurnBytes: 3, TotalAllocs: 4, TotalBytes: math.MaxUint64, MeanDistance: (4*1 + 8*3) / 4.},
		{CallstackID: 7, TotalAllocs: 1},
	}, m.ChurnStats)
	assert.Equal(t, []uint32{1, 2}, a.CallstackStats[0].ThreadIDs)

	// At the end of the ids the gaps are filled.
	m, err = Merge(
		jsonPart("a", &trace.Model{Callstacks: []trace.Callstack{stack(math.MaxUint32, 1), stack(1, 2)}}),
		jsonPart("b", &trace.Model{Callstacks: []trace.Callstack{stack(math.MaxUint32, 3), stack(1, 4), stack(2, 5)}}),
	)
	require.NoError(t, err)
	assert.Equal(t, []trace.Callstack{
		stack(math.MaxUint32, 1), stack(1, 2), stack(3, 3), stack(4, 4), stack(2, 5),
	}, m.Callstacks)
}

func TestMergeProfiles(t *testing.T) {
	a, b := profilePart("a", 0x10000), profilePart("b", 0x10000)
	b.Model.Modules[0], b.Model.Modules[1] = b.Model.Modules[1], b.Model.Modules[0]
	b.Model.Modules = append(b.Model.Modules, trace.Module{Name: "[vdso]", Base: 0x7ffc00000000, Size: 0x1000})
	b.Model.Callstacks[0].Frames[0].ModuleIndex = 0
	b.Model.Callstacks = append(b.Model.Callstacks, trace.Callstack{ID: 2, Frames: []trace.Frame{{Address: 0x7ffc00000001, ModuleIndex: 2, Offset: 1}}})
	b.Model.TraceStartUs, b.Model.TraceEndUs = 50, 150
	b.points = []trace.Symbol{{Address: 0x11010, Name: "f_demangled"}, {Address: 0x11011, Name: "next"}, {Address: 0x11030, Name: "alias"}}
	m, err := Merge(a, b)
	require.NoError(t, err)
	assert.Equal(t, []trace.Module{a.Model.Modules[0], a.Model.Modules[1], b.Model.Modules[2]}, m.Modules)
	assert.Equal(t, []trace.Callstack{a.Model.Callstacks[0], b.Model.Callstacks[1]}, m.Callstacks)
	assert.Equal(t, []trace.CallstackStat{{CallstackID: 1, LiveCount: 4, LiveBytes: 6, ThreadIDs: []uint32{7}}}, m.CallstackStats)
	assert.Equal(t, [2]uint64{50, 200}, [2]uint64{m.TraceStartUs, m.TraceEndUs})
	assert.Equal(t, []trace.Symbol{
		{Address: 0x11010, Name: "f_demangled"}, {Address: 0x11011, Name: "next"}, {Address: 0x11012},
		{Address: 0x11030, Name: "between"}, {Address: 0x11030, Name: "alias"}, {Address: 0x11031},
		{Address: 0x11040, Name: "g_demangled"}, {Address: 0x11041},
	}, m.Symbols)
}

func TestMergeListsAndScalars(t *testing.T) {
	a, b := fullModel(), fullModel()
	a.Callstacks, b.Callstacks = nil, nil // their module indices mean the same
	a.Session = trace.Session{}
	b.AllocSummary.PeakBytes, b.AllocSummary.PeakTimeUs = 100, 200
	a.TraceStartUs = 0
	m, err := Merge(jsonPart("a", a), jsonPart("b", b))
	require.NoError(t, err)
	assert.Equal(t, uint64(math.MaxUint64), m.FileSize)
	assert.Equal(t, uint64(2*(1<<53+1)), m.TotalEvents)
	assert.Equal(t, [3]uint64{6, 4, 5}, [3]uint64{m.ParseTimeMs, m.TraceStartUs, m.TraceEndUs})
	assert.Equal(t, fullModel().Session, m.Session)
	assert.Equal(t, trace.AllocSummary{
		HasMemoryData: true, PeakTimeUs: 200, LiveAllocations: 4, TotalAllocs: 6, TotalFrees: 8,
		TotalReallocAllocs: 10, TotalReallocFrees: 12, PeakBytes: 107, EndBytes: 16,
	}, m.AllocSummary)
	assert.Equal(t, slices.Concat(a.Threads, b.Threads), m.Threads)
	assert.Equal(t, slices.Concat(a.Channels, b.Channels), m.Channels)
	assert.Equal(t, slices.Concat(a.EventTypeCounts, b.EventTypeCounts), m.EventTypeCounts)
	assert.Equal(t, slices.Concat(a.Heaps, b.Heaps), m.Heaps)
	assert.Equal(t, slices.Concat(a.HeapStats, b.HeapStats), m.HeapStats)
	assert.Len(t, m.ScopeStats, 8)
	assert.Equal(t, a.Modules, m.Modules)
}

func TestMergeSymbols(t *testing.T) {
	sym := func(addr uint64, name string) trace.Symbol { return trace.Symbol{Address: addr, Name: name} }
	bin := func(path string, syms ...trace.Symbol) *Part {
		return &Part{Path: path, Kind: KindELF, movable: true, Model: &trace.Model{Symbols: syms}}
	}
	json := func(syms ...trace.Symbol) *Part { return jsonPart("json", &trace.Model{Symbols: syms}) }
	tests := []struct {
		name  string
		parts []*Part
		want  []trace.Symbol
	}{
		{"apart", []*Part{bin("a", sym(0x10, "a"), sym(0x20, "")), bin("b", sym(0x30, "b"), sym(0x40, ""))},
			[]trace.Symbol{sym(0x10, "a"), sym(0x20, ""), sym(0x30, "b"), sym(0x40, "")}},
		{"the same twice", []*Part{bin("a", sym(0x10, "a"), sym(0x20, "")), bin("b", sym(0x10, "a"), sym(0x20, ""))},
			[]trace.Symbol{sym(0x10, "a"), sym(0x20, "")}},
		{"aliases in the order of inputs", []*Part{bin("a", sym(0x10, "a"), sym(0x10, "x")), bin("b", sym(0x10, "b"), sym(0x10, "a"))},
			[]trace.Symbol{sym(0x10, "a"), sym(0x10, "x"), sym(0x10, "b")}},
		{"a name ends a hole", []*Part{bin("a", sym(0x10, "a"), sym(0x20, "")), bin("b", sym(0x20, "b"), sym(0x30, ""))},
			[]trace.Symbol{sym(0x10, "a"), sym(0x20, "b"), sym(0x30, "")}},
		{"a hole inside another's function", []*Part{bin("a", sym(0x10, "inner"), sym(0x18, "")), bin("b", sym(0x08, "outer"), sym(0x20, ""))},
			[]trace.Symbol{sym(0x08, "outer"), sym(0x10, "inner"), sym(0x18, "outer"), sym(0x20, "")}},
		{"a longer alias goes on", []*Part{bin("a", sym(0x10, "short"), sym(0x18, "")), bin("b", sym(0x10, "long"), sym(0x20, ""))},
			[]trace.Symbol{sym(0x10, "short"), sym(0x10, "long"), sym(0x18, "long"), sym(0x20, "")}},
		{"JSON without sizes is not trusted to go on", []*Part{json(sym(0x30, "z"), sym(0x08, "far")), bin("b", sym(0x10, "b"), sym(0x20, ""))},
			[]trace.Symbol{sym(0x08, "far"), sym(0x10, "b"), sym(0x20, ""), sym(0x30, "z")}},
		{"JSON with sizes is", []*Part{json(sym(0x08, "far"), sym(0x30, "")), bin("b", sym(0x10, "b"), sym(0x20, ""))},
			[]trace.Symbol{sym(0x08, "far"), sym(0x10, "b"), sym(0x20, "far"), sym(0x30, "")}},
		{"names of binaries go before JSON's", []*Part{json(sym(0x10, "json")), bin("b", sym(0x10, "b"), sym(0x20, ""))},
			[]trace.Symbol{sym(0x10, "b"), sym(0x10, "json"), sym(0x20, "")}},
		{"interleaved JSON", []*Part{json(sym(1, "a"), sym(3, "c")), json(sym(2, "b"), sym(4, "d"))},
			[]trace.Symbol{sym(1, "a"), sym(2, "b"), sym(3, "c"), sym(4, "d")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, err := Merge(tt.parts...)
			require.NoError(t, err)
			assert.Equal(t, tt.want, m.Symbols)
		})
	}
}

func TestMergePoints(t *testing.T) {
	sym := func(addr uint64, name string) trace.Symbol { return trace.Symbol{Address: addr, Name: name} }
	syms := []trace.Symbol{sym(0x10, "f"), sym(0x20, ""), sym(0x30, "g"), sym(0x40, "")}
	tests := []struct {
		name   string
		points []trace.Symbol
		want   []trace.Symbol // besides syms
	}{
		{"first byte", []trace.Symbol{sym(0x10, "p")}, nil},
		{"last byte", []trace.Symbol{sym(0x1f, "p")}, nil},
		{"first behind", []trace.Symbol{sym(0x20, "p")}, []trace.Symbol{sym(0x20, "p"), sym(0x21, "")}},
		{"just before a function", []trace.Symbol{sym(0x2f, "p")}, []trace.Symbol{sym(0x2f, "p")}},
		{"before the first", []trace.Symbol{sym(0x0f, "p")}, []trace.Symbol{sym(0x0f, "p")}},
		{"next to one another", []trace.Symbol{sym(0x25, "p"), sym(0x26, "q")}, []trace.Symbol{sym(0x25, "p"), sym(0x26, "q"), sym(0x27, "")}},
		{"at the end of the space", []trace.Symbol{sym(1<<64-1, "p")}, []trace.Symbol{sym(1<<64-1, "p")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, err := Merge(
				&Part{Path: "bin", Kind: KindELF, movable: true, Model: &trace.Model{Symbols: syms}},
				&Part{Path: "prof", Kind: KindPprof, Model: &trace.Model{}, points: tt.points},
			)
			require.NoError(t, err)
			want := slices.Concat(syms, tt.want)
			slices.SortStableFunc(want, byAddress)
			assert.Equal(t, want, m.Symbols)
		})
	}
}

// A function of one module does not name the addresses of the next, so a point
// there is kept, and a module's last function is not cut by it.
func TestMergePointsAndModules(t *testing.T) {
	bin := &Part{Path: "bin", Kind: KindELF, movable: true, Model: &trace.Model{
		Modules: []trace.Module{{Name: "bin", Base: 0x1000, Size: 0x1000}},
		Symbols: []trace.Symbol{{Address: 0x1000, Name: "open end"}},
	}}
	prof := &Part{Path: "prof", Kind: KindPprof,
		Model: &trace.Model{Modules: []trace.Module{{Name: "lib", Base: 0x3000, Size: 0x1000}}},
		points: []trace.Symbol{
			{Address: 0x1fff, Name: "named by the binary"},
			{Address: 0x2000, Name: "in no module"},
			{Address: 0x3500, Name: "in lib"},
		},
	}
	m, err := Merge(bin, prof)
	require.NoError(t, err)
	assert.Equal(t, []trace.Symbol{
		{Address: 0x1000, Name: "open end"},
		{Address: 0x2000, Name: "in no module"}, {Address: 0x2001},
		{Address: 0x3500, Name: "in lib"}, {Address: 0x3501},
	}, m.Symbols)
}

// Merged symbols against a slow definition: each byte's name in turn.
func TestMergeSymbolsReference(t *testing.T) {
	const space = 24
	for seed := range uint64(300) {
		var layers [2][]trace.Symbol
		var points []trace.Symbol
		state := seed*2654435761 + 1
		next := func(n uint64) uint64 {
			state = state*6364136223846793005 + 1442695040888963407
			return state >> 33 % n
		}
		for l := range layers {
			var fns []function
			for i := range 4 {
				fns = append(fns, function{addr: next(space), size: 1 + next(6), name: fmt.Sprintf("%c%d", 'a'+rune(l), i)})
			}
			layers[l] = layout(fns, []span{{0, space}})
		}
		for a := range uint64(space) {
			if next(4) == 0 {
				points = append(points, trace.Symbol{Address: a, Name: fmt.Sprintf("p%d", a)})
			}
		}
		m, err := Merge(
			&Part{Path: "a", movable: true, Model: &trace.Model{Symbols: layers[0]}},
			&Part{Path: "b", movable: true, Model: &trace.Model{Symbols: layers[1]}},
			&Part{Path: "p", Model: &trace.Model{}, points: points},
		)
		require.NoError(t, err)
		for addr := range uint64(space + 2) {
			a, b := floor(layers[0], addr), floor(layers[1], addr)
			got := floor(m.Symbols, addr)
			switch {
			case a == "" && b == "":
				want := ""
				if i := slices.IndexFunc(points, func(p trace.Symbol) bool { return p.Address == addr }); i >= 0 {
					want = points[i].Name
				}
				require.Equal(t, want, got, "seed %d, address %d of %v, %v, %v", seed, addr, layers, points, m.Symbols)
			default:
				require.Contains(t, []string{a, b}, got, "seed %d, address %d of %v, %v", seed, addr, layers, m.Symbols)
				require.NotEmpty(t, got, "seed %d, address %d", seed, addr)
			}
		}
	}
}

// A position-independent program is loaded elsewhere than where its file says;
// its profile together with its binary gives its functions names all the same.
func TestMovedProgram(t *testing.T) {
	if runtime.GOOS != "linux" || testing.Short() {
		t.Skip("builds and runs a program on Linux")
	}
	dir := t.TempDir()
	const source = `package main

import ("os"; "runtime"; "runtime/pprof")

var keep [][]byte

//go:noinline
func grab() { for range 100 { keep = append(keep, make([]byte, 1000)) } }

func main() {
	runtime.MemProfileRate = 1
	grab()
	runtime.GC()
	f, err := os.Create(os.Args[1])
	if err != nil { panic(err) }
	if err := pprof.WriteHeapProfile(f); err != nil { panic(err) }
	if err := f.Close(); err != nil { panic(err) }
}
`
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(source), 0o600))
	bin, prof := filepath.Join(dir, "moved"), filepath.Join(dir, "heap.pb.gz")
	cmd := exec.Command("go", "build", "-buildmode=pie", "-o", bin, filepath.Join(dir, "main.go"))
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("no position-independent build here: %s", out)
	}
	out, err := exec.Command(bin, prof).CombinedOutput()
	require.NoError(t, err, "%s", out)

	m, err := Build(t.Context(), []Input{{Path: prof}, {Path: bin}})
	require.NoError(t, err)
	raw, err := ReadFile(bin)
	require.NoError(t, err)
	if m.Modules[0].Base == raw.Model.Modules[0].Base {
		t.Log("the system does not move programs")
	}
	assert.Equal(t, raw.Model.Modules[0].ImageID, m.Modules[0].ImageID)

	data, err := os.ReadFile(prof)
	require.NoError(t, err)
	p, err := profile.ParseData(data)
	require.NoError(t, err)
	seen := false
	for _, l := range p.Location {
		if l.Mapping != p.Mapping[0] || len(l.Line) == 0 {
			continue
		}
		name := l.Line[len(l.Line)-1].Function.Name
		assert.Equal(t, plainName(name), plainName(floor(m.Symbols, l.Address)), "%#x", l.Address)
		seen = seen || name == "main.grab"
	}
	assert.True(t, seen, "main.grab was sampled")
}
