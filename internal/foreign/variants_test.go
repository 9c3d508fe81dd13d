package foreign

import (
	"math"
	"slices"
	"strings"

	"example.com/tracecache/trace"
)

// variant is one file of testdata/foreign.
type variant struct {
	name    string
	shows   string       // what the file is there for, one sentence
	want    *trace.Model // what a reader must find in it
	style   style        // packed() unless set
	edit    func(p *payloads)
	packing packing
	each    func(id int, p *packing) // changes the packing of one section
	layout  layout
}

func variants() []variant {
	all := []variant{
		{
			name: "plain", shows: "All five sections filled, LZ4, checksum tables, a source.",
			want: sample(1), packing: packing{method: lz4, sums: true},
			layout: layout{sourceSize: 123_456_789, sourceModNs: 1_700_000_000_123_456_789},
		},
		{
			name: "nosums", shows: "Reserved is 0 everywhere, as the first writers of the format leave it; the source's time is before 1970.",
			want: sample(1), packing: packing{method: lz4},
			layout: layout{sourceSize: 1, sourceModNs: -1},
		},
		{
			name: "none", shows: "Method 0 everywhere, with checksum tables.",
			want: sample(1), packing: packing{sums: true},
		},
		{
			name: "zstd", shows: "Zstandard, one frame a block, several blocks a section.",
			want: sample(2), packing: packing{method: zstdFrames, exp: 10, sums: true},
		},
		{
			name: "hash20", shows: "20 bytes of RawHash, the last 12 zero.",
			want: sample(1), packing: packing{method: lz4, hash20: true},
		},
		{
			name: "blocks", shows: "Several blocks a section, of another size in each.",
			want: sample(8), packing: packing{method: lz4, sums: true},
			each: func(id int, p *packing) { p.exp = []int{12, 10, 11, 10, 12}[id] },
		},
		{
			name: "mixed", shows: "The second block of each section stored raw among compressed ones.",
			want: sample(2), packing: packing{method: lz4, exp: 10, sums: true, raw: func(i int) bool { return i == 1 }},
		},
		{
			name: "gaps", shows: "Sections in another order in the file, noise between and behind them, odd offsets, a table for some.",
			want: sample(1), packing: packing{method: lz4},
			each:   func(id int, p *packing) { p.sums = id%2 == 0 },
			layout: layout{order: []int{3, 4, 1, 0, 2}, gap: 7},
		},
		{
			name: "empty", shows: "No record in any list and no string in the table, so that every string is empty.",
			want: &trace.Model{}, style: style{truth: 1, intern: func(string) uint32 { return 0 }, table: new(stringTable).payload},
			packing: packing{sums: true},
		},
		{
			name: "trailing", shows: "Bytes behind the last list of each section.",
			want: sample(1), packing: packing{method: lz4, sums: true},
			edit: func(p *payloads) {
				for id := range p {
					p[id] = append(p[id], noise(3+id, 7)...)
				}
			},
		},
		{
			name: "padding", shows: "Padding that is not zero, flags of 0xff.",
			want: sample(1), style: loose(), packing: packing{method: lz4},
		},
		{
			name: "sumzero", shows: "A checksum table whose own sum is 0, so that 1 is stored (Memory).",
			want: sumZero(), packing: packing{sums: true},
		},
		noiseOf(oodle, "oodle", "Callstacks of method 3 with noise for blocks: damaged. NAME.json leaves the section out."),
		noiseOf(unknown, "unknown", "Callstacks of method 77, which there is not: not supported. NAME.json leaves the section out."),
	}
	return append(all, contents()...)
}

// noiseOf is a file whose callstacks nobody can decode.
func noiseOf(method byte, name, shows string) variant {
	return variant{
		name: name, shows: shows,
		want: without(sample(1), func(m *trace.Model) { m.Callstacks = nil }), packing: packing{method: lz4},
		edit: func(p *payloads) { p[3] = callstacks(sample(1)) },
		each: func(id int, p *packing) {
			if id == 3 {
				p.method = method
			}
		},
	}
}

