package convert

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/tracecache/pod"
	"example.com/tracecache/trace"
)

// handProfile is a heap profile with two mappings, an inlined call, a repeated
// stack, a location without function, one without mapping and one far away.
func handProfile() *profile.Profile {
	app := &profile.Mapping{ID: 1, Start: 0x401000, Limit: 0x480000, Offset: 0x1000, File: "/opt/my app/server", BuildID: "00ff10"}
	lib := &profile.Mapping{ID: 2, Start: 0x7f0000028000, Limit: 0x7f0000100000, Offset: 0x28000, File: "/lib/libc.so.6", BuildID: "not hex"}
	fn := func(id uint64, name, system string) *profile.Function {
		return &profile.Function{ID: id, Name: name, SystemName: system}
	}
	inlined, outer, alloc, entry := fn(1, "inlined", ""), fn(2, "outer()", "_Z5outerv"), fn(3, "malloc", ""), fn(4, "main", "main")
	loc := func(id, addr uint64, m *profile.Mapping, fns ...*profile.Function) *profile.Location {
		l := &profile.Location{ID: id, Address: addr, Mapping: m}
		for _, f := range fns {
			l.Line = append(l.Line, profile.Line{Function: f})
		}
		return l
	}
	l1 := loc(1, 0x7f0000030010, lib, alloc)
	l2 := loc(2, 0x402000, app, inlined, outer)
	l3 := loc(3, 0x401500, app, entry)
	l4 := loc(4, 0x401800, app)                 // no function
	l5 := loc(5, 0x999, nil, outer)             // no mapping
	l6 := loc(6, 0x7f0200000000, lib, entry)    // more than 32 bits behind the base
	l7 := loc(7, 0x402000, app, outer, alloc)   // another name at the address of l2
	l8 := loc(8, 0x402000, app, inlined, outer) // the same name there
	l9 := loc(9, 0, app, entry)                 // no address
	sample := func(values []int64, locs ...*profile.Location) *profile.Sample {
		return &profile.Sample{Location: locs, Value: values}
	}
	return &profile.Profile{
		SampleType: []*profile.ValueType{
			{Type: "inuse_space", Unit: "kilobytes"}, {Type: "alloc_objects", Unit: "count"},
			{Type: "inuse_objects", Unit: "count"}, {Type: "alloc_space", Unit: "bytes"},
		},
		Mapping:  []*profile.Mapping{app, lib},
		Function: []*profile.Function{inlined, outer, alloc, entry},
		Location: []*profile.Location{l1, l2, l3, l4, l5, l6, l7, l8, l9},
		Sample: []*profile.Sample{
			sample([]int64{1, 10, 4, 5000}, l1, l2, l3),
			sample([]int64{0, 2, 0, 20}, l4, l5, l6),
			sample([]int64{2, 5, 3, 3000}, l1, l8, l3), // the frames of the first
			sample([]int64{0, 0, 0, 0}, l9),
			sample([]int64{1, 1, 2, 512}), // rounding has made more live than allocated
		},
		TimeNanos: 5_000_000_900, DurationNanos: 2_000_000_200,
	}
}

func encode(t testing.TB, p *profile.Profile) []byte {
	t.Helper()
	require.NoError(t, p.CheckValid())
	var b bytes.Buffer
	require.NoError(t, p.Write(&b))
	return b.Bytes()
}

func writeFile(t testing.TB, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, data, 0o600))
	return path
}

