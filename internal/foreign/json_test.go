package foreign

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"example.com/tracecache/trace"
)

// printModel is the model as JSON, one record a line.
func printModel(m *trace.Model) string {
	s, a := m.Session, m.AllocSummary
	parts := []string{
		"{" + key("fileSize", num(m.FileSize)),
		key("totalEvents", num(m.TotalEvents)),
		key("parseTimeMs", num(m.ParseTimeMs)),
		key("traceStartUs", num(m.TraceStartUs)),
		key("traceEndUs", num(m.TraceEndUs)),
		"\n" + key("session", object(
			"platform", text(s.Platform), "appName", text(s.AppName), "projectName", text(s.ProjectName),
			"commandLine", text(s.CommandLine), "branch", text(s.Branch), "buildVersion", text(s.BuildVersion),
			"changelist", num(uint64(s.Changelist)), "configurationType", num(uint64(s.ConfigurationType)),
			"hasSession", strconv.FormatBool(s.HasSession))),
		list("threads", m.Threads, func(t trace.Thread) string {
			return object("threadId", num(uint64(t.ThreadID)), "name", text(t.Name), "groupName", text(t.GroupName),
				"systemId", num(uint64(t.SystemID)), "sortHint", strconv.Itoa(int(t.SortHint)))
		}),
		list("channels", m.Channels, func(c trace.Channel) string {
			return object("name", text(c.Name), "enabled", strconv.FormatBool(c.Enabled), "readOnly", strconv.FormatBool(c.ReadOnly))
		}),
		list("modules", m.Modules, func(d trace.Module) string {
			return object("name", text(d.Name), "fullPath", text(d.FullPath), "base", addr(d.Base), "size", num(d.Size),
				"imageId", strconv.Quote(hex.EncodeToString(d.ImageID)))
		}),
		list("eventTypeCounts", m.EventTypeCounts, func(c trace.EventTypeCount) string {
			return object("name", text(c.Name), "count", num(c.Count))
		}),
		list("scopeStats", m.ScopeStats, func(c trace.ScopeStat) string {
			return object("name", text(c.Name), "minUs", num(c.MinUs), "maxUs", num(c.MaxUs), "count", num(c.Count),
				"meanUs", float(c.MeanUs), "stdDevUs", float(c.StdDevUs))
		}),
		"\n" + key("allocSummary", object(
			"hasMemoryData", strconv.FormatBool(a.HasMemoryData), "peakTimeUs", num(a.PeakTimeUs),
			"liveAllocations", num(a.LiveAllocations), "totalAllocs", num(a.TotalAllocs), "totalFrees", num(a.TotalFrees),
			"totalReallocAllocs", num(a.TotalReallocAllocs), "totalReallocFrees", num(a.TotalReallocFrees),
			"peakBytes", num(a.PeakBytes), "endBytes", num(a.EndBytes))),
	}
	parts = append(parts, printMemory(m)...)
	parts = append(parts,
		list("callstacks", m.Callstacks, func(c trace.Callstack) string {
			var fs []string
			for _, f := range c.Frames {
				fs = append(fs, object("address", addr(f.Address), "moduleIndex", num(uint64(f.ModuleIndex)), "offset", num(f.Offset)))
			}
			return object("id", num(uint64(c.ID)), "frames", "["+strings.Join(fs, ",")+"]")
		}),
		list("symbols", m.Symbols, func(s trace.Symbol) string {
			return object("address", addr(s.Address), "name", text(s.Name))
		}))
	return strings.Join(parts, ",") + "}\n"
}

func printMemory(m *trace.Model) []string {
	return []string{
		list("heaps", m.Heaps, func(h trace.Heap) string {
			return object("id", num(uint64(h.ID)), "parentId", num(uint64(h.ParentID)), "flags", num(uint64(h.Flags)), "name", text(h.Name))
		}),
		list("heapStats", m.HeapStats, func(s trace.HeapStat) string {
			return object("heapId", num(uint64(s.HeapID)), "currentBytes", num(s.CurrentBytes), "peakBytes", num(s.PeakBytes),
				"allocCount", num(s.AllocCount), "freeCount", num(s.FreeCount))
		}),
		list("callstackStats", m.CallstackStats, func(s trace.CallstackStat) string {
			var ids []string
			for _, id := range s.ThreadIDs {
				ids = append(ids, num(uint64(id)))
			}
			return object("callstackId", num(uint64(s.CallstackID)), "liveCount", num(s.LiveCount), "liveBytes", num(s.LiveBytes),
				"threadIds", "["+strings.Join(ids, ",")+"]")
		}),
		list("churnStats", m.ChurnStats, func(s trace.ChurnStat) string {
			return object("callstackId", num(uint64(s.CallstackID)), "churnAllocs", num(s.ChurnAllocs), "churnBytes", num(s.ChurnBytes),
				"totalAllocs", num(s.TotalAllocs), "totalBytes", num(s.TotalBytes), "meanDistance", float(s.MeanDistance))
		}),
	}
}

func key(k, v string) string { return `"` + k + `":` + v }

func object(keysAndValues ...string) string {
	var parts []string
	for i := 0; i < len(keysAndValues); i += 2 {
		parts = append(parts, key(keysAndValues[i], keysAndValues[i+1]))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func list[T any](name string, all []T, one func(T) string) string {
	var lines []string
	for _, v := range all {
		lines = append(lines, "\n "+one(v))
	}
	return "\n" + key(name, "["+strings.Join(lines, ",")+"]")
}

func num(v uint64) string  { return strconv.FormatUint(v, 10) }
func addr(v uint64) string { return `"0x` + strconv.FormatUint(v, 16) + `"` }

func float(v float64) string {
	s := strconv.FormatFloat(v, 'g', -1, 64)
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return strconv.Quote(s)
	}
	return s
}

func text(s string) string {
	if !utf8.ValidString(s) {
		return object("base64", strconv.Quote(base64.StdEncoding.EncodeToString([]byte(s))))
	}
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}
