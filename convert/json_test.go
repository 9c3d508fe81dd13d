package convert

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/tracecache/pod"
	"example.com/tracecache/trace"
)

// modelJSON is every key of the model, written by hand. Its model is fullModel.
const modelJSON = `{"fileSize":18446744073709551615,
"totalEvents":9007199254740993,
"parseTimeMs":3,
"traceStartUs":4,
"traceEndUs":5,
"session":{"platform":"Linux","appName":"a<b>&c","projectName":"\"q\" \\ \u0000\u001f\n\r\t","commandLine":"","branch":"größe 日本","buildVersion":{"base64":"/wBB"},"changelist":4294967295,"configurationType":255,"hasSession":true},
"threads":[
{"threadId":1,"name":"main","groupName":"g","systemId":4294967295,"sortHint":-2147483648},
{"threadId":0,"name":"","groupName":"","systemId":0,"sortHint":2147483647}],
"channels":[
{"name":"cpu","enabled":true,"readOnly":false}],
"modules":[
{"name":"go","fullPath":"/bin/go","base":"0x400000","size":1,"imageId":"00ff"},
{"name":"none","fullPath":"","base":"0xffffffffffffffff","size":0,"imageId":""}],
"eventTypeCounts":[
{"name":"alloc","count":7}],
"scopeStats":[
{"name":"inf","minUs":1,"maxUs":2,"count":3,"meanUs":"+Inf","stdDevUs":"-Inf"},
{"name":"nan","minUs":0,"maxUs":0,"count":0,"meanUs":"NaN","stdDevUs":"NaN:0xfff0000000000002"},
{"name":"zero","minUs":0,"maxUs":0,"count":0,"meanUs":-0,"stdDevUs":0.1},
{"name":"edge","minUs":0,"maxUs":0,"count":0,"meanUs":5e-324,"stdDevUs":1.7976931348623157e+308}],
"allocSummary":{"hasMemoryData":true,"peakTimeUs":1,"liveAllocations":2,"totalAllocs":3,"totalFrees":4,"totalReallocAllocs":5,"totalReallocFrees":6,"peakBytes":7,"endBytes":8},
"heaps":[
{"id":1,"parentId":2,"flags":3,"name":"heap"}],
"heapStats":[
{"heapId":1,"currentBytes":2,"peakBytes":3,"allocCount":4,"freeCount":5}],
"callstackStats":[
{"callstackId":1,"liveCount":2,"liveBytes":3,"threadIds":[1,4294967295]},
{"callstackId":2,"liveCount":0,"liveBytes":0,"threadIds":[]}],
"churnStats":[
{"callstackId":1,"churnAllocs":2,"churnBytes":3,"totalAllocs":4,"totalBytes":5,"meanDistance":0.5}],
"callstacks":[
{"id":9,"frames":[{"address":"0x401000","moduleIndex":0,"offset":4096},{"address":"0x0","moduleIndex":4294967295,"offset":0}]},
{"id":3,"frames":[]}],
"symbols":[
{"address":"0x402000","name":"second"},
{"address":"0x401000","name":"first"},
{"address":"0x401000","name":{"base64":"7aCA"}},
{"address":"0x401010","name":""}]}
`

