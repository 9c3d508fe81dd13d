package writer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/tracecache/pod"
	"example.com/tracecache/trace"
	"example.com/tracecache/writer"
)

// fullModel has something in every field and every list, n symbols in no order,
// and strings that are easily spoilt. It is the same on every host.
func fullModel(n int) *trace.Model {
	r := rand.New(rand.NewPCG(5, 6))
	m := &trace.Model{
		FileSize: 1 << 40, TotalEvents: math.MaxUint64, ParseTimeMs: 3, TraceStartUs: 4, TraceEndUs: 5,
		Session: trace.Session{
			Platform: "linux", AppName: "café", ProjectName: "\xff\xfe", CommandLine: "a\nb;c", Branch: "",
			BuildVersion: strings.Repeat("long ", 50_000), Changelist: 7, ConfigurationType: 255, HasSession: true,
		},
		Threads: []trace.Thread{
			{ThreadID: 1, Name: "main", GroupName: "linux", SystemID: math.MaxUint32, SortHint: -1},
			{ThreadID: 2, Name: "main", SortHint: math.MinInt32},
		},
		Channels: []trace.Channel{{Name: "cpu", Enabled: true}, {Name: "gpu", ReadOnly: true}},
		Modules: []trace.Module{
			{Name: "go", FullPath: "/usr/bin/go", Base: 0x400000, Size: 1 << 30, ImageID: []byte{1, 2, 3}},
			{Name: "none", Base: math.MaxUint64},
			{Name: "libc", FullPath: "/lib/libc", Size: 9, ImageID: bytes.Repeat([]byte{0, 0xFF}, 10)},
		},
		EventTypeCounts: []trace.EventTypeCount{{Name: "alloc", Count: math.MaxUint64}},
		ScopeStats:      []trace.ScopeStat{{Name: "tick", MinUs: 1, MaxUs: 2, Count: 3, MeanUs: math.Inf(1), StdDevUs: -0.5}},
		AllocSummary: trace.AllocSummary{
			HasMemoryData: true, PeakTimeUs: 1, LiveAllocations: 2, TotalAllocs: 3, TotalFrees: 4,
			TotalReallocAllocs: 5, TotalReallocFrees: 6, PeakBytes: 7, EndBytes: 8,
		},
		Heaps:     []trace.Heap{{ID: 1, ParentID: 2, Flags: 3, Name: "root heap"}},
		HeapStats: []trace.HeapStat{{HeapID: 1, CurrentBytes: 2, PeakBytes: 3, AllocCount: 4, FreeCount: 5}},
		CallstackStats: []trace.CallstackStat{
			{CallstackID: 1, LiveCount: 2, LiveBytes: 3},
			{CallstackID: 2, ThreadIDs: []uint32{1, 2, 3, 4, 5}},
		},
		ChurnStats: []trace.ChurnStat{{CallstackID: 1, ChurnAllocs: 2, ChurnBytes: 3, TotalAllocs: 4, TotalBytes: 5, MeanDistance: 0.1}},
		Callstacks: []trace.Callstack{
			{ID: 9, Frames: []trace.Frame{{Address: 0x400010, ModuleIndex: 0, Offset: 0x10}, {Address: 1, ModuleIndex: trace.NoModule, Offset: math.MaxUint32}}},
			{ID: 3},
			{ID: 9, Frames: []trace.Frame{{Address: math.MaxUint64}}},
		},
	}
	for i := range n {
		// A sixteenth of the addresses twice and more, and some holes.
		s := trace.Symbol{Address: 0x400000 + 16*uint64(r.IntN(n)), Name: fmt.Sprintf("pkg%d.(*Type).method%d", i%100, i)}
		switch i % 7 {
		case 0:
			s.Name = ""
		case 1:
			s.Name = m.Symbols[r.IntN(i)].Name
		}
		m.Symbols = append(m.Symbols, s)
	}
	return m
}

// want is m as a reader sees it.
func want(m *trace.Model) *trace.Model {
	w := *m
	w.Symbols = slices.Clone(m.Symbols)
	slices.SortStableFunc(w.Symbols, func(a, b trace.Symbol) int {
		switch {
		case a.Address < b.Address:
			return -1
		case a.Address > b.Address:
			return 1
		}
		return 0
	})
	w.CallstackStats = slices.Clone(m.CallstackStats)
	for i := range w.CallstackStats {
		ids := w.CallstackStats[i].ThreadIDs
		w.CallstackStats[i].ThreadIDs = ids[:min(4, len(ids))]
	}
	return &w
}