func TestReadPprof(t *testing.T) {
	data := encode(t, handProfile())
	path := writeFile(t, "heap.pb.gz", data)
	p, err := ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, KindPprof, p.Kind)
	assert.Equal(t, path, p.Path)

	app := func(addr uint64) trace.Frame {
		return trace.Frame{Address: addr, ModuleIndex: 0, Offset: addr - 0x400000}
	}
	none := func(addr uint64) trace.Frame { return trace.Frame{Address: addr, ModuleIndex: trace.NoModule} }
	malloc := trace.Frame{Address: 0x7f0000030010, ModuleIndex: 1, Offset: 0x30010}
	want := &trace.Model{
		FileSize: uint64(len(data)), TotalEvents: 5, TraceStartUs: 5_000_000, TraceEndUs: 7_000_001,
		Session: trace.Session{AppName: "server", HasSession: true},
		Modules: []trace.Module{
			{Name: "server", FullPath: "/opt/my app/server", Base: 0x400000, Size: 0x80000, ImageID: []byte{0, 0xff, 0x10}},
			{Name: "libc.so.6", FullPath: "/lib/libc.so.6", Base: 0x7f0000000000, Size: 0x100000, ImageID: []byte("not hex")},
		},
		Callstacks: []trace.Callstack{
			{ID: 1, Frames: []trace.Frame{malloc, app(0x402000), app(0x401500)}},
			{ID: 2, Frames: []trace.Frame{app(0x401800), none(0x999), none(0x7f0200000000)}},
			{ID: 3, Frames: []trace.Frame{none(0)}},
			{ID: 4, Frames: []trace.Frame{}},
		},
		CallstackStats: []trace.CallstackStat{
			{CallstackID: 1, LiveCount: 7, LiveBytes: 3 << 10},
			{CallstackID: 4, LiveCount: 2, LiveBytes: 1 << 10},
		},
		ChurnStats: []trace.ChurnStat{
			{CallstackID: 1, ChurnAllocs: 8, ChurnBytes: 8000 - 3<<10, TotalAllocs: 15, TotalBytes: 8000},
			{CallstackID: 2, ChurnAllocs: 2, ChurnBytes: 20, TotalAllocs: 2, TotalBytes: 20},
			{CallstackID: 4, TotalAllocs: 1, TotalBytes: 512},
		},
		AllocSummary: trace.AllocSummary{
			HasMemoryData: true, LiveAllocations: 9, TotalAllocs: 18, TotalFrees: 9, EndBytes: 4 << 10,
		},
	}
	assert.Equal(t, want, p.Model)

	m, err := Merge(p)
	require.NoError(t, err)
	assert.Equal(t, []trace.Symbol{
		{Address: 0x999, Name: "_Z5outerv"}, {Address: 0x99a},
		{Address: 0x401500, Name: "main"}, {Address: 0x401501},
		{Address: 0x402000, Name: "_Z5outerv"}, {Address: 0x402000, Name: "malloc"}, {Address: 0x402001},
		{Address: 0x7f0000030010, Name: "malloc"}, {Address: 0x7f0000030011},
		{Address: 0x7f0200000000, Name: "main"}, {Address: 0x7f0200000001},
	}, m.Symbols)
	m.Symbols = nil
	assert.Equal(t, want, m)
}

func TestReadPprofEncodings(t *testing.T) {
	var plain bytes.Buffer
	require.NoError(t, handProfile().WriteUncompressed(&plain))
	p, err := ReadFile(writeFile(t, "plain.pb", plain.Bytes()))
	require.NoError(t, err)
	assert.Len(t, p.Model.Callstacks, 4)

	// The words of a legacy CPU profile in each size and byte order: header,
	// samples with two addresses each, trailer, then the memory map.
	words := []uint64{0, 3, 0, 10_000, 0, 3, 2, 0x401234, 0x402345, 1, 2, 0x401234, 0x403456, 0, 1, 0}
	for name, put := range map[string]func([]byte, uint64) []byte{
		"le64": func(b []byte, v uint64) []byte {
			return append(b, byte(v), byte(v>>8), byte(v>>16), byte(v>>24), 0, 0, 0, 0)
		},
		"be64": func(b []byte, v uint64) []byte {
			return append(b, 0, 0, 0, 0, byte(v>>24), byte(v>>16), byte(v>>8), byte(v))
		},
		"le32": func(b []byte, v uint64) []byte { return append(b, byte(v), byte(v>>8), byte(v>>16), byte(v>>24)) },
		"be32": func(b []byte, v uint64) []byte { return append(b, byte(v>>24), byte(v>>16), byte(v>>8), byte(v)) },
	} {
		t.Run(name, func(t *testing.T) {
			var data []byte
			for _, w := range words {
				data = put(data, w)
			}
			data = append(data, "00401000-00500000 r-xp 00001000 08:01 123 /bin/prog\n"...)
			p, err := ReadFile(writeFile(t, "cpu.prof", data))
			require.NoError(t, err)
			require.Len(t, p.Model.Modules, 1)
			assert.Equal(t, trace.Module{Name: "prog", FullPath: "/bin/prog", Base: 0x400000, Size: 0x100000}, p.Model.Modules[0])
			// Return addresses are taken back by one.
			assert.Equal(t, []trace.Callstack{
				{ID: 1, Frames: []trace.Frame{{Address: 0x401234, Offset: 0x1234}, {Address: 0x402344, Offset: 0x2344}}},
				{ID: 2, Frames: []trace.Frame{{Address: 0x401234, Offset: 0x1234}, {Address: 0x403455, Offset: 0x3455}}},
			}, p.Model.Callstacks)
			assert.Empty(t, p.points)
		})
	}
}