func fullModel() *trace.Model {
	return &trace.Model{
		FileSize: math.MaxUint64, TotalEvents: 1<<53 + 1, ParseTimeMs: 3, TraceStartUs: 4, TraceEndUs: 5,
		Session: trace.Session{
			Platform: "Linux", AppName: "a<b>&c", ProjectName: "\"q\" \\ \x00\x1f\n\r\t", Branch: "größe 日本",
			BuildVersion: "\xff\x00A", Changelist: math.MaxUint32, ConfigurationType: 255, HasSession: true,
		},
		Threads: []trace.Thread{
			{ThreadID: 1, Name: "main", GroupName: "g", SystemID: math.MaxUint32, SortHint: math.MinInt32},
			{SortHint: math.MaxInt32},
		},
		Channels: []trace.Channel{{Name: "cpu", Enabled: true}},
		Modules: []trace.Module{
			{Name: "go", FullPath: "/bin/go", Base: 0x400000, Size: 1, ImageID: []byte{0, 0xff}},
			{Name: "none", Base: math.MaxUint64},
		},
		EventTypeCounts: []trace.EventTypeCount{{Name: "alloc", Count: 7}},
		ScopeStats: []trace.ScopeStat{
			{Name: "inf", MinUs: 1, MaxUs: 2, Count: 3, MeanUs: math.Inf(1), StdDevUs: math.Inf(-1)},
			{Name: "nan", MeanUs: math.NaN(), StdDevUs: math.Float64frombits(0xfff0000000000002)},
			{Name: "zero", MeanUs: math.Copysign(0, -1), StdDevUs: 0.1},
			{Name: "edge", MeanUs: 5e-324, StdDevUs: math.MaxFloat64},
		},
		AllocSummary: trace.AllocSummary{
			HasMemoryData: true, PeakTimeUs: 1, LiveAllocations: 2, TotalAllocs: 3, TotalFrees: 4,
			TotalReallocAllocs: 5, TotalReallocFrees: 6, PeakBytes: 7, EndBytes: 8,
		},
		Heaps:     []trace.Heap{{ID: 1, ParentID: 2, Flags: 3, Name: "heap"}},
		HeapStats: []trace.HeapStat{{HeapID: 1, CurrentBytes: 2, PeakBytes: 3, AllocCount: 4, FreeCount: 5}},
		CallstackStats: []trace.CallstackStat{
			{CallstackID: 1, LiveCount: 2, LiveBytes: 3, ThreadIDs: []uint32{1, math.MaxUint32}},
			{CallstackID: 2},
		},
		ChurnStats: []trace.ChurnStat{{CallstackID: 1, ChurnAllocs: 2, ChurnBytes: 3, TotalAllocs: 4, TotalBytes: 5, MeanDistance: 0.5}},
		Callstacks: []trace.Callstack{
			{ID: 9, Frames: []trace.Frame{{Address: 0x401000, Offset: 0x1000}, {ModuleIndex: trace.NoModule}}},
			{ID: 3},
		},
		Symbols: []trace.Symbol{
			{Address: 0x402000, Name: "second"}, {Address: 0x401000, Name: "first"},
			{Address: 0x401000, Name: "\xed\xa0\x80"}, {Address: 0x401010},
		},
	}
}

// bitsOf replaces the floats of a model by their bits, since a NaN does not equal
// itself.
func bitsOf(m *trace.Model) []uint64 {
	var bits []uint64
	for i := range m.ScopeStats {
		s := &m.ScopeStats[i]
		bits = append(bits, math.Float64bits(s.MeanUs), math.Float64bits(s.StdDevUs))
		s.MeanUs, s.StdDevUs = 0, 0
	}
	return bits
}

func requireSameModel(t *testing.T, want, got *trace.Model) {
	t.Helper()
	require.Equal(t, bitsOf(want), bitsOf(got))
	require.Equal(t, want, got)
}

func TestWriteJSON(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, WriteJSON(&b, fullModel()))
	assert.Equal(t, modelJSON, b.String())
	assert.True(t, json.Valid(b.Bytes()))
}

func TestReadJSON(t *testing.T) {
	got, err := ReadJSON(iotest.OneByteReader(strings.NewReader(modelJSON)))
	require.NoError(t, err)
	requireSameModel(t, fullModel(), got)
}

func TestWriteJSONEmptyModel(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, WriteJSON(&b, new(trace.Model)))
	var got map[string]any
	require.NoError(t, json.Unmarshal(b.Bytes(), &got))
	for _, key := range []string{
		"threads", "channels", "modules", "eventTypeCounts", "scopeStats", "heaps", "heapStats",
		"callstackStats", "churnStats", "callstacks", "symbols",
	} {
		assert.Equal(t, []any{}, got[key], key)
	}
	assert.Len(t, got, 5+1+5+1+4+2)
}

func TestReadJSONForms(t *testing.T) {
	got, err := ReadJSON(strings.NewReader(" {\t\"symbols\" :\r\n[ { \"name\":\"\\u0041\\ud83d\\ude00\\/\\b\\f\" , \"address\":\"0xAbC\" } ] , \"fileSize\" : 7 } \n"))
	require.NoError(t, err)
	assert.Equal(t, &trace.Model{FileSize: 7, Symbols: []trace.Symbol{{Address: 0xabc, Name: "A😀/\b\f"}}}, got)

	got, err = ReadJSON(strings.NewReader("{}"))
	require.NoError(t, err)
	assert.Equal(t, new(trace.Model), got)
}

