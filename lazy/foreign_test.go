package lazy_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/tracecache/trace"
)

const foreignDir = "../testdata/foreign"

// The expectation beside a file, NAME.json, is read by the plain types below, so
// that it is checked against nothing of this module.

type text string

func (s *text) UnmarshalJSON(b []byte) error {
	var coded struct{ Base64 *string }
	if json.Unmarshal(b, &coded) == nil && coded.Base64 != nil {
		raw, err := base64.StdEncoding.DecodeString(*coded.Base64)
		*s = text(raw)
		return err
	}
	return json.Unmarshal(b, (*string)(s))
}

type address uint64

func (a *address) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	v, err := strconv.ParseUint(strings.TrimPrefix(s, "0x"), 16, 64)
	*a = address(v)
	return err
}

type float float64

func (f *float) UnmarshalJSON(b []byte) error {
	v, err := strconv.ParseFloat(strings.Trim(string(b), `"`), 64)
	*f = float(v)
	return err
}

type imageID []byte

func (id *imageID) UnmarshalJSON(b []byte) error {
	raw, err := hex.DecodeString(strings.Trim(string(b), `"`))
	*id = raw
	return err
}

type wantModel struct {
	FileSize, TotalEvents, ParseTimeMs, TraceStartUs, TraceEndUs uint64

	Session struct {
		Platform, AppName, ProjectName, CommandLine, Branch, BuildVersion text
		Changelist                                                        uint32
		ConfigurationType                                                 uint8
		HasSession                                                        bool
	}
	Threads []struct {
		ThreadID        uint32
		Name, GroupName text
		SystemID        uint32
		SortHint        int32
	}
	Channels []struct {
		Name              text
		Enabled, ReadOnly bool
	}
	Modules []struct {
		Name, FullPath text
		Base           address
		Size           uint64
		ImageID        imageID
	}
	EventTypeCounts []struct {
		Name  text
		Count uint64
	}
	ScopeStats []struct {
		Name                text
		MinUs, MaxUs, Count uint64
		MeanUs, StdDevUs    float
	}
	AllocSummary trace.AllocSummary
	Heaps        []struct {
		ID, ParentID, Flags uint32
		Name                text
	}
	HeapStats      []trace.HeapStat
	CallstackStats []trace.CallstackStat
	ChurnStats     []struct {
		CallstackID                                      uint32
		ChurnAllocs, ChurnBytes, TotalAllocs, TotalBytes uint64
		MeanDistance                                     float
	}
	Callstacks []struct {
		ID     uint32
		Frames []struct {
			Address     address
			ModuleIndex uint32
			Offset      uint64
		}
	}
	Symbols []struct {
		Address address
		Name    text
	}
}

// readWant reads NAME.json.
func readWant(t testing.TB, name string) *trace.Model {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(foreignDir, name+".json"))
	require.NoError(t, err)
	var w wantModel
	require.NoError(t, json.Unmarshal(b, &w))

	m := &trace.Model{
		FileSize: w.FileSize, TotalEvents: w.TotalEvents, ParseTimeMs: w.ParseTimeMs,
		TraceStartUs: w.TraceStartUs, TraceEndUs: w.TraceEndUs,
		AllocSummary: w.AllocSummary, HeapStats: w.HeapStats, CallstackStats: w.CallstackStats,
	}
	s := w.Session
	m.Session = trace.Session{
		Platform: string(s.Platform), AppName: string(s.AppName), ProjectName: string(s.ProjectName),
		CommandLine: string(s.CommandLine), Branch: string(s.Branch), BuildVersion: string(s.BuildVersion),
		Changelist: s.Changelist, ConfigurationType: s.ConfigurationType, HasSession: s.HasSession,
	}
	for _, v := range w.Threads {
		m.Threads = append(m.Threads, trace.Thread{ThreadID: v.ThreadID, Name: string(v.Name), GroupName: string(v.GroupName), SystemID: v.SystemID, SortHint: v.SortHint})
	}
	for _, v := range w.Channels {
		m.Channels = append(m.Channels, trace.Channel{Name: string(v.Name), Enabled: v.Enabled, ReadOnly: v.ReadOnly})
	}
	for _, v := range w.Modules {
		m.Modules = append(m.Modules, trace.Module{Name: string(v.Name), FullPath: string(v.FullPath), Base: uint64(v.Base), Size: v.Size, ImageID: v.ImageID})
	}
	for _, v := range w.EventTypeCounts {
		m.EventTypeCounts = append(m.EventTypeCounts, trace.EventTypeCount{Name: string(v.Name), Count: v.Count})
	}
	for _, v := range w.ScopeStats {
		m.ScopeStats = append(m.ScopeStats, trace.ScopeStat{Name: string(v.Name), MinUs: v.MinUs, MaxUs: v.MaxUs, Count: v.Count, MeanUs: float64(v.MeanUs), StdDevUs: float64(v.StdDevUs)})
	}
	for _, v := range w.Heaps {
		m.Heaps = append(m.Heaps, trace.Heap{ID: v.ID, ParentID: v.ParentID, Flags: v.Flags, Name: string(v.Name)})
	}
	for _, v := range w.ChurnStats {
		m.ChurnStats = append(m.ChurnStats, trace.ChurnStat{CallstackID: v.CallstackID, ChurnAllocs: v.ChurnAllocs, ChurnBytes: v.ChurnBytes, TotalAllocs: v.TotalAllocs, TotalBytes: v.TotalBytes, MeanDistance: float64(v.MeanDistance)})
	}
	for _, v := range w.Callstacks {
		stack := trace.Callstack{ID: v.ID}
		for _, f := range v.Frames {
			stack.Frames = append(stack.Frames, trace.Frame{Address: uint64(f.Address), ModuleIndex: f.ModuleIndex, Offset: f.Offset})
		}
		m.Callstacks = append(m.Callstacks, stack)
	}
	for _, v := range w.Symbols {
		m.Symbols = append(m.Symbols, trace.Symbol{Address: uint64(v.Address), Name: string(v.Name)})
	}
	return m
}