// write is the file of m.
func write(t testing.TB, m *trace.Model, opts ...writer.Option) []byte {
	t.Helper()
	var out bytes.Buffer
	n, err := writer.Write(&out, m, opts...)
	require.NoError(t, err)
	require.Equal(t, int64(out.Len()), n)
	return out.Bytes()
}

func TestWriteIsReadBack(t *testing.T) {
	small := &trace.Model{Symbols: []trace.Symbol{{Address: 1, Name: "a"}, {Address: 2}}}
	for name, m := range map[string]*trace.Model{"empty": {}, "small": small, "full": fullModel(20_000)} {
		for _, method := range []pod.Method{pod.MethodNone, pod.MethodLZ4, pod.MethodZstd, pod.MethodOodle} {
			t.Run(fmt.Sprintf("%s/%v", name, method), func(t *testing.T) {
				p := parse(t, write(t, m, writer.WithCodec(method), writer.WithBlockSize(1<<16)))
				assert.Equal(t, want(m), p.model)
				if name == "full" {
					assert.Equal(t, byte(method), p.methods[pod.SectionSymbols])
					assert.Equal(t, byte(method), p.methods[pod.SectionStringTable])
				}
			})
		}
	}
}

// The header of an Oodle section names the compressor and the level; those of
// others are 0.
func TestOodleOptions(t *testing.T) {
	m := fullModel(5000)
	for _, test := range []struct {
		want [2]byte
		opts []writer.Option
	}{
		{[2]byte{2, 2}, []writer.Option{writer.WithCodec(pod.MethodOodle)}},
		{[2]byte{2, 4}, []writer.Option{writer.WithCodec(pod.MethodOodle), writer.WithLevel(int(pod.LevelNormal))}},
		{[2]byte{2, 1}, []writer.Option{writer.WithLevel(1), writer.WithOodle(pod.CompressorMermaid)}},
		{[2]byte{1, 2}, []writer.Option{writer.WithOodle(pod.CompressorSelkie)}},
		{[2]byte{1, 3}, []writer.Option{writer.WithCodec(pod.MethodLZ4), writer.WithOodle(pod.CompressorSelkie), writer.WithLevel(3)}},
		{[2]byte{2, 2}, []writer.Option{writer.WithOodle(pod.CompressorSelkie), writer.WithCodec(pod.MethodOodle)}},
		{[2]byte{0, 0}, []writer.Option{writer.WithOodle(pod.CompressorSelkie), writer.WithCodec(pod.MethodLZ4)}},
	} {
		p := parse(t, write(t, m, test.opts...))
		assert.Equal(t, want(m), p.model)
		assert.Equal(t, test.want, p.oodle[pod.SectionSymbols])
		assert.Equal(t, test.want != [2]byte{}, p.methods[pod.SectionSymbols] == 3)
	}
}

func TestModelIsNotChanged(t *testing.T) {
	m := fullModel(1000)
	write(t, m)
	assert.Equal(t, fullModel(1000), m)
}

// TestInterningOrder: metadata, then memory, then symbols by address, each
// string once.
func TestInterningOrder(t *testing.T) {
	m := &trace.Model{
		Session:  trace.Session{Platform: "p", AppName: "a"},
		Threads:  []trace.Thread{{Name: "t", GroupName: "p"}},
		Channels: []trace.Channel{{Name: "c"}},
		Modules:  []trace.Module{{Name: "m", FullPath: "f"}},
		Heaps:    []trace.Heap{{Name: "h"}, {Name: "c"}},
		Symbols:  []trace.Symbol{{Address: 3, Name: "z"}, {Address: 1, Name: "y"}, {Address: 2, Name: "h"}, {Address: 1, Name: "x"}},
	}
	m.EventTypeCounts = []trace.EventTypeCount{{Name: "e"}}
	m.ScopeStats = []trace.ScopeStat{{Name: "s"}}
	p := parse(t, write(t, m))
	assert.Equal(t, []string{"p", "a", "", "t", "c", "m", "f", "e", "s", "h", "y", "x", "z"}, p.strings)
}

