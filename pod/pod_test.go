package pod

import (
	"encoding/binary"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// layouts are the records as the format describes them: the size of the record,
// and of each field that is not padding its offset and size.
var layouts = []struct {
	record any
	size   int // as the constant gives it
	want   uintptr
	fields []place
}{
	{FileHeader{}, FileHeaderSize, 24, []place{
		{"Magic", 0, 4}, {"Version", 4, 4}, {"SourceFileSize", 8, 8}, {"SourceModTimeNs", 16, 8},
	}},
	{DirectoryEntry{}, DirectoryEntrySize, 24, []place{
		{"SectionID", 0, 4}, {"Reserved", 4, 4}, {"FileOffset", 8, 8}, {"CompressedSize", 16, 8},
	}},
	{BufferHeader{}, BufferHeaderSize, 64, []place{
		{"Magic", 0, 4}, {"Crc32", 4, 4}, {"Method", 8, 1}, {"Compressor", 9, 1}, {"CompressionLevel", 10, 1},
		{"BlockSizeExponent", 11, 1}, {"BlockCount", 12, 4}, {"TotalRawSize", 16, 8}, {"TotalCompressedSize", 24, 8},
		{"RawHash", 32, 32},
	}},
	{Metadata{}, MetadataSize, 72, []place{
		{"FileSize", 0, 8}, {"TotalEvents", 8, 8}, {"ParseTimeMs", 16, 8}, {"TraceStartUs", 24, 8}, {"TraceEndUs", 32, 8},
		{"SessionPlatform", 40, 4}, {"SessionAppName", 44, 4}, {"SessionProjectName", 48, 4}, {"SessionCommandLine", 52, 4},
		{"SessionBranch", 56, 4}, {"SessionBuildVersion", 60, 4}, {"SessionChangelist", 64, 4}, {"SessionConfigType", 68, 1},
		{"SessionHasSession", 69, 1},
	}},
	{ThreadInfo{}, ThreadInfoSize, 20, []place{
		{"ThreadID", 0, 4}, {"Name", 4, 4}, {"GroupName", 8, 4}, {"SystemID", 12, 4}, {"SortHint", 16, 4},
	}},
	{ChannelInfo{}, ChannelInfoSize, 8, []place{{"Name", 0, 4}, {"Enabled", 4, 1}, {"ReadOnly", 5, 1}}},
	{ModuleInfo{}, ModuleInfoSize, 32, []place{
		{"Name", 0, 4}, {"FullPath", 4, 4}, {"Base", 8, 8}, {"Size", 16, 8}, {"ImageIDSize", 24, 4}, {"ImageIDOffset", 28, 4},
	}},
	{EventTypeCount{}, EventTypeCountSize, 16, []place{{"Name", 0, 4}, {"Count", 8, 8}}},
	{CPUScopeStat{}, CPUScopeStatSize, 48, []place{
		{"Name", 0, 4}, {"MinUs", 8, 8}, {"MaxUs", 16, 8}, {"Count", 24, 8}, {"MeanUs", 32, 8}, {"StdDevUs", 40, 8},
	}},
	{AllocSummary{}, AllocSummarySize, 72, []place{
		{"HasMemoryData", 0, 1}, {"PeakTimeUs", 8, 8}, {"LiveAllocations", 16, 8}, {"TotalAllocs", 24, 8}, {"TotalFrees", 32, 8},
		{"TotalReallocAllocs", 40, 8}, {"TotalReallocFrees", 48, 8}, {"PeakBytes", 56, 8}, {"EndBytes", 64, 8},
	}},
	{HeapInfo{}, HeapInfoSize, 16, []place{{"ID", 0, 4}, {"ParentID", 4, 4}, {"Flags", 8, 4}, {"Name", 12, 4}}},
	{HeapStat{}, HeapStatSize, 40, []place{
		{"HeapID", 0, 4}, {"CurrentBytes", 8, 8}, {"PeakBytes", 16, 8}, {"AllocCount", 24, 8}, {"FreeCount", 32, 8},
	}},
	{CallstackAllocStat{}, CallstackAllocStatSize, 48, []place{
		{"CallstackID", 0, 4}, {"LiveCount", 8, 8}, {"LiveBytes", 16, 8}, {"ThreadIDCount", 24, 4}, {"ThreadIDs", 28, 16},
	}},
	{CallstackChurnStat{}, CallstackChurnStatSize, 48, []place{
		{"CallstackID", 0, 4}, {"ChurnAllocs", 8, 8}, {"ChurnBytes", 16, 8}, {"TotalAllocs", 24, 8}, {"TotalBytes", 32, 8},
		{"MeanDistance", 40, 8},
	}},
	{CallstackHeader{}, CallstackHeaderSize, 12, []place{{"ID", 0, 4}, {"FrameCount", 4, 4}, {"FrameOffset", 8, 4}}},
	{ResolvedFrame{}, ResolvedFrameSize, 16, []place{{"Address", 0, 8}, {"ModuleIndex", 8, 4}, {"Offset", 12, 4}}},
	{SymbolEntry{}, SymbolEntrySize, 16, []place{{"Address", 0, 8}, {"StringIdx", 8, 4}}},
}

type place struct {
	name      string
	off, size uintptr
}

func TestLayouts(t *testing.T) {
	for _, l := range layouts {
		typ := reflect.TypeOf(l.record)
		t.Run(typ.Name(), func(t *testing.T) {
			assert.Equal(t, l.want, typ.Size())
			assert.EqualValues(t, l.want, l.size, "the constant")
			assert.Zero(t, l.size%4)
			assert.Equal(t, l.size, binary.Size(l.record), "the compiler added padding")

			var got []place
			for f := range typ.Fields() {
				if f.Name != "_" {
					got = append(got, place{f.Name, f.Offset, f.Type.Size()})
				}
			}
			assert.Equal(t, l.fields, got)
		})
	}
}

func TestFileHeader(t *testing.T) {
	b := []byte{
		'Z', 'T', 'A', 'C', 1, 0, 0, 0,
		0x15, 0xcd, 0x5b, 0x07, 0, 0, 0, 0x80,
		0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	}
	h := FileHeader{Magic: Magic, Version: Version, SourceFileSize: 1<<63 + 123_456_789, SourceModTimeNs: -2}
	assert.Equal(t, h, DecodeFileHeader(append(b[:len(b):len(b)], 0xaa)))
	assert.Equal(t, append([]byte{7}, b...), h.Append([]byte{7}))
	assert.Panics(t, func() { DecodeFileHeader(b[:FileHeaderSize-1]) })
}

func TestDirectory(t *testing.T) {
	var b []byte
	var want Directory
	for i := range byte(5) {
		b = append(b,
			i, 0, 0, 0,
			0x10+i, 2, 3, 4,
			0x90, i, 0, 0, 0, 0, 0, 0x40,
			0x44, 0, i, 0, 1, 0, 0, 0,
		)
		want[i] = DirectoryEntry{
			SectionID:      Section(i),
			Reserved:       0x04030210 + uint32(i),
			FileOffset:     0x40<<56 + uint64(i)<<8 + 0x90,
			CompressedSize: 1<<32 + uint64(i)<<16 + 0x44,
		}
	}
	require.Len(t, b, 120)
	got := DecodeDirectory(b)
	assert.Equal(t, want, got)
	assert.Equal(t, b, got.Append(nil))
	assert.Panics(t, func() { DecodeDirectory(b[:119]) })
}

func TestBufferHeader(t *testing.T) {
	b := []byte{
		0xb7, 0x75, 0x63, 0x62, 0x11, 0x12, 0x13, 0x14,
		0x5a, 2, 0xfc, 18, 0x21, 0x22, 0x23, 0x24,
		0x80, 0, 0, 0, 0, 0, 0x31, 0x32,
		0x40, 0, 0, 0, 0, 0, 0x41, 0x42,
	}
	want := BufferHeader{
		Magic: BufferMagic, Crc32: 0x11121314, Method: MethodZstd, Compressor: 2, CompressionLevel: -4,
		BlockSizeExponent: 18, BlockCount: 0x21222324, TotalRawSize: 1<<63 + 0x3132, TotalCompressedSize: 1<<62 + 0x4142,
	}
	for i := range want.RawHash {
		want.RawHash[i] = byte(0xc0 + i)
		b = append(b, byte(0xc0+i))
	}
	assert.Equal(t, want, DecodeBufferHeader(b))
	assert.Equal(t, b, want.Append(nil))
	assert.Panics(t, func() { DecodeBufferHeader(b[:63]) })
}

func TestSections(t *testing.T) {
	names := map[Section]string{
		0: "strings", 1: "metadata", 2: "memory", 3: "callstacks", 4: "symbols",
		5: "section(5)", SectionNone: "file",
	}
	for s, name := range names {
		assert.Equal(t, name, s.String())
	}
	require.Len(t, Sections, 5)
	for i, s := range Sections {
		assert.EqualValues(t, i, s)
	}
}

func TestMethods(t *testing.T) {
	for c, name := range map[Compressor]string{
		0: "compressor(0)", 1: "Selkie", 2: "Mermaid", 3: "Kraken", 4: "Leviathan", 5: "compressor(5)",
	} {
		assert.Equal(t, name, c.String())
	}
	for l, name := range map[Level]string{
		-128: "level(-128)", -5: "level(-5)", -4: "HyperFast4", -1: "HyperFast1", 0: "None", 1: "SuperFast", 2: "VeryFast",
		3: "Fast", 4: "Normal", 5: "Optimal1", 9: "Optimal5", 10: "level(10)",
	} {
		assert.Equal(t, name, l.String())
	}
	for m, name := range map[Method]string{0: "none", 3: "oodle", 4: "lz4", 0x5a: "zstd", 7: "method(7)"} {
		assert.Equal(t, name, m.String())
	}
}
