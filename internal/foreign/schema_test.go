package foreign

import (
	"fmt"
	"strconv"
	"strings"
)

// fields are the records of the format, in the words of its description.
var fields = map[string]string{
	"FileHeader":     "Magic u32 · Version u32 · SourceFileSize u64 · SourceModTimeNs i64",
	"DirectoryEntry": "SectionId u32 · Reserved u32 · FileOffset u64 · CompressedSize u64",
	"BufferHeader": "Magic u32 · Crc32 u32 · Method u8 · Compressor u8 · CompressionLevel u8 · BlockSizeExponent u8 · BlockCount u32 · " +
		"TotalRawSize u64 · TotalCompressedSize u64 · RawHash u8[32]",

	"Metadata": "FileSize u64 · TotalEvents u64 · ParseTimeMs u64 · TraceStartUs u64 · TraceEndUs u64 · " +
		"SessionPlatform str · SessionAppName str · SessionProjectName str · SessionCommandLine str · SessionBranch str · " +
		"SessionBuildVersion str · SessionChangelist u32 · SessionConfigType u8 · SessionHasSession u8 · pad 2",
	"ThreadInfo":     "ThreadId u32 · Name str · GroupName str · SystemId u32 · SortHint i32",
	"ChannelInfo":    "Name str · Enabled u8 · ReadOnly u8 · pad 2",
	"ModuleInfo":     "Name str · FullPath str · Base u64 · Size u64 · ImageIdSize u32 · ImageIdOffset u32",
	"EventTypeCount": "Name str · pad 4 · Count u64",
	"CpuScopeStat":   "Name str · pad 4 · MinUs u64 · MaxUs u64 · Count u64 · MeanUs f64 · StdDevUs f64",

	"AllocSummary": "HasMemoryData u8 · pad 7 · PeakTimeUs u64 · LiveAllocations u64 · TotalAllocs u64 · TotalFrees u64 · " +
		"TotalReallocAllocs u64 · TotalReallocFrees u64 · PeakBytes u64 · EndBytes u64",
	"HeapInfo":           "Id u32 · ParentId u32 · Flags u32 · Name str",
	"HeapStat":           "HeapId u32 · pad 4 · CurrentBytes u64 · PeakBytes u64 · AllocCount u64 · FreeCount u64",
	"CallstackAllocStat": "CallstackId u32 · pad 4 · LiveCount u64 · LiveBytes u64 · ThreadIdCount u32 · ThreadIds u32[4] · pad 4",
	"CallstackChurnStat": "CallstackId u32 · pad 4 · ChurnAllocs u64 · ChurnBytes u64 · TotalAllocs u64 · TotalBytes u64 · MeanDistance f64",

	"CallstackHeader": "Id u32 · FrameCount u32 · FrameOffset u32",
	"ResolvedFrame":   "Address u64 · ModuleIndex u32 · Offset u32",
	"SymbolEntry":     "Address u64 · StringIdx str · pad 4",
}

// sizes are what the description gives for the records.
var sizes = map[string]int{
	"FileHeader": 24, "DirectoryEntry": 24, "BufferHeader": 64,
	"Metadata": 72, "ThreadInfo": 20, "ChannelInfo": 8, "ModuleInfo": 32, "EventTypeCount": 16, "CpuScopeStat": 48,
	"AllocSummary": 72, "HeapInfo": 16, "HeapStat": 40, "CallstackAllocStat": 48, "CallstackChurnStat": 48,
	"CallstackHeader": 12, "ResolvedFrame": 16, "SymbolEntry": 16,
}

// field is one field of a record: count values of a type, which is u8, u32, u64,
// i32, i64, f64, str or pad.
type field struct {
	name, typ string
	count     int
}

// record is the fields of a record and its size.
func record(name string) (fs []field, size int) {
	for part := range strings.SplitSeq(fields[name], " · ") {
		f := field{count: 1}
		f.name, f.typ, _ = strings.Cut(part, " ")
		if f.name == "pad" {
			f.count = number(f.typ)
			f.typ = "pad"
		}
		if typ, n, ok := strings.Cut(f.typ, "["); ok {
			f.typ, f.count = typ, number(strings.TrimSuffix(n, "]"))
		}
		fs = append(fs, f)
		size += f.width() * f.count
	}
	if size != sizes[name] {
		panic(fmt.Sprintf("%s: fields of %d bytes, the description says %d", name, size, sizes[name]))
	}
	return fs, size
}

func (f field) width() int {
	switch f.typ {
	case "u8", "pad":
		return 1
	case "u32", "i32", "str":
		return 4
	case "u64", "i64", "f64":
		return 8
	}
	panic("no type " + f.typ)
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}

// lists are the lists of the sections that begin with a fixed record, in order.
// The blob of image ids follows the modules.
var lists = map[string][]string{
	"Metadata":     {"ThreadInfo", "ChannelInfo", "ModuleInfo", "EventTypeCount", "CpuScopeStat"},
	"AllocSummary": {"HeapInfo", "HeapStat", "CallstackAllocStat", "CallstackChurnStat"},
}
