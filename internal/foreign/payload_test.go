// Package foreign is a second writer of the cache format and a second reader of
// it, in tests only. Both are written from the format's description alone and
// share no code with the rest of the module, not even its constants, so that a
// mistake made on one side shows on the other; the golden tests alone import the
// module's writer, to compare.
//
// The writer makes the files of testdata/foreign, each with the content that a
// reader must find in it. The reader annotates a file byte by byte; the golden
// dumps of testdata/golden are its work.
package foreign

import (
	"encoding/binary"
	"math"

	"example.com/tracecache/trace"
)

// payloads are the decompressed bytes of the five sections, by section id.
type payloads [5][]byte

// style is what a writer may decide about the bytes of a payload without
// changing what a reader finds in it.
type style struct {
	fill   byte // the value of padding bytes; 0 as the format says, unless set
	truth  byte // the value of a set flag; 1 unless set
	intern func(string) uint32
	table  func() []byte // the string table, after all strings are interned

	// imageIDs lays out the image ids of the modules: where each starts, and
	// the bytes. nil: back to back.
	imageIDs func([]trace.Module) ([]uint32, []byte)
}

// packed is the style that the format describes.
func packed() style {
	var strs stringTable
	return style{truth: 1, intern: strs.intern, table: strs.payload}
}

// encode makes the payloads of a model.
func encode(m *trace.Model, st style) payloads {
	var p payloads
	p[1] = metadata(m, st)
	p[2] = memory(m, st)
	p[3] = callstacks(m)
	p[4] = symbols(m, st)
	p[0] = st.table()
	return p
}

// enc appends little-endian values.
type enc struct {
	style
	b []byte
}

func (e *enc) u8(v uint8)   { e.b = append(e.b, v) }
func (e *enc) u32(v uint32) { e.b = binary.LittleEndian.AppendUint32(e.b, v) }
func (e *enc) u64(v uint64) { e.b = binary.LittleEndian.AppendUint64(e.b, v) }
func (e *enc) f64(v float64) {
	e.b = binary.LittleEndian.AppendUint64(e.b, math.Float64bits(v))
}
func (e *enc) str(s string) { e.u32(e.intern(s)) }
func (e *enc) n(n int)      { e.u32(uint32(n)) }

func (e *enc) flag(v bool) {
	if v {
		e.u8(e.truth)
	} else {
		e.u8(0)
	}
}

func (e *enc) pad(n int) {
	for range n {
		e.u8(e.fill)
	}
}

func metadata(m *trace.Model, st style) []byte {
	e := &enc{style: st}
	e.u64(m.FileSize)
	e.u64(m.TotalEvents)
	e.u64(m.ParseTimeMs)
	e.u64(m.TraceStartUs)
	e.u64(m.TraceEndUs)
	e.str(m.Session.Platform)
	e.str(m.Session.AppName)
	e.str(m.Session.ProjectName)
	e.str(m.Session.CommandLine)
	e.str(m.Session.Branch)
	e.str(m.Session.BuildVersion)
	e.u32(m.Session.Changelist)
	e.u8(m.Session.ConfigurationType)
	e.flag(m.Session.HasSession)
	e.pad(2)

	e.n(len(m.Threads))
	for _, t := range m.Threads {
		e.u32(t.ThreadID)
		e.str(t.Name)
		e.str(t.GroupName)
		e.u32(t.SystemID)
		e.u32(uint32(t.SortHint))
	}
	e.n(len(m.Channels))
	for _, c := range m.Channels {
		e.str(c.Name)
		e.flag(c.Enabled)
		e.flag(c.ReadOnly)
		e.pad(2)
	}
	e.modules(m.Modules)
	e.n(len(m.EventTypeCounts))
	for _, c := range m.EventTypeCounts {
		e.str(c.Name)
		e.pad(4)
		e.u64(c.Count)
	}
	e.n(len(m.ScopeStats))
	for _, s := range m.ScopeStats {
		e.str(s.Name)
		e.pad(4)
		e.u64(s.MinUs)
		e.u64(s.MaxUs)
		e.u64(s.Count)
		e.f64(s.MeanUs)
		e.f64(s.StdDevUs)
	}
	return e.b
}

func (e *enc) modules(mods []trace.Module) {
	lay := e.imageIDs
	if lay == nil {
		lay = backToBack
	}
	offs, blob := lay(mods)
	e.n(len(mods))
	for i, m := range mods {
		e.str(m.Name)
		e.str(m.FullPath)
		e.u64(m.Base)
		e.u64(m.Size)
		e.n(len(m.ImageID))
		e.u32(offs[i])
	}
	e.b = append(e.b, blob...)
}

