package convert

import (
	"bufio"
	"fmt"
	"io"
	"slices"

	"example.com/tracecache/pod"
	"example.com/tracecache/trace"
)

// WriteJSON writes the model as one JSON object, with every list and in the
// model's order, a record a line.
//
// Addresses are strings such as "0x401000" and image ids are hex; other numbers
// are plain, so a reader needs 64-bit integers. A string that is not UTF-8 is the
// object {"base64":"…"}. A float that JSON has no number for is one of the strings
// "NaN", "+Inf" and "-Inf", or "NaN:0x…" with the bits of a NaN other than
// [math.NaN]. [ReadJSON] gives the same model back.
//
// The errors are those of w. Beside the model it takes
// the memory of its longest string.
func WriteJSON(w io.Writer, m *trace.Model) error {
	return writeJSON(w, m, modelFields)
}

// WriteJSONSection is [WriteJSON] for the keys of one section of a cache: an
// object that ReadJSON reads as a model with that part only. The string table has
// no keys of its own; it and unknown sections are [pod.ErrUnsupported].
func WriteJSONSection(w io.Writer, m *trace.Model, section pod.Section) error {
	fields, ok := sectionFields[section]
	if !ok {
		return fmt.Errorf("%w: the model's JSON has no keys of section %s", pod.ErrUnsupported, section)
	}
	return writeJSON(w, m, fields)
}

func writeJSON(w io.Writer, m *trace.Model, fields []jsonField[trace.Model]) error {
	j := &jsonWriter{w: bufio.NewWriterSize(w, 64<<10)}
	writeObject(j, m, fields)
	j.w.WriteByte('\n')
	return j.w.Flush() // which returns the first error of any write
}

// ReadJSON reads a model as [WriteJSON] writes it, one object and nothing behind
// it; a byte order mark of UTF-8 may come before it. Keys may come in any order; those left out are zero. Unknown and repeated
// keys, values of another type or out of range of their field, and strings that
// are not UTF-8 are errors that say the offset and the path of the value, such as
// symbols[3].address; they match [pod.ErrCorrupt], or [pod.ErrTruncated] where
// the input ends early.
//
// It reads r once and to its end. The memory it takes is that of the model, which
// is at most a multiple of the input.
func ReadJSON(r io.Reader) (*trace.Model, error) {
	j := &jsonReader{in: bufio.NewReaderSize(r, 64<<10)}
	j.skipMark()
	m := new(trace.Model)
	readObject(j, m, modelFields)
	j.end()
	if j.err != nil {
		return nil, j.err
	}
	return m, nil
}

func readJSONPart(r io.ReaderAt, size int64, path string, _ *options) (*Part, error) {
	m, err := ReadJSON(source(r, size))
	if err != nil {
		return nil, err
	}
	return &Part{Path: path, Kind: KindJSON, Model: m}, nil
}

// The keys of the model, section by section.
var (
	sectionFields = map[pod.Section][]jsonField[trace.Model]{
		pod.SectionMetadata:   metadataFields,
		pod.SectionMemory:     memoryFields,
		pod.SectionCallstacks: callstackFields,
		pod.SectionSymbols:    symbolFields,
	}
	modelFields = slices.Concat(metadataFields, memoryFields, callstackFields, symbolFields)
)