func TestReadJSONErrors(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"unknown key", `{"filesize":1}`, `expected one of the keys "fileSize", `},
		{"unknown key in a list", `{"symbols":[{"address":"0x1"},{"adress":"0x1"}]}`, `symbols[1]: corrupt: expected one of the keys "address", "name", got "adress"`},
		{"repeated key", `{"fileSize":1,"fileSize":1}`, `the key "fileSize" comes twice`},
		{"address as a number", `{"symbols":[{},{},{},{"address":1}]}`, "offset 32: symbols[3].address: corrupt: expected a string, got '1'"},
		{"address without 0x", `{"symbols":[{"address":"401000"}]}`, `symbols[0].address: corrupt: expected an address of 64 bits such as "0x401000", got "401000"`},
		{"address without digits", `{"symbols":[{"address":"0x"}]}`, `symbols[0].address`},
		{"address of 65 bits", `{"symbols":[{"address":"0x10000000000000000"}]}`, `symbols[0].address`},
		{"address with a sign", `{"symbols":[{"address":"0x-1"}]}`, `symbols[0].address`},
		{"u64 out of range", `{"fileSize":18446744073709551616}`, "fileSize: corrupt: expected an integer from 0 to 18446744073709551615"},
		{"u64 below zero", `{"fileSize":-1}`, "fileSize"},
		{"u64 with a fraction", `{"fileSize":1.0}`, "fileSize"},
		{"u64 with an exponent", `{"fileSize":1e3}`, "fileSize"},
		{"u32 out of range", `{"callstacks":[{"frames":[{"moduleIndex":4294967296}]}]}`, "callstacks[0].frames[0].moduleIndex: corrupt: expected an integer from 0 to 4294967295"},
		{"u8 out of range", `{"session":{"configurationType":256}}`, "session.configurationType: corrupt: expected an integer from 0 to 255"},
		{"i32 out of range", `{"threads":[{"sortHint":2147483648}]}`, "threads[0].sortHint"},
		{"thread id out of range", `{"callstackStats":[{"threadIds":[1,4294967296]}]}`, "callstackStats[0].threadIds[1]"},
		{"float out of range", `{"scopeStats":[{"meanUs":1e999}]}`, "scopeStats[0].meanUs"},
		{"float as another word", `{"scopeStats":[{"meanUs":"inf"}]}`, "scopeStats[0].meanUs"},
		{"NaN bits of a number", `{"scopeStats":[{"meanUs":"NaN:0x0"}]}`, "scopeStats[0].meanUs"},
		{"leading zero", `{"fileSize":01}`, `expected a number, got "01"`},
		{"plus sign", `{"fileSize":+1}`, `expected a number, got "+1"`},
		{"bare point", `{"scopeStats":[{"meanUs":1.}]}`, `expected a number, got "1."`},
		{"endless number", `{"fileSize":` + strings.Repeat("1", 5000) + `}`, "at most 1000 digits"},
		{"odd hex", `{"modules":[{"imageId":"abc"}]}`, "modules[0].imageId: corrupt: expected bytes in hex"},
		{"bool as a number", `{"channels":[{"enabled":1}]}`, "channels[0].enabled: corrupt: expected true or false, got '1'"},
		{"bool misspelt", `{"channels":[{"enabled":trux}]}`, "channels[0].enabled"},
		{"string as null", `{"symbols":[{"name":null}]}`, "symbols[0].name: corrupt: expected a string, got 'n'"},
		{"list as null", `{"symbols":null}`, "symbols: corrupt: expected '[', got 'n'"},
		{"bad base64", `{"symbols":[{"name":{"base64":"@@"}}]}`, "symbols[0].name: corrupt: expected bytes in base64"},
		{"unpadded base64", `{"symbols":[{"name":{"base64":"QQ"}}]}`, "symbols[0].name: corrupt: expected bytes in base64"},
		{"other object for a string", `{"symbols":[{"name":{"hex":"41"}}]}`, `expected the key "base64", got "hex"`},
		{"more keys in a string", `{"symbols":[{"name":{"base64":"QQ==","x":1}}]}`, "expected the end of the object"},
		{"not UTF-8", "{\"symbols\":[{\"name\":\"\xff\"}]}", "symbols[0].name: corrupt: expected a string in UTF-8"},
		{"lone surrogate", `{"symbols":[{"name":"\ud800x"}]}`, `\ud800 alone`},
		{"unknown escape", `{"symbols":[{"name":"\x41"}]}`, "escape sequence"},
		{"bad \\u", `{"symbols":[{"name":"\u00g0"}]}`, "four digits"},
		{"control character", "{\"symbols\":[{\"name\":\"a\nb\"}]}", "escaped"},
		{"trailing comma", `{"symbols":[{},]}`, "symbols[1]: corrupt: expected '{', got ']'"},
		{"missing comma", `{"symbols":[{}{}]}`, "symbols: corrupt: expected ',' or ']', got '{'"},
		{"missing colon", `{"fileSize" 1}`, "expected ':', got '1'"},
		{"trailing garbage", `{} x`, "offset 3: corrupt: expected the end of the input, got 'x'"},
		{"two objects", `{}{}`, "expected the end of the input"},
		{"not an object", `[]`, "offset 0: corrupt: expected '{', got '['"},
		{"deep", `{"symbols":` + strings.Repeat("[", 1<<20), "symbols[0]: corrupt: expected '{', got '['"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, err := ReadJSON(strings.NewReader(tt.in))
			require.ErrorIs(t, err, pod.ErrCorrupt)
			assert.ErrorContains(t, err, tt.want)
			assert.Nil(t, m)
		})
	}
}