func TestReadPprofLegacyHeap(t *testing.T) {
	const text = `heap profile: 3: 300 [10: 1000] @ heap_v2/1
 1: 100 [ 4: 400] @ 0x401011 0x401021
 2: 200 [ 6: 600] @ 0x401031

MAPPED_LIBRARIES:
00401000-00402000 r-xp 00001000 08:01 123 /bin/prog
`
	p, err := ReadFile(writeFile(t, "heap.txt", []byte(text)))
	require.NoError(t, err)
	assert.Equal(t, []trace.Callstack{
		{ID: 1, Frames: []trace.Frame{{Address: 0x401010, Offset: 0x1010}, {Address: 0x401020, Offset: 0x1020}}},
		{ID: 2, Frames: []trace.Frame{{Address: 0x401030, Offset: 0x1030}}},
	}, p.Model.Callstacks)
	live, bytes := uint64(0), uint64(0)
	for _, s := range p.Model.CallstackStats {
		live += s.LiveCount
		bytes += s.LiveBytes
	}
	assert.Equal(t, p.Model.AllocSummary.LiveAllocations, live)
	assert.Equal(t, p.Model.AllocSummary.EndBytes, bytes)
	assert.Positive(t, bytes)
}

func TestReadPprofColumns(t *testing.T) {
	type vt = profile.ValueType
	tests := []struct {
		name    string
		types   []*vt
		values  []int64
		live    []trace.CallstackStat
		churn   []trace.ChurnStat
		summary trace.AllocSummary
	}{
		{
			name:    "in use only",
			types:   []*vt{{Type: "inuse_objects", Unit: "count"}, {Type: "inuse_space", Unit: "bytes"}},
			values:  []int64{2, 64},
			live:    []trace.CallstackStat{{CallstackID: 1, LiveCount: 2, LiveBytes: 64}},
			summary: trace.AllocSummary{HasMemoryData: true, LiveAllocations: 2, EndBytes: 64},
		},
		{
			name:    "older names",
			types:   []*vt{{Type: "objects", Unit: "count"}, {Type: "space", Unit: "bytes"}},
			values:  []int64{2, 64},
			live:    []trace.CallstackStat{{CallstackID: 1, LiveCount: 2, LiveBytes: 64}},
			summary: trace.AllocSummary{HasMemoryData: true, LiveAllocations: 2, EndBytes: 64},
		},
		{
			name:    "allocated only: what was freed is not known",
			types:   []*vt{{Type: "alloc_space", Unit: "MB"}, {Type: "alloc_objects", Unit: ""}},
			values:  []int64{3, 7},
			churn:   []trace.ChurnStat{{CallstackID: 1, TotalAllocs: 7, TotalBytes: 3 << 20}},
			summary: trace.AllocSummary{HasMemoryData: true, TotalAllocs: 7},
		},
		{
			name:   "no heap profile",
			types:  []*vt{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
			values: []int64{1, 10_000},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := handProfile()
			p.SampleType, p.Sample = tt.types, p.Sample[:1]
			p.Sample[0].Value = tt.values
			m, err := profileModel(p, &options{})
			require.NoError(t, err)
			assert.Equal(t, tt.live, m.CallstackStats)
			assert.Equal(t, tt.churn, m.ChurnStats)
			assert.Equal(t, tt.summary, m.AllocSummary)
		})
	}
}