var metadataFields = []jsonField[trace.Model]{
	uintField("fileSize", func(m *trace.Model) *uint64 { return &m.FileSize }),
	uintField("totalEvents", func(m *trace.Model) *uint64 { return &m.TotalEvents }),
	uintField("parseTimeMs", func(m *trace.Model) *uint64 { return &m.ParseTimeMs }),
	uintField("traceStartUs", func(m *trace.Model) *uint64 { return &m.TraceStartUs }),
	uintField("traceEndUs", func(m *trace.Model) *uint64 { return &m.TraceEndUs }),
	objectField("session", func(m *trace.Model) *trace.Session { return &m.Session }, []jsonField[trace.Session]{
		stringField("platform", func(s *trace.Session) *string { return &s.Platform }),
		stringField("appName", func(s *trace.Session) *string { return &s.AppName }),
		stringField("projectName", func(s *trace.Session) *string { return &s.ProjectName }),
		stringField("commandLine", func(s *trace.Session) *string { return &s.CommandLine }),
		stringField("branch", func(s *trace.Session) *string { return &s.Branch }),
		stringField("buildVersion", func(s *trace.Session) *string { return &s.BuildVersion }),
		uintField("changelist", func(s *trace.Session) *uint32 { return &s.Changelist }),
		uintField("configurationType", func(s *trace.Session) *uint8 { return &s.ConfigurationType }),
		boolField("hasSession", func(s *trace.Session) *bool { return &s.HasSession }),
	}),
	listField("threads", func(m *trace.Model) *[]trace.Thread { return &m.Threads }, []jsonField[trace.Thread]{
		uintField("threadId", func(t *trace.Thread) *uint32 { return &t.ThreadID }),
		stringField("name", func(t *trace.Thread) *string { return &t.Name }),
		stringField("groupName", func(t *trace.Thread) *string { return &t.GroupName }),
		uintField("systemId", func(t *trace.Thread) *uint32 { return &t.SystemID }),
		int32Field("sortHint", func(t *trace.Thread) *int32 { return &t.SortHint }),
	}),
	listField("channels", func(m *trace.Model) *[]trace.Channel { return &m.Channels }, []jsonField[trace.Channel]{
		stringField("name", func(c *trace.Channel) *string { return &c.Name }),
		boolField("enabled", func(c *trace.Channel) *bool { return &c.Enabled }),
		boolField("readOnly", func(c *trace.Channel) *bool { return &c.ReadOnly }),
	}),
	listField("modules", func(m *trace.Model) *[]trace.Module { return &m.Modules }, []jsonField[trace.Module]{
		stringField("name", func(m *trace.Module) *string { return &m.Name }),
		stringField("fullPath", func(m *trace.Module) *string { return &m.FullPath }),
		addressField("base", func(m *trace.Module) *uint64 { return &m.Base }),
		uintField("size", func(m *trace.Module) *uint64 { return &m.Size }),
		hexField("imageId", func(m *trace.Module) *[]byte { return &m.ImageID }),
	}),
	listField("eventTypeCounts", func(m *trace.Model) *[]trace.EventTypeCount { return &m.EventTypeCounts }, []jsonField[trace.EventTypeCount]{
		stringField("name", func(e *trace.EventTypeCount) *string { return &e.Name }),
		uintField("count", func(e *trace.EventTypeCount) *uint64 { return &e.Count }),
	}),
	listField("scopeStats", func(m *trace.Model) *[]trace.ScopeStat { return &m.ScopeStats }, []jsonField[trace.ScopeStat]{
		stringField("name", func(s *trace.ScopeStat) *string { return &s.Name }),
		uintField("minUs", func(s *trace.ScopeStat) *uint64 { return &s.MinUs }),
		uintField("maxUs", func(s *trace.ScopeStat) *uint64 { return &s.MaxUs }),
		uintField("count", func(s *trace.ScopeStat) *uint64 { return &s.Count }),
		floatField("meanUs", func(s *trace.ScopeStat) *float64 { return &s.MeanUs }),
		floatField("stdDevUs", func(s *trace.ScopeStat) *float64 { return &s.StdDevUs }),
	}),
}

