package writer_test

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/stretchr/testify/require"
	"lukechampine.com/blake3"

	"example.com/tracecache/internal/oodle"
	"example.com/tracecache/trace"
)

// parsed is a cache file read by a second reader, which knows the format's text
// and none of this module's code but the decoder of Oodle blocks.
type parsed struct {
	sourceSize  uint64
	sourceMtime int64
	methods     [5]byte
	oodle       [5][2]byte // compressor and level in the header
	exponents   [5]byte
	raw         [5][]byte
	strings     []string
	model       *trace.Model
}

// parse reads a file and holds it against every rule that writers keep.
func parse(t testing.TB, file []byte) *parsed {
	t.Helper()
	le := binary.LittleEndian
	castagnoli := crc32.MakeTable(crc32.Castagnoli)
	require.Equal(t, "ZTAC\x01\x00\x00\x00", string(file[:8]))
	p := &parsed{sourceSize: le.Uint64(file[8:]), sourceMtime: int64(le.Uint64(file[16:]))}
	next := uint64(144)
	for id := range 5 {
		entry := file[24+24*id:]
		require.Equal(t, uint32(id), le.Uint32(entry))
		off, size := le.Uint64(entry[8:]), le.Uint64(entry[16:])
		require.Equal(t, next, off, "section %d", id)
		sums := p.decompress(t, id, file[off:off+size])
		table := file[off+size : off+size+4*uint64(len(sums))]
		for i, sum := range sums {
			require.Equal(t, sum, le.Uint32(table[4*i:]))
		}
		require.Equal(t, max(crc32.Checksum(table, castagnoli), 1), le.Uint32(entry[4:]))
		next = off + size + uint64(len(table))
	}
	require.Equal(t, uint64(len(file)), next)

	p.readStrings(t)
	p.model = &trace.Model{}
	p.readMetadata(t)
	p.readMemory(t)
	p.readCallstacks(t)
	p.readSymbols(t)
	return p
}

// decompress reads one compressed buffer and returns its blocks' checksums.
func (p *parsed) decompress(t testing.TB, id int, buf []byte) (sums []uint32) {
	castagnoli := crc32.MakeTable(crc32.Castagnoli)
	be := binary.BigEndian
	require.Equal(t, uint32(0xB7756362), be.Uint32(buf))
	require.Equal(t, uint64(len(buf)), be.Uint64(buf[24:]))
	p.methods[id], p.oodle[id], p.exponents[id] = buf[8], [2]byte(buf[9:11]), buf[11]
	count, size := int(be.Uint32(buf[12:])), int(be.Uint64(buf[16:]))
	var raw []byte
	if buf[8] == 0 {
		raw = buf[64:]
		for rest := raw; len(rest) > 0; {
			n := min(len(rest), 1<<18)
			sums = append(sums, crc32.Checksum(rest[:n], castagnoli))
			rest = rest[n:]
		}
	} else {
		blocks := buf[64+4*count:]
		for i := range count {
			stored := blocks[:be.Uint32(buf[64+4*i:])]
			blocks = blocks[len(stored):]
			sums = append(sums, crc32.Checksum(stored, castagnoli))
			n := min(1<<buf[11], size-i<<buf[11])
			raw = append(raw, decompressBlock(t, buf[8], stored, n)...)
		}
		require.Empty(t, blocks)
	}
	require.Len(t, raw, size)
	hash := blake3.Sum256(raw)
	require.Equal(t, hash[:], buf[32:64])
	p.raw[id] = raw
	return sums
}

func decompressBlock(t testing.TB, method byte, stored []byte, n int) []byte {
	if len(stored) == n {
		return stored
	}
	out := make([]byte, n)
	if method == 4 {
		got, err := lz4.UncompressBlock(stored, out)
		require.NoError(t, err)
		return out[:got]
	}
	if method == 3 {
		// No other decoder is at hand; its own tests compare it with blocks of
		// other compressors.
		require.NoError(t, new(oodle.Decoder).Decode(out, stored))
		return out
	}
	require.Equal(t, byte(0x5A), method)
	r, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	require.NoError(t, err)
	defer r.Close()
	out, err = r.DecodeAll(stored, nil)
	require.NoError(t, err)
	return out
}

// readStrings reads the string table, which has no string twice and no gaps.
func (p *parsed) readStrings(t testing.TB) {
	le := binary.LittleEndian
	raw := p.raw[0]
	count := int(le.Uint32(raw))
	packed := string(raw[4+4*count:])
	next := 0
	seen := map[string]bool{}
	for i := range count {
		off := int(le.Uint32(raw[4+4*i:]))
		require.Equal(t, next, off)
		end := off + strings.IndexByte(packed[off:], 0)
		s := packed[off:end]
		require.False(t, seen[s], "%q is there twice", s)
		seen[s] = true
		p.strings = append(p.strings, s)
		next = end + 1
	}
	require.Len(t, packed, next)
}

// cursor reads a payload field by field.
type cursor struct {
	b       []byte
	strings []string
}

func (c *cursor) u8() uint8 {
	v := c.b[0]
	c.b = c.b[1:]
	return v
}

func (c *cursor) u32() uint32 {
	v := binary.LittleEndian.Uint32(c.b)
	c.b = c.b[4:]
	return v
}

func (c *cursor) u64() uint64 {
	v := binary.LittleEndian.Uint64(c.b)
	c.b = c.b[8:]
	return v
}

func (c *cursor) f64() float64 { return math.Float64frombits(c.u64()) }

func (c *cursor) str() string { return c.strings[c.u32()] }