func TestDefaults(t *testing.T) {
	p := parse(t, write(t, fullModel(30_000)))
	assert.Equal(t, byte(4), p.methods[0], "LZ4")
	assert.Equal(t, byte(0), p.methods[3], "52 bytes of callstacks do not get smaller")
	assert.Equal(t, byte(18), p.exponents[4])
	assert.Zero(t, p.sourceSize)
	assert.Zero(t, p.sourceMtime)
}

func TestWithSource(t *testing.T) {
	for _, test := range []struct {
		mtime time.Time
		want  int64
	}{
		{time.Time{}, 0},
		{time.Unix(0, 1).In(time.FixedZone("", 3600)), 1},
		{time.Unix(-1, 0), -1e9},
		{time.Unix(0, math.MaxInt64), math.MaxInt64},
		{time.Unix(0, math.MinInt64), math.MinInt64},
	} {
		p := parse(t, write(t, &trace.Model{}, writer.WithSource(1<<40, test.mtime)))
		assert.Equal(t, uint64(1<<40), p.sourceSize)
		assert.Equal(t, test.want, p.sourceMtime)
	}
}

func TestWithSymbols(t *testing.T) {
	m := fullModel(1000)
	p := parse(t, write(t, m, writer.WithSymbols(func(yield func(uint64, string) bool) {
		_ = yield(7, "b") && yield(7, "a") && yield(2, "") && yield(math.MaxUint64, "c") && yield(0, "")
	})))
	assert.Equal(t, []trace.Symbol{{Address: 0}, {Address: 2}, {Address: 7, Name: "b"}, {Address: 7, Name: "a"}, {Address: math.MaxUint64, Name: "c"}}, p.model.Symbols)
}

func TestSymbolsSortedAlready(t *testing.T) {
	m := &trace.Model{Symbols: want(fullModel(5000)).Symbols}
	assert.Equal(t, m.Symbols, parse(t, write(t, m)).model.Symbols)
	slices.Reverse(m.Symbols)
	assert.Equal(t, want(m).Symbols, parse(t, write(t, m)).model.Symbols)
}

// TestSameBytesEverywhere compares the file of a fixed model with what was made
// on amd64. The sums change with the compression libraries' releases and with
// the format; nothing else may change them.
func TestSameBytesEverywhere(t *testing.T) {
	m := fullModel(20_000)
	for _, test := range []struct {
		method pod.Method
		level  int
		want   uint32
	}{
		{pod.MethodNone, 0, 0x0978637a},
		{pod.MethodLZ4, 0, 0x2b8236df},
		{pod.MethodLZ4, 9, 0xad7f3b9b},
		{pod.MethodZstd, 1, 0x4f3d6f6f},
		{pod.MethodZstd, 0, 0x6cc3bd4d},
		{pod.MethodZstd, 7, 0xce483851},
		{pod.MethodZstd, 19, 0x4a5e2ef8},
	} {
		for _, workers := range []int{1, 2, 8} {
			file := write(t, m, writer.WithCodec(test.method), writer.WithLevel(test.level), writer.WithWorkers(workers))
			sum := crc32.ChecksumIEEE(file)
			assert.Equal(t, test.want, sum, "%v level %d, %d workers: %#08x", test.method, test.level, workers, sum)
		}
	}
}

func TestWithProgress(t *testing.T) {
	m := fullModel(20_000)
	for _, method := range []pod.Method{pod.MethodNone, pod.MethodLZ4, pod.MethodZstd, pod.MethodOodle} {
		var last, calls, total int64
		file := write(t, m, writer.WithCodec(method), writer.WithWorkers(4), writer.WithProgress(func(done, all int64) {
			assert.Greater(t, done, last)
			last, total = done, all
			calls++
		}))
		var raw int64
		for _, section := range parse(t, file).raw {
			raw += int64(len(section))
		}
		assert.Equal(t, raw, total)
		assert.Equal(t, total, last)
		assert.Greater(t, calls, int64(5))
	}
}