// foreignNames lists the files of the second writer.
func foreignNames(t testing.TB) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(foreignDir, "*.ztac"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	var names []string
	for _, p := range paths {
		names = append(names, strings.TrimSuffix(filepath.Base(p), ".ztac"))
	}
	return names
}

func readForeign(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(foreignDir, name+".ztac"))
	require.NoError(t, err)
	return b
}

// describe renders a model so that equal text means equal content, bit for bit,
// with no difference between an empty list and none.
func describe(m *trace.Model) string {
	var b strings.Builder
	bits := func(f float64) string {
		if math.IsNaN(f) {
			return "NaN"
		}
		return fmt.Sprintf("%#x", math.Float64bits(f))
	}
	fmt.Fprintf(&b, "%d %d %d %d %d\n%+v\n", m.FileSize, m.TotalEvents, m.ParseTimeMs, m.TraceStartUs, m.TraceEndUs, m.Session)
	for _, v := range m.Threads {
		fmt.Fprintf(&b, "thread %+q %d %d\n", []string{v.Name, v.GroupName}, []uint32{v.ThreadID, v.SystemID}, v.SortHint)
	}
	for _, v := range m.Channels {
		fmt.Fprintf(&b, "channel %+q %v %v\n", v.Name, v.Enabled, v.ReadOnly)
	}
	for _, v := range m.Modules {
		fmt.Fprintf(&b, "module %+q %+q %#x %#x %x\n", v.Name, v.FullPath, v.Base, v.Size, v.ImageID)
	}
	for _, v := range m.EventTypeCounts {
		fmt.Fprintf(&b, "event %+q %d\n", v.Name, v.Count)
	}
	for _, v := range m.ScopeStats {
		fmt.Fprintf(&b, "scope %+q %d %d %d %s %s\n", v.Name, v.MinUs, v.MaxUs, v.Count, bits(v.MeanUs), bits(v.StdDevUs))
	}
	fmt.Fprintf(&b, "%+v\n", m.AllocSummary)
	for _, v := range m.Heaps {
		fmt.Fprintf(&b, "heap %d %d %d %+q\n", v.ID, v.ParentID, v.Flags, v.Name)
	}
	for _, v := range m.HeapStats {
		fmt.Fprintf(&b, "heap stat %+v\n", v)
	}
	for _, v := range m.CallstackStats {
		fmt.Fprintf(&b, "callstack stat %d %d %d %v\n", v.CallstackID, v.LiveCount, v.LiveBytes, v.ThreadIDs)
	}
	for _, v := range m.ChurnStats {
		fmt.Fprintf(&b, "churn %d %d %d %d %d %s\n", v.CallstackID, v.ChurnAllocs, v.ChurnBytes, v.TotalAllocs, v.TotalBytes, bits(v.MeanDistance))
	}
	for _, v := range m.Callstacks {
		fmt.Fprintf(&b, "callstack %d %+v\n", v.ID, v.Frames)
	}
	for _, v := range m.Symbols {
		fmt.Fprintf(&b, "symbol %#x %+q\n", v.Address, v.Name)
	}
	return b.String()
}