// zero skips padding, which writers write as zero.
func (c *cursor) zero(n int) {
	for range n {
		if c.u8() != 0 {
			panic("padding is not zero")
		}
	}
}

// list calls item for each entry of a list.
func (c *cursor) list(item func()) {
	for range c.u32() {
		item()
	}
}

func (p *parsed) readMetadata(t testing.TB) {
	c := &cursor{p.raw[1], p.strings}
	m := p.model
	m.FileSize, m.TotalEvents, m.ParseTimeMs = c.u64(), c.u64(), c.u64()
	m.TraceStartUs, m.TraceEndUs = c.u64(), c.u64()
	s := &m.Session
	s.Platform, s.AppName, s.ProjectName = c.str(), c.str(), c.str()
	s.CommandLine, s.Branch, s.BuildVersion = c.str(), c.str(), c.str()
	s.Changelist, s.ConfigurationType, s.HasSession = c.u32(), c.u8(), c.u8() == 1
	c.zero(2)
	c.list(func() {
		m.Threads = append(m.Threads, trace.Thread{
			ThreadID: c.u32(), Name: c.str(), GroupName: c.str(), SystemID: c.u32(), SortHint: int32(c.u32())})
	})
	c.list(func() {
		m.Channels = append(m.Channels, trace.Channel{Name: c.str(), Enabled: c.u8() == 1, ReadOnly: c.u8() == 1})
		c.zero(2)
	})
	var ends []uint32
	c.list(func() {
		m.Modules = append(m.Modules, trace.Module{Name: c.str(), FullPath: c.str(), Base: c.u64(), Size: c.u64()})
		size, off := c.u32(), c.u32()
		if len(ends) > 0 {
			require.Equal(t, ends[len(ends)-1], off, "image ids are packed")
		}
		ends = append(ends, off+size)
	})
	start := uint32(0)
	for i, end := range ends {
		if end > start {
			m.Modules[i].ImageID = c.b[start:end]
		}
		start = end
	}
	c.b = c.b[start:]
	c.list(func() {
		e := trace.EventTypeCount{Name: c.str()}
		c.zero(4)
		e.Count = c.u64()
		m.EventTypeCounts = append(m.EventTypeCounts, e)
	})
	c.list(func() {
		e := trace.ScopeStat{Name: c.str()}
		c.zero(4)
		e.MinUs, e.MaxUs, e.Count, e.MeanUs, e.StdDevUs = c.u64(), c.u64(), c.u64(), c.f64(), c.f64()
		m.ScopeStats = append(m.ScopeStats, e)
	})
	require.Empty(t, c.b)
}

func (p *parsed) readMemory(t testing.TB) {
	c := &cursor{p.raw[2], p.strings}
	a := &p.model.AllocSummary
	a.HasMemoryData = c.u8() == 1
	c.zero(7)
	a.PeakTimeUs, a.LiveAllocations, a.TotalAllocs, a.TotalFrees = c.u64(), c.u64(), c.u64(), c.u64()
	a.TotalReallocAllocs, a.TotalReallocFrees, a.PeakBytes, a.EndBytes = c.u64(), c.u64(), c.u64(), c.u64()
	m := p.model
	c.list(func() {
		m.Heaps = append(m.Heaps, trace.Heap{ID: c.u32(), ParentID: c.u32(), Flags: c.u32(), Name: c.str()})
	})
	c.list(func() {
		e := trace.HeapStat{HeapID: c.u32()}
		c.zero(4)
		e.CurrentBytes, e.PeakBytes, e.AllocCount, e.FreeCount = c.u64(), c.u64(), c.u64(), c.u64()
		m.HeapStats = append(m.HeapStats, e)
	})
	c.list(func() {
		e := trace.CallstackStat{CallstackID: c.u32()}
		c.zero(4)
		e.LiveCount, e.LiveBytes = c.u64(), c.u64()
		n := int(c.u32())
		for range n {
			e.ThreadIDs = append(e.ThreadIDs, c.u32())
		}
		c.zero(4 * (4 - n))
		c.zero(4)
		m.CallstackStats = append(m.CallstackStats, e)
	})
	c.list(func() {
		e := trace.ChurnStat{CallstackID: c.u32()}
		c.zero(4)
		e.ChurnAllocs, e.ChurnBytes, e.TotalAllocs, e.TotalBytes, e.MeanDistance = c.u64(), c.u64(), c.u64(), c.u64(), c.f64()
		m.ChurnStats = append(m.ChurnStats, e)
	})
	require.Empty(t, c.b)
}

func (p *parsed) readCallstacks(t testing.TB) {
	c := &cursor{p.raw[3], nil}
	var counts []uint32
	next := uint32(0)
	c.list(func() {
		p.model.Callstacks = append(p.model.Callstacks, trace.Callstack{ID: c.u32()})
		n := c.u32()
		require.Equal(t, next, c.u32(), "frames are laid in callstack order")
		next += n
		counts = append(counts, n)
	})
	for i, n := range counts {
		for range n {
			p.model.Callstacks[i].Frames = append(p.model.Callstacks[i].Frames,
				trace.Frame{Address: c.u64(), ModuleIndex: c.u32(), Offset: uint64(c.u32())})
		}
	}
	require.Empty(t, c.b)
}

func (p *parsed) readSymbols(t testing.TB) {
	c := &cursor{p.raw[4], p.strings}
	c.list(func() {
		p.model.Symbols = append(p.model.Symbols, trace.Symbol{Address: c.u64(), Name: c.str()})
		c.zero(4)
	})
	require.Empty(t, c.b)
}