func TestReadPprofMappings(t *testing.T) {
	p := &profile.Profile{Mapping: []*profile.Mapping{
		{ID: 1}, // a profiler that knows no mappings
		{ID: 2, Start: 0x1000, Limit: 0x3000, Offset: 0x2000, File: `C:\dir\app.exe`, BuildID: "abc"},
		{ID: 3, Start: 0x10000, Limit: 0x11000, File: "a"},
		{ID: 4, Start: 0x14000, Limit: 0x15000, Offset: 0x4000, File: "a"}, // the second executable segment
		{ID: 5, Start: 0x18000, Limit: 0x19000, Offset: 0x4000, File: "a"}, // at another base
		{ID: 6, Start: 0xffffffffff600000, Limit: 0xffffffffff601000, File: "[vsyscall]"},
	}}
	m := new(trace.Model)
	index, err := profileModules(p, m)
	require.NoError(t, err)
	assert.Equal(t, []trace.Module{
		{Name: "app.exe", FullPath: `C:\dir\app.exe`, Base: 0x1000, Size: 0x2000, ImageID: []byte("abc")},
		{Name: "a", FullPath: "a", Base: 0x10000, Size: 0x5000},
		{Name: "a", FullPath: "a", Base: 0x14000, Size: 0x5000},
		{Name: "[vsyscall]", FullPath: "[vsyscall]", Base: 0xffffffffff600000, Size: 0x1000},
	}, m.Modules)
	var got []uint32
	for _, mp := range p.Mapping {
		got = append(got, index[mp])
	}
	assert.Equal(t, []uint32{trace.NoModule, 0, 1, 1, 2, 3}, got)
}

func TestReadPprofErrors(t *testing.T) {
	edit := func(f func(p *profile.Profile)) []byte {
		p := handProfile()
		f(p)
		return encode(t, p)
	}
	zip := func(data []byte) []byte {
		var b bytes.Buffer
		w, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
		require.NoError(t, err)
		_, err = w.Write(data)
		require.NoError(t, err)
		require.NoError(t, w.Close())
		return b.Bytes()
	}
	good := encode(t, handProfile())
	damaged := slices.Clone(good)
	damaged[len(damaged)-6] ^= 1 // in the checksum
	var plain bytes.Buffer
	require.NoError(t, handProfile().WriteUncompressed(&plain))
	tests := []struct {
		name string
		data []byte
		want string
		err  error
	}{
		{"value below zero", edit(func(p *profile.Profile) { p.Sample[1].Value[0] = -3 }), "sample 1: inuse_space is -3", pod.ErrUnsupported},
		{"unknown unit", edit(func(p *profile.Profile) { p.SampleType[3].Unit = "pages" }), `sample type alloc_space: expected a unit of bytes, got "pages"`, pod.ErrUnsupported},
		{"limit below start", edit(func(p *profile.Profile) { p.Mapping[1].Limit = 5 }), "mapping 1: expected a limit at or above the start 0x7f0000028000, got 0x5", pod.ErrCorrupt},
		{"scaled value over 64 bits", edit(func(p *profile.Profile) { p.Sample[0].Value[0] = 1 << 60 }), "sample 0: too large: the sum of value 0", pod.ErrTooLarge},
		{"sum over 64 bits", edit(func(p *profile.Profile) {
			for _, s := range p.Sample {
				s.Value[1] = 1<<63 - 1
			}
		}), "the sum of all samples", pod.ErrTooLarge},
		{"truncated gzip", good[:len(good)/2], "the stream ends early", pod.ErrTruncated},
		{"gzip checksum", damaged, "gzip", pod.ErrCorrupt},
		{"deflate", append(slices.Clone(good[:10]), 0xff, 0xff, 0xff), "gzip", pod.ErrCorrupt},
		{"gzip header only", []byte{0x1f, 0x8b}, "gzip", pod.ErrCorrupt},
		{"gzip of something else", zip([]byte("hello, world")), "offset 0x", pod.ErrCorrupt},
		{"gzip in gzip", zip(good), "a gzip stream inside", pod.ErrUnsupported},
		{"truncated protobuf", plain.Bytes()[:plain.Len()/2], "expected a field of a profile message", pod.ErrCorrupt},
		{"bomb", zip(make([]byte, maxProfileBytes+1)), "unpack to more than", pod.ErrTooLarge},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if testing.Short() && tt.name == "bomb" {
				t.Skip("takes a few hundred megabytes")
			}
			path := writeFile(t, "in.pb.gz", tt.data)
			_, err := ReadFile(path)
			require.ErrorIs(t, err, tt.err)
			assert.ErrorContains(t, err, path+": pprof: ")
			assert.ErrorContains(t, err, tt.want)
		})
	}
}