// Any proper beginning of a document is truncated, wherever it ends.
func TestReadJSONTruncated(t *testing.T) {
	whole := strings.TrimSpace(modelJSON)
	for n := range len(whole) {
		_, err := ReadJSON(strings.NewReader(whole[:n]))
		require.Error(t, err, n)
		// The end of the input is noticed where a value has to go on; a
		// character cut in two is broken UTF-8 only once the string has ended.
		require.ErrorIs(t, err, pod.ErrTruncated, "%q", whole[max(0, n-20):n])
	}
}

func TestReadJSONMark(t *testing.T) {
	m, err := ReadJSON(strings.NewReader("\ufeff" + modelJSON))
	require.NoError(t, err)
	requireSameModel(t, fullModel(), m)
	_, err = ReadJSON(strings.NewReader("\ufeff{]"))
	assert.ErrorContains(t, err, "offset 4")
	_, err = ReadJSON(strings.NewReader("\ufeff\ufeff{}"))
	require.ErrorIs(t, err, pod.ErrCorrupt, "one mark only")
}

func TestReadJSONFailingReader(t *testing.T) {
	broken := errors.New("broken")
	_, err := ReadJSON(io.MultiReader(strings.NewReader(`{"fileSize":`), iotest.ErrReader(broken)))
	require.ErrorIs(t, err, broken)
	_, err = ReadJSON(io.MultiReader(strings.NewReader(`{}`), iotest.ErrReader(broken)))
	require.ErrorIs(t, err, broken)
}

func TestWriteJSONSection(t *testing.T) {
	want := map[pod.Section][]string{
		pod.SectionMetadata: {"fileSize", "totalEvents", "parseTimeMs", "traceStartUs", "traceEndUs", "session",
			"threads", "channels", "modules", "eventTypeCounts", "scopeStats"},
		pod.SectionMemory:     {"allocSummary", "heaps", "heapStats", "callstackStats", "churnStats"},
		pod.SectionCallstacks: {"callstacks"},
		pod.SectionSymbols:    {"symbols"},
	}
	var whole map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(modelJSON), &whole))
	for section, keys := range want {
		var b bytes.Buffer
		require.NoError(t, WriteJSONSection(&b, fullModel(), section))
		var got map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(b.Bytes(), &got))
		assert.Len(t, got, len(keys))
		for _, k := range keys {
			assert.Equal(t, string(whole[k]), string(got[k]), k)
		}
		_, err := ReadJSON(&b)
		require.NoError(t, err)
	}
	require.ErrorIs(t, WriteJSONSection(io.Discard, fullModel(), pod.SectionStringTable), pod.ErrUnsupported)
}

func TestWriteJSONFailingWriter(t *testing.T) {
	r, w := io.Pipe()
	broken := errors.New("broken")
	r.CloseWithError(broken)
	require.ErrorIs(t, WriteJSON(w, fullModel()), broken)
}

// Writing takes no memory that grows with the model.
func TestWriteJSONStreams(t *testing.T) {
	allocs := func(n int) float64 {
		m := &trace.Model{Symbols: make([]trace.Symbol, n)}
		for i := range m.Symbols {
			m.Symbols[i] = trace.Symbol{Address: uint64(i), Name: "name"}
		}
		return testing.AllocsPerRun(1, func() { _ = WriteJSON(io.Discard, m) })
	}
	assert.InDelta(t, allocs(10), allocs(100_000), 8)
}

func TestReadJSONLongList(t *testing.T) {
	const n = 50_000
	var b strings.Builder
	b.WriteString(`{"symbols":[`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"address":"%#x","name":"f%d"}`, i, i)
	}
	b.WriteString(`]}`)
	m, err := ReadJSON(strings.NewReader(b.String()))
	require.NoError(t, err)
	require.Len(t, m.Symbols, n)
	for i, s := range m.Symbols {
		require.Equal(t, trace.Symbol{Address: uint64(i), Name: fmt.Sprintf("f%d", i)}, s)
	}
}