// contents are the variants that differ in what they hold.
func contents() []variant {
	return []variant{
		{
			name: "unsorted", shows: "Symbols in no order: an alias and a hole away from their like, the first name of an address wins.",
			want: &trace.Model{
				Modules: []trace.Module{{Name: "m", Base: 0x1000, Size: 0x1000}},
				Symbols: []trace.Symbol{
					{Address: 0x1800, Name: "eight"}, {Address: 0x1100, Name: "one"}, {Address: 0x1f00},
					{Address: 0x1400}, {Address: 0x1400, Name: "four"}, {Address: 0x1000, Name: "zero"},
					{Address: 0x1100, Name: "one again"}, {Address: 0x1810}, {Address: math.MaxUint64, Name: "last"},
					{Address: 0x1400, Name: "four again"}, {Address: 0, Name: "null"}, {Address: 0x1800, Name: "eight"},
				},
			},
			packing: packing{method: lz4, sums: true},
		},
		{
			name: "strings", shows: "A string table that is not packed: shared ends, gaps, offsets out of order, at the end and beyond it, an index beyond the count, no NUL behind the last.",
			want: named(unpackedNames...), style: unpacked(), packing: packing{method: lz4, sums: true},
		},
		{
			name: "names", shows: "Strings that are not UTF-8, or odd: newlines, quotes, a name that looks like JSON, a long one.",
			want: named(oddNames...), packing: packing{method: lz4, sums: true},
		},
		{
			name: "numbers", shows: "The largest and smallest numbers, floats that are not finite.",
			want: extremes(), packing: packing{method: lz4, sums: true},
		},
		{
			name: "modules", shows: "Modules that overlap, have size 0, share a base or reach beyond 2^64; image ids that overlap, with a gap between.",
			want: modules(), style: sharedIDs(), packing: packing{method: lz4, sums: true},
		},
		{
			name: "holes", shows: "Holes and aliases: a hole before, behind and between the names of an address, several holes in a row.",
			want: holes(), packing: packing{method: lz4, sums: true},
		},
		{
			name: "threads", shows: "ThreadIdCount above 4: four are there, whatever it says.",
			want: fourThreads(), packing: packing{method: lz4, sums: true},
			edit: func(p *payloads) {
				// Behind the summary and the two empty lists, 24 bytes into
				// each record: a count of 4 becomes 5, 2^32-1, ….
				for i, n := range []uint32{5, math.MaxUint32, 1 << 31} {
					at := 72 + 4 + 4 + 4 + 48*i + 24
					var e enc
					e.u32(n)
					copy(p[2][at:], e.b)
				}
			},
		},
		{
			name: "callstacks", shows: "Callstacks that share frames, lie out of order, are empty or leave frames unused; one id twice.",
			want: sharedFrames(), packing: packing{method: lz4, sums: true},
			edit: func(p *payloads) { p[3] = sharedFramesPayload() },
		},
	}
}

func without(m *trace.Model, cut func(*trace.Model)) *trace.Model {
	cut(m)
	return m
}

// loose is a writer that leaves noise in its padding and sets all bits of a flag.
func loose() style {
	st := packed()
	st.fill, st.truth = 0xa5, 0xff
	return st
}

// sumZero is the sample with a last MeanDistance that makes the CRC-32C of
// Memory's only block the one whose own CRC-32C is 0.
func sumZero() *trace.Model {
	m := sample(1)
	p := encode(m, packed())[2]
	sum := forge(nil, 0) // the four bytes of the table
	var e enc
	e.b = append(e.b, p[:len(p)-4]...)
	want := uint32(sum[0]) | uint32(sum[1])<<8 | uint32(sum[2])<<16 | uint32(sum[3])<<24
	high := forge(e.b, want) // the last four bytes of the payload
	bits := uint64(0)
	for i, b := range append(slices.Clone(p[len(p)-8:len(p)-4]), high[:]...) {
		bits |= uint64(b) << (8 * i)
	}
	m.ChurnStats[len(m.ChurnStats)-1].MeanDistance = math.Float64frombits(bits)
	return m
}

// forge is the four bytes that, behind prefix, give the CRC-32C want. It runs
// the register backwards: the top byte of a table entry tells which it was.
func forge(prefix []byte, want uint32) (b [4]byte) {
	after := ^want
	for range 4 {
		for i, t := range castagnoli {
			if t>>24 == after>>24 {
				after = (after^t)<<8 | uint32(i)
				break
			}
		}
	}
	before := uint32(0xffffffff)
	for _, c := range prefix {
		before = castagnoli[byte(before)^c] ^ before>>8
	}
	for i := range b {
		b[i] = byte((after ^ before) >> (8 * i))
	}
	return b
}

var unpackedNames = []string{
	"prefix::suffix", "suffix", "fix", "", "last without end", "first", "é",
}