// A file may unpack to 256 MiB, and a large one to 32 times its size.
func TestUnpackLimit(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a few hundred megabytes")
	}
	const unpacked = maxProfileBytes + 1<<20
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	require.NoError(t, err)
	zeros := make([]byte, 1<<20)
	for range unpacked / len(zeros) {
		_, err := w.Write(zeros)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	// The file is said to be larger than its gzip stream is.
	raw, err := unpackProfile(bytes.NewReader(b.Bytes()), unpacked/32)
	require.NoError(t, err)
	assert.Len(t, raw, unpacked)
	_, err = unpackProfile(bytes.NewReader(b.Bytes()), unpacked/32-1)
	require.ErrorIs(t, err, pod.ErrTooLarge)
}

// The buffer is made in one piece where the file says how large it has to be, and
// a file that lies gets no more than deflate could make of it.
func TestUnpackedSize(t *testing.T) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(make([]byte, 12345))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	packed := b.Bytes()
	assert.EqualValues(t, 12345, unpackedSize(bytes.NewReader(packed), int64(len(packed))))
	copy(packed[len(packed)-4:], "\xff\xff\xff\xff")
	assert.EqualValues(t, 1032*len(packed), unpackedSize(bytes.NewReader(packed), int64(len(packed))))
	assert.Zero(t, unpackedSize(bytes.NewReader(packed[:2]), 2))
}

// Text profiles of Go tell of no mappings.
func TestTextProfile(t *testing.T) {
	for _, name := range []string{"heap", "goroutine", "mutex", "allocs"} {
		var b bytes.Buffer
		require.NoError(t, pprof.Lookup(name).WriteTo(&b, 1))
		m, err := Build(t.Context(), []Input{{Path: writeFile(t, name+".txt", b.Bytes())}})
		require.NoError(t, err, name)
		assert.Empty(t, m.Modules, name)
		for _, c := range m.Callstacks {
			for _, f := range c.Frames {
				assert.EqualValues(t, uint32(trace.NoModule), f.ModuleIndex, name)
			}
		}
		if name == "goroutine" {
			assert.NotEmpty(t, m.Callstacks)
		}
	}
}

// A message of two bytes becomes a sample of a hundred and more, and so do other
// short fields.
func TestProfileCost(t *testing.T) {
	for name, tt := range map[string]struct {
		field []byte
		least uint64 // bytes that the parser's value for it takes
	}{
		"sample":      {[]byte{protoSample<<3 | wireBytes, 0}, 100},
		"sample type": {[]byte{protoType<<3 | wireBytes, 0}, 48},
		"comment":     {[]byte{13<<3 | wireVarint, 1}, 8},
		"comments":    {[]byte{13<<3 | wireBytes, 2, 1, 1}, 16},
	} {
		raw := bytes.Repeat(tt.field, 1000)
		cost, err := profileCost(raw)
		require.NoError(t, err)
		assert.GreaterOrEqual(t, cost, 1000*tt.least, name)
		n := (maxProfileCost+maxCostRatio*20_000)/cost + 1
		_, err = parseProfile(bytes.Repeat(raw, int(n)), 20_000)
		require.ErrorIs(t, err, pod.ErrTooLarge, name)
	}
}