var memoryFields = []jsonField[trace.Model]{
	objectField("allocSummary", func(m *trace.Model) *trace.AllocSummary { return &m.AllocSummary }, []jsonField[trace.AllocSummary]{
		boolField("hasMemoryData", func(a *trace.AllocSummary) *bool { return &a.HasMemoryData }),
		uintField("peakTimeUs", func(a *trace.AllocSummary) *uint64 { return &a.PeakTimeUs }),
		uintField("liveAllocations", func(a *trace.AllocSummary) *uint64 { return &a.LiveAllocations }),
		uintField("totalAllocs", func(a *trace.AllocSummary) *uint64 { return &a.TotalAllocs }),
		uintField("totalFrees", func(a *trace.AllocSummary) *uint64 { return &a.TotalFrees }),
		uintField("totalReallocAllocs", func(a *trace.AllocSummary) *uint64 { return &a.TotalReallocAllocs }),
		uintField("totalReallocFrees", func(a *trace.AllocSummary) *uint64 { return &a.TotalReallocFrees }),
		uintField("peakBytes", func(a *trace.AllocSummary) *uint64 { return &a.PeakBytes }),
		uintField("endBytes", func(a *trace.AllocSummary) *uint64 { return &a.EndBytes }),
	}),
	listField("heaps", func(m *trace.Model) *[]trace.Heap { return &m.Heaps }, []jsonField[trace.Heap]{
		uintField("id", func(h *trace.Heap) *uint32 { return &h.ID }),
		uintField("parentId", func(h *trace.Heap) *uint32 { return &h.ParentID }),
		uintField("flags", func(h *trace.Heap) *uint32 { return &h.Flags }),
		stringField("name", func(h *trace.Heap) *string { return &h.Name }),
	}),
	listField("heapStats", func(m *trace.Model) *[]trace.HeapStat { return &m.HeapStats }, []jsonField[trace.HeapStat]{
		uintField("heapId", func(h *trace.HeapStat) *uint32 { return &h.HeapID }),
		uintField("currentBytes", func(h *trace.HeapStat) *uint64 { return &h.CurrentBytes }),
		uintField("peakBytes", func(h *trace.HeapStat) *uint64 { return &h.PeakBytes }),
		uintField("allocCount", func(h *trace.HeapStat) *uint64 { return &h.AllocCount }),
		uintField("freeCount", func(h *trace.HeapStat) *uint64 { return &h.FreeCount }),
	}),
	listField("callstackStats", func(m *trace.Model) *[]trace.CallstackStat { return &m.CallstackStats }, []jsonField[trace.CallstackStat]{
		uintField("callstackId", func(s *trace.CallstackStat) *uint32 { return &s.CallstackID }),
		uintField("liveCount", func(s *trace.CallstackStat) *uint64 { return &s.LiveCount }),
		uintField("liveBytes", func(s *trace.CallstackStat) *uint64 { return &s.LiveBytes }),
		idsField("threadIds", func(s *trace.CallstackStat) *[]uint32 { return &s.ThreadIDs }),
	}),
	listField("churnStats", func(m *trace.Model) *[]trace.ChurnStat { return &m.ChurnStats }, []jsonField[trace.ChurnStat]{
		uintField("callstackId", func(s *trace.ChurnStat) *uint32 { return &s.CallstackID }),
		uintField("churnAllocs", func(s *trace.ChurnStat) *uint64 { return &s.ChurnAllocs }),
		uintField("churnBytes", func(s *trace.ChurnStat) *uint64 { return &s.ChurnBytes }),
		uintField("totalAllocs", func(s *trace.ChurnStat) *uint64 { return &s.TotalAllocs }),
		uintField("totalBytes", func(s *trace.ChurnStat) *uint64 { return &s.TotalBytes }),
		floatField("meanDistance", func(s *trace.ChurnStat) *float64 { return &s.MeanDistance }),
	}),
}

var callstackFields = []jsonField[trace.Model]{
	listField("callstacks", func(m *trace.Model) *[]trace.Callstack { return &m.Callstacks }, []jsonField[trace.Callstack]{
		uintField("id", func(c *trace.Callstack) *uint32 { return &c.ID }),
		listField("frames", func(c *trace.Callstack) *[]trace.Frame { return &c.Frames }, []jsonField[trace.Frame]{
			addressField("address", func(f *trace.Frame) *uint64 { return &f.Address }),
			uintField("moduleIndex", func(f *trace.Frame) *uint32 { return &f.ModuleIndex }),
			uintField("offset", func(f *trace.Frame) *uint64 { return &f.Offset }),
		}),
	}),
}

var symbolFields = []jsonField[trace.Model]{
	listField("symbols", func(m *trace.Model) *[]trace.Symbol { return &m.Symbols }, []jsonField[trace.Symbol]{
		addressField("address", func(s *trace.Symbol) *uint64 { return &s.Address }),
		stringField("name", func(s *trace.Symbol) *string { return &s.Name }),
	}),
}