// unpacked is the table of the variant "strings".
func unpacked() style {
	const bytes = "gap" + "prefix::suffix\x00" + "\x00gap\x00" + "é\x00" + "first\x00" + "last without end"
	at := func(s string) uint32 { return uint32(strings.Index(bytes, s)) }
	t := &fixedTable{
		bytes: bytes,
		offsets: []uint32{
			0: at("last"), 1: at("prefix"), 2: at("suffix"), 3: at("suffix") + 3, 4: at("first"), 5: at("é"),
			6: uint32(len(bytes)), 7: math.MaxUint32, 8: at("\x00"), 9: at("suffix"), 10: at("first"),
		},
		indices: map[string][]uint32{
			"prefix::suffix": {1}, "suffix": {2, 9}, "fix": {3}, "last without end": {0}, "first": {10, 4}, "é": {5},
			"": {6, 7, 8, 11, 1 << 31, math.MaxUint32},
		},
	}
	return style{truth: 1, intern: t.intern, table: t.payload}
}

var oddNames = []string{
	"\xff\xfe", "line\nbreak", "tab\tand;semicolon", `quote " and \ backslash`, "<a href='x'>&amp;</a>",
	`{"base64":"AAAA"}`, "\xed\xa0\x80 half of a pair", "\xc0\xaf overlong", "replacement \ufffd is valid",
	"日本語", "\u2028 and \u2029", "\x01\x1b[31m\x7f", " ", "trailing space ", "a\u0301 á", "\xf4\x90\x80\x80 beyond",
	strings.Repeat("std::vector<std::pair<int, ", 120) + "int" + strings.Repeat(">>", 120), "cut off \xe6\x97",
}

func extremes() *trace.Model {
	const u64, u32 = math.MaxUint64, math.MaxUint32
	return &trace.Model{
		FileSize: u64, TotalEvents: u64, ParseTimeMs: u64, TraceStartUs: u64, TraceEndUs: 1<<53 + 1,
		Session: trace.Session{Changelist: u32, ConfigurationType: 255},
		Threads: []trace.Thread{
			{ThreadID: u32, SystemID: u32, SortHint: math.MinInt32}, {SortHint: math.MaxInt32}, {SortHint: -1},
		},
		Modules:         []trace.Module{{Base: 1 << 63, Size: 1 << 62}},
		EventTypeCounts: []trace.EventTypeCount{{Count: u64}, {Count: 1<<53 + 1}},
		ScopeStats: []trace.ScopeStat{
			{MinUs: u64, MaxUs: u64, Count: u64, MeanUs: math.NaN(), StdDevUs: math.Inf(1)},
			{MeanUs: math.Inf(-1), StdDevUs: math.Copysign(0, -1)},
			{MeanUs: math.MaxFloat64, StdDevUs: math.SmallestNonzeroFloat64},
			{MeanUs: 0.1, StdDevUs: 1e21},
		},
		AllocSummary: trace.AllocSummary{
			PeakTimeUs: u64, LiveAllocations: u64, TotalAllocs: u64, TotalFrees: u64,
			TotalReallocAllocs: u64, TotalReallocFrees: u64, PeakBytes: u64, EndBytes: u64,
		},
		Heaps:          []trace.Heap{{ID: u32, ParentID: u32, Flags: u32}},
		HeapStats:      []trace.HeapStat{{HeapID: u32, CurrentBytes: u64, PeakBytes: u64, AllocCount: u64, FreeCount: u64}},
		CallstackStats: []trace.CallstackStat{{CallstackID: u32, LiveCount: u64, LiveBytes: u64, ThreadIDs: []uint32{u32}}},
		ChurnStats: []trace.ChurnStat{
			{CallstackID: u32, ChurnAllocs: u64, ChurnBytes: u64, TotalAllocs: u64, TotalBytes: u64, MeanDistance: math.Inf(1)},
		},
		Callstacks: []trace.Callstack{{ID: u32, Frames: []trace.Frame{{Address: 1<<63 + u32, Offset: u32}}}},
		Symbols:    []trace.Symbol{{Name: "at 0"}, {Address: 1<<63 - 1, Name: "a"}, {Address: 1 << 63, Name: "b"}, {Address: u64, Name: "at the end"}},
	}
}