func TestOptionsRefused(t *testing.T) {
	var noContext context.Context
	for want, opt := range map[string]writer.Option{
		"option WithOodle: unsupported: oodle compressor: expected Selkie or Mermaid, got Kraken":        writer.WithOodle(pod.CompressorKraken),
		"option WithCodec: unsupported: compression method(9)":                                           writer.WithCodec(9),
		"option WithLevel: compression level: expected 0 to 9 for lz4, got 10":                           writer.WithLevel(10),
		"option WithLevel: compression level: expected 0 to 9 for lz4, got -1":                           writer.WithLevel(-1),
		"option WithBlockSize: expected a power of two from 1024 to 1073741824, got 0":                   writer.WithBlockSize(0),
		"option WithBlockSize: expected a power of two from 1024 to 1073741824, got 512":                 writer.WithBlockSize(512),
		"option WithBlockSize: expected a power of two from 1024 to 1073741824, got 3072":                writer.WithBlockSize(3072),
		"option WithBlockSize: expected a power of two from 1024 to 1073741824, got -1024":               writer.WithBlockSize(-1024),
		"option WithWorkers: expected at least 1, got 0":                                                 writer.WithWorkers(0),
		"option WithContext: expected a context, got nil":                                                writer.WithContext(noContext),
		"option WithSymbols: expected a sequence, got nil":                                               writer.WithSymbols(nil),
		"option WithSource: expected a size of at least 0, got -1":                                       writer.WithSource(-1, time.Time{}),
		"option WithSource: expected a time within 292 years of 1970, got 3000-01-01 00:00:00 +0000 UTC": writer.WithSource(1, time.Date(3000, 1, 1, 0, 0, 0, 0, time.UTC)),
	} {
		var out bytes.Buffer
		n, err := writer.Write(&out, &trace.Model{}, opt)
		assert.EqualError(t, err, "write cache: "+want)
		assert.Zero(t, n)
		assert.Zero(t, out.Len())
	}
	_, err := writer.Write(&bytes.Buffer{}, &trace.Model{}, writer.WithCodec(pod.MethodZstd), writer.WithLevel(23))
	assert.EqualError(t, err, "write cache: option WithLevel: compression level: expected 0 to 22 for zstd, got 23")
	_, err = writer.Write(&bytes.Buffer{}, &trace.Model{}, writer.WithCodec(pod.MethodOodle), writer.WithLevel(5))
	assert.EqualError(t, err, "write cache: option WithLevel: compression level: expected 0 to 4 for oodle, got 5")
	_, err = writer.Write(&bytes.Buffer{}, &trace.Model{}, writer.WithBlockSize(1<<19), writer.WithCodec(pod.MethodOodle))
	assert.EqualError(t, err, "write cache: option WithBlockSize: block size exponent: expected 10 to 18, got 19")
	_, err = writer.Write(&bytes.Buffer{}, nil)
	assert.EqualError(t, err, "write cache: expected a model, got nil")
}

// TestNUL has a NUL in each string of a model in turn.
func TestNUL(t *testing.T) {
	const bad = "a\x00b"
	for want, spoil := range map[string]func(*trace.Model){
		"session.platform":        func(m *trace.Model) { m.Session.Platform = bad },
		"session.appName":         func(m *trace.Model) { m.Session.AppName = bad },
		"session.projectName":     func(m *trace.Model) { m.Session.ProjectName = bad },
		"session.commandLine":     func(m *trace.Model) { m.Session.CommandLine = bad },
		"session.branch":          func(m *trace.Model) { m.Session.Branch = bad },
		"session.buildVersion":    func(m *trace.Model) { m.Session.BuildVersion = bad },
		"threads[1].name":         func(m *trace.Model) { m.Threads[1].Name = bad },
		"threads[0].groupName":    func(m *trace.Model) { m.Threads[0].GroupName = bad },
		"channels[1].name":        func(m *trace.Model) { m.Channels[1].Name = bad },
		"modules[0].name":         func(m *trace.Model) { m.Modules[0].Name = bad },
		"modules[2].fullPath":     func(m *trace.Model) { m.Modules[2].FullPath = bad },
		"eventTypeCounts[0].name": func(m *trace.Model) { m.EventTypeCounts[0].Name = bad },
		"scopeStats[0].name":      func(m *trace.Model) { m.ScopeStats[0].Name = bad },
		"heaps[0].name":           func(m *trace.Model) { m.Heaps[0].Name = bad },
		"symbol 0x401000: name":   func(m *trace.Model) { m.Symbols[50] = trace.Symbol{Address: 0x401000, Name: bad} },
	} {
		m := fullModel(100)
		spoil(m)
		var out bytes.Buffer
		_, err := writer.Write(&out, m)
		require.ErrorIs(t, err, writer.ErrNUL)
		assert.EqualError(t, err, fmt.Sprintf(`write cache: %s "a\x00b" contains a NUL byte`, want))
		assert.Zero(t, out.Len())

		cut := fullModel(100)
		spoil(cut)
		got := parse(t, write(t, cut, writer.WithCutAtNUL()))
		assert.Contains(t, got.strings, "a")
	}
	m := &trace.Model{Session: trace.Session{AppName: strings.Repeat("x", 1000) + "\x00" + strings.Repeat("y", 1000)}}
	_, err := writer.Write(&bytes.Buffer{}, m)
	assert.Less(t, len(err.Error()), 200, "a long string is cut in messages")
}