// The text of an older profiler, in which each of many addresses would be looked
// for in each of many mappings.
func TestLegacyCost(t *testing.T) {
	var b bytes.Buffer
	n := 50_000
	fmt.Fprintf(&b, "heap profile: %d: %d [%d: %d] @ heap/1\n", n, n, n, n)
	for i := range n {
		fmt.Fprintf(&b, "1: 1 [1: 1] @ 0x%x\n", 0x1000+i)
	}
	b.WriteString("\nMAPPED_LIBRARIES:\n")
	for i := range n {
		start := 1<<40 + uint64(i)<<12
		fmt.Fprintf(&b, "%x-%x r-xp 00000000 08:01 1 /lib/%d\n", start, start+0x1000, i)
	}
	_, err := ReadFile(writeFile(t, "in.heap", b.Bytes()))
	require.ErrorIs(t, err, pod.ErrTooLarge)
	assert.ErrorContains(t, err, "each address in each mapping")
}

// sumsByStack adds up the values of a profile by the functions of its stacks.
func sumsByStack(p *profile.Profile, column string) map[string]uint64 {
	col := slices.IndexFunc(p.SampleType, func(st *profile.ValueType) bool { return st.Type == column })
	sums := make(map[string]uint64)
	for _, s := range p.Sample {
		if v := s.Value[col]; v != 0 {
			sums[stackName(s.Location, func(l *profile.Location) string {
				if len(l.Line) == 0 {
					return ""
				}
				return l.Line[len(l.Line)-1].Function.Name
			})] += uint64(v)
		}
	}
	return sums
}

func stackName[T any](frames []T, name func(T) string) string {
	var b strings.Builder
	for _, f := range frames {
		b.WriteString(name(f) + ";")
	}
	return b.String()
}

var ballast [][]byte // keeps allocations of the tests alive

//go:noinline
func allocateSome(n int) {
	for range n {
		ballast = append(ballast, make([]byte, 4096))
	}
}

// heapProfile is a heap profile of this test.
func heapProfile(t *testing.T) []byte {
	t.Helper()
	old := runtime.MemProfileRate
	runtime.MemProfileRate = 1
	allocateSome(300)
	runtime.MemProfileRate = old
	runtime.GC()
	var b bytes.Buffer
	require.NoError(t, pprof.WriteHeapProfile(&b))
	return b.Bytes()
}

func TestRealHeapProfile(t *testing.T) {
	data := heapProfile(t)
	want, err := profile.ParseData(data)
	require.NoError(t, err)
	m, err := Build(context.Background(), []Input{{Path: writeFile(t, "heap.pb.gz", data)}})
	require.NoError(t, err)
	require.NotEmpty(t, m.CallstackStats)
	require.NotEmpty(t, m.ChurnStats)

	names := make(map[uint32]string)
	for _, c := range m.Callstacks {
		names[c.ID] = stackName(c.Frames, func(f trace.Frame) string { return floor(m.Symbols, f.Address) })
	}
	live, allocs := make(map[string]uint64), make(map[string]uint64)
	for _, s := range m.CallstackStats {
		live[names[s.CallstackID]] += s.LiveBytes
	}
	for _, s := range m.ChurnStats {
		allocs[names[s.CallstackID]] += s.TotalAllocs
		assert.Equal(t, s.TotalAllocs >= s.ChurnAllocs, true)
	}
	assert.Equal(t, sumsByStack(want, "inuse_space"), live)
	assert.Equal(t, sumsByStack(want, "alloc_objects"), allocs)
	found := slices.ContainsFunc(slices.Collect(maps.Keys(live)), func(stack string) bool {
		return strings.Contains(stack, "convert.allocateSome")
	})
	assert.True(t, found, "the test's own allocations")
}

//go:noinline
func spin(until func() bool) (n int) {
	for !until() {
		for i := range 1000 {
			n += i * n
		}
	}
	return n
}