func backToBack(mods []trace.Module) (offs []uint32, blob []byte) {
	for _, m := range mods {
		offs = append(offs, uint32(len(blob)))
		blob = append(blob, m.ImageID...)
	}
	return offs, blob
}

func memory(m *trace.Model, st style) []byte {
	e := &enc{style: st}
	a := m.AllocSummary
	e.flag(a.HasMemoryData)
	e.pad(7)
	for _, v := range []uint64{
		a.PeakTimeUs, a.LiveAllocations, a.TotalAllocs, a.TotalFrees,
		a.TotalReallocAllocs, a.TotalReallocFrees, a.PeakBytes, a.EndBytes,
	} {
		e.u64(v)
	}
	e.n(len(m.Heaps))
	for _, h := range m.Heaps {
		e.u32(h.ID)
		e.u32(h.ParentID)
		e.u32(h.Flags)
		e.str(h.Name)
	}
	e.n(len(m.HeapStats))
	for _, s := range m.HeapStats {
		e.u32(s.HeapID)
		e.pad(4)
		e.u64(s.CurrentBytes)
		e.u64(s.PeakBytes)
		e.u64(s.AllocCount)
		e.u64(s.FreeCount)
	}
	e.n(len(m.CallstackStats))
	for _, s := range m.CallstackStats {
		e.u32(s.CallstackID)
		e.pad(4)
		e.u64(s.LiveCount)
		e.u64(s.LiveBytes)
		e.n(len(s.ThreadIDs))
		var ids [4]uint32
		copy(ids[:], s.ThreadIDs)
		for _, id := range ids {
			e.u32(id)
		}
		e.pad(4)
	}
	e.n(len(m.ChurnStats))
	for _, s := range m.ChurnStats {
		e.u32(s.CallstackID)
		e.pad(4)
		e.u64(s.ChurnAllocs)
		e.u64(s.ChurnBytes)
		e.u64(s.TotalAllocs)
		e.u64(s.TotalBytes)
		e.f64(s.MeanDistance)
	}
	return e.b
}

func callstacks(m *trace.Model) []byte {
	var e enc
	var frames []trace.Frame
	e.n(len(m.Callstacks))
	for _, c := range m.Callstacks {
		e.u32(c.ID)
		e.n(len(c.Frames))
		e.n(len(frames))
		frames = append(frames, c.Frames...)
	}
	e.frames(frames)
	return e.b
}

func (e *enc) frames(frames []trace.Frame) {
	for _, f := range frames {
		e.u64(f.Address)
		e.u32(f.ModuleIndex)
		e.u32(uint32(f.Offset))
	}
}

func symbols(m *trace.Model, st style) []byte {
	e := &enc{style: st}
	e.n(len(m.Symbols))
	for _, s := range m.Symbols {
		e.u64(s.Address)
		e.str(s.Name)
		e.pad(4)
	}
	return e.b
}

// stringTable packs strings back to back, each once, in the order of their
// first use.
type stringTable struct {
	index map[string]uint32
	strs  []string
}

func (t *stringTable) intern(s string) uint32 {
	if i, ok := t.index[s]; ok {
		return i
	}
	if t.index == nil {
		t.index = map[string]uint32{}
	}
	i := uint32(len(t.strs))
	t.index[s] = i
	t.strs = append(t.strs, s)
	return i
}

func (t *stringTable) payload() []byte {
	var e enc
	var bytes []byte
	e.n(len(t.strs))
	for _, s := range t.strs {
		e.n(len(bytes))
		bytes = append(append(bytes, s...), 0)
	}
	return append(e.b, bytes...)
}

// fixedTable is a string table laid out by hand. Each use of a string takes the
// next of its indices, so that every way to say it occurs.
type fixedTable struct {
	offsets []uint32
	bytes   string
	indices map[string][]uint32
	uses    map[string]int
}

func (t *fixedTable) intern(s string) uint32 {
	ways := t.indices[s]
	if len(ways) == 0 {
		panic("no index for " + s)
	}
	if t.uses == nil {
		t.uses = map[string]int{}
	}
	i := ways[t.uses[s]%len(ways)]
	t.uses[s]++
	return i
}

func (t *fixedTable) payload() []byte {
	var e enc
	e.n(len(t.offsets))
	for _, off := range t.offsets {
		e.u32(off)
	}
	return append(e.b, t.bytes...)
}