func modules() *trace.Model {
	return &trace.Model{
		Modules: []trace.Module{
			{Name: "outer", Base: 0x1000, Size: 0x1000, ImageID: []byte("abcdef")},
			{Name: "inner", Base: 0x1400, Size: 0x100, ImageID: []byte("cd")},
			{Name: "open", Base: 0x8000, ImageID: []byte("efgh")},
			{Name: "twin a", Base: 0x3000, Size: 0x100},
			{Name: "twin b", Base: 0x3000, Size: 0x200, ImageID: []byte("z")},
			{Name: "top", Base: 0xffffffffffff0000, Size: 0x20000},
			{Name: "next", Base: 0x9000, Size: 0x10},
		},
		Symbols: []trace.Symbol{
			{Address: 0x800, Name: "below all"}, {Address: 0x1000, Name: "outer start"}, {Address: 0x13f0, Name: "outer, before inner"},
			{Address: 0x1410, Name: "inner"}, {Address: 0x1600, Name: "outer, behind inner"}, {Address: 0x2800, Name: "between"},
			{Address: 0x3080, Name: "twins"}, {Address: 0x3180, Name: "twin b only"}, {Address: 0x8000, Name: "open"},
			{Address: 0x8fff, Name: "open, last byte"}, {Address: 0x9000, Name: "next"}, {Address: 0x9010, Name: "behind next"},
			{Address: 0xffffffffffff8000, Name: "top"},
		},
	}
}

// sharedIDs lays the image ids of modules over one another: "abcdefgh" holds
// three of them, then a gap, then "z".
func sharedIDs() style {
	st := packed()
	st.imageIDs = func([]trace.Module) ([]uint32, []byte) {
		return []uint32{0, 2, 4, 3, 11, 0, 0}, []byte("abcdefgh\x00\x00\x00z")
	}
	return st
}

func holes() *trace.Model {
	return &trace.Model{Symbols: []trace.Symbol{
		{Address: 0x0f00}, {Address: 0x1000, Name: "f"}, {Address: 0x1010},
		{Address: 0x1020}, {Address: 0x1020, Name: "hole first"}, {Address: 0x1030, Name: "hole last"}, {Address: 0x1030},
		{Address: 0x1040}, {Address: 0x1040}, {Address: 0x1050}, {Address: 0x1060, Name: "alias a"}, {Address: 0x1060},
		{Address: 0x1060, Name: "alias b"}, {Address: 0x1060, Name: "alias a"}, {Address: 0x1070, Name: "g"}, {Address: 0x1080},
	}}
}

func fourThreads() *trace.Model {
	m := &trace.Model{}
	for i := range uint32(8) {
		s := trace.CallstackStat{CallstackID: i, LiveCount: 1, LiveBytes: 16, ThreadIDs: []uint32{1 + i, 2, 3, 4}}
		if i >= 4 {
			s.ThreadIDs = s.ThreadIDs[:8-i-1]
		}
		m.CallstackStats = append(m.CallstackStats, s)
	}
	return m
}

// frame lies in the first of two modules, or, above 0x20000, in the second.
func frame(addr uint64) trace.Frame {
	if addr >= 0x20000 {
		return trace.Frame{Address: addr, ModuleIndex: 1, Offset: addr - 0x20000}
	}
	return trace.Frame{Address: addr, ModuleIndex: 0, Offset: addr - 0x10000}
}

func frames(addrs ...uint64) (fs []trace.Frame) {
	for _, a := range addrs {
		fs = append(fs, frame(a))
	}
	return fs
}

func sharedFrames() *trace.Model {
	return &trace.Model{
		Modules: []trace.Module{{Name: "a", Base: 0x10000, Size: 0x10000}, {Name: "b", Base: 0x20000, Size: 0x10000}},
		Callstacks: []trace.Callstack{
			{ID: 9, Frames: frames(0x20010, 0x10020, 0x10030)}, // frames 4 to 6
			{ID: 3, Frames: frames(0x10020, 0x10030)},          // its tail
			{ID: 7},
			{ID: 1, Frames: frames(0x10001, 0x10002)}, // the first two
			{ID: 9, Frames: frames(0x10030)},
			{ID: 0},
			{ID: 2, Frames: frames(0x10002)},
		},
	}
}

func sharedFramesPayload() []byte {
	var e enc
	for _, v := range []uint32{
		7,
		9, 3, 4,
		3, 2, 5,
		7, 0, 7, // empty, at the very end
		1, 2, 0,
		9, 1, 6,
		0, 0, 0,
		2, 1, 1,
	} {
		e.u32(v)
	}
	// Frames 2 and 3 belong to no callstack.
	e.frames(frames(0x10001, 0x10002, 0x1dead, 0x1beef, 0x20010, 0x10020, 0x10030))
	return e.b
}