// cpuProfile is a CPU profile of this test, which spins until there are samples.
func cpuProfile(t *testing.T) []byte {
	t.Helper()
	for try := 1; try <= 5; try++ {
		var b bytes.Buffer
		require.NoError(t, pprof.StartCPUProfile(&b))
		rounds := 0
		spin(func() bool { rounds++; return rounds > try*100_000 })
		pprof.StopCPUProfile()
		if p, err := profile.ParseData(b.Bytes()); err == nil && len(p.Sample) > 0 {
			return b.Bytes()
		}
	}
	t.Skip("the system delivers no profiling signals")
	return nil
}

func TestRealCPUProfile(t *testing.T) {
	data := cpuProfile(t)
	want, err := profile.ParseData(data)
	require.NoError(t, err)
	m, err := Build(context.Background(), []Input{{Path: writeFile(t, "cpu.pb.gz", data)}})
	require.NoError(t, err)
	assert.Empty(t, m.CallstackStats)
	assert.False(t, m.AllocSummary.HasMemoryData)
	assert.Equal(t, uint64(want.TimeNanos/1000), m.TraceStartUs)
	for _, l := range want.Location {
		if n := len(l.Line); n > 0 {
			assert.Equal(t, l.Line[n-1].Function.Name, floor(m.Symbols, l.Address), fmt.Sprintf("%#x", l.Address))
			assert.Empty(t, floor(m.Symbols, l.Address+1), "only the point has a name")
		}
	}
}

// The profile of this test together with its own binary: every sampled address
// has the name of its outermost function, and the code around it too.
func TestProfileWithBinary(t *testing.T) {
	exe, err := os.Executable()
	require.NoError(t, err)
	data := heapProfile(t)
	prof := writeFile(t, "heap.pb.gz", data)
	want, err := profile.ParseData(data)
	require.NoError(t, err)
	if len(want.Mapping) == 0 || want.Mapping[0].File == "" {
		t.Skip("the profile has no mappings on this system")
	}
	for _, inputs := range [][]Input{{{Path: prof}, {Path: exe}}, {{Path: exe}, {Path: prof}}} {
		m, err := Build(context.Background(), inputs)
		require.NoError(t, err)
		require.True(t, slices.IsSortedFunc(m.Symbols, byAddress))
		assert.Equal(t, exe, m.Modules[0].FullPath)
		profiled, err := ReadFile(prof)
		require.NoError(t, err)
		assert.Len(t, m.Modules, len(profiled.Model.Modules), "the binary's module is the mapping's")
		assert.Equal(t, profiled.Model.Callstacks, m.Callstacks)
		n := 0
		for _, l := range want.Location {
			if len(l.Line) > 0 && l.Mapping == want.Mapping[0] {
				n++
				name := l.Line[len(l.Line)-1].Function.Name
				i := sort.Search(len(m.Symbols), func(i int) bool { return m.Symbols[i].Address > l.Address })
				assert.Equal(t, plainName(name), plainName(floor(m.Symbols[max(0, i-40):i], l.Address)), "%#x", l.Address)
			}
		}
		assert.Positive(t, n)
	}
}

// plainName is a Go function's name without what the runtime leaves out: type
// arguments, which it writes "[...]", the calling convention, and the pointer in
// the name of a wrapper around a method, whose frames it does not show.
func plainName(name string) string {
	if open := strings.IndexByte(name, '['); open >= 0 {
		if end := strings.LastIndexByte(name, ']'); end > open {
			name = name[:open] + name[end+1:]
		}
	}
	return strings.NewReplacer("(*", "", ")", "").Replace(strings.TrimSuffix(name, ".abi0"))
}

func TestImageID(t *testing.T) {
	for id, want := range map[string]string{
		"":                                     "",
		"00ff":                                 "\x00\xff",
		"00FF":                                 "\x00\xff",
		"abc":                                  "abc",
		"a-b":                                  "a-b",
		"00112233-4455-6677-8899-AABBCCDDEEFF": "\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff",
	} {
		assert.Equal(t, want, string(imageID(id)), "%q", id)
	}
}