func TestCutAtNULKeepsTheRest(t *testing.T) {
	m := &trace.Model{Symbols: []trace.Symbol{{Address: 1, Name: "a\x00b"}, {Address: 2, Name: "a"}, {Address: 3, Name: "\x00"}}}
	p := parse(t, write(t, m, writer.WithCutAtNUL()))
	assert.Equal(t, []trace.Symbol{{Address: 1, Name: "a"}, {Address: 2, Name: "a"}, {Address: 3}}, p.model.Symbols)
	assert.Equal(t, []string{"", "a"}, p.strings)
}

func TestFrameOffsetTooLarge(t *testing.T) {
	m := fullModel(1)
	m.Callstacks[0].Frames[1].Offset = 1 << 32
	_, err := writer.Write(&bytes.Buffer{}, m)
	require.ErrorIs(t, err, pod.ErrTooLarge)
	assert.EqualError(t, err, "write cache: too large: callstack 9: frame 1: offset: expected at most 0xffffffff, got 0x100000000")
}

// limitedWriter has room for a few bytes.
type limitedWriter struct{ room int }

var errFull = errors.New("disk full")

func (l *limitedWriter) Write(p []byte) (int, error) {
	n := min(len(p), l.room)
	l.room -= n
	if n < len(p) {
		return n, errFull
	}
	return n, nil
}

func TestWriteToFullWriter(t *testing.T) {
	m := fullModel(1000)
	size := len(write(t, m))
	for _, room := range []int{0, 1, 143, 144, 1000, size - 1} {
		n, err := writer.Write(&limitedWriter{room}, m)
		require.ErrorIs(t, err, errFull)
		assert.Equal(t, int64(room), n)
	}
	n, err := writer.Write(&limitedWriter{size}, m)
	require.NoError(t, err)
	assert.Equal(t, int64(size), n)
}

// stuckWriter takes nothing and says nothing.
type stuckWriter struct{}

func (stuckWriter) Write([]byte) (int, error) { return 0, nil }

func TestWriteToStuckWriter(t *testing.T) {
	for _, size := range []int{0, 1 << 20} { // Less and more than what is buffered.
		m := &trace.Model{Session: trace.Session{AppName: strings.Repeat("x", size)}}
		_, err := writer.Write(stuckWriter{}, m, writer.WithCodec(pod.MethodNone))
		require.ErrorIs(t, err, io.ErrShortWrite)
	}
}

func TestCancelled(t *testing.T) {
	m := fullModel(100_000)
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	var out bytes.Buffer
	_, err := writer.Write(&out, m, writer.WithContext(ctx), writer.WithWorkers(1), writer.WithProgress(func(int64, int64) {
		calls++
		cancel()
	}))
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, 1, calls)
	assert.Zero(t, out.Len())

	_, err = writer.Write(&out, m, writer.WithContext(ctx))
	require.ErrorIs(t, err, context.Canceled)
	n := 0
	_, err = writer.Write(&out, m, writer.WithContext(ctx), writer.WithSymbols(func(yield func(uint64, string) bool) {
		for yield(1, "endless") {
			n++
		}
	}))
	require.ErrorIs(t, err, context.Canceled)
	assert.Less(t, n, 1<<17)
}
