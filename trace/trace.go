// Package trace is the model in memory of an analysed program trace: what a
// cache writer takes and what a full load of a cache returns.
//
// A Model is plain data. It owns nothing that needs closing; strings of a model
// that was loaded from a cache share memory with one another and stay valid for
// as long as they are referenced. A model is safe for concurrent reading as long
// as nobody changes it.
package trace

// NoModule is the ModuleIndex of a frame whose address is in no module.
const NoModule = 0xFFFFFFFF

// Model is everything that is known of one analysed trace.
type Model struct {
	FileSize     uint64 // bytes of the trace file
	TotalEvents  uint64
	ParseTimeMs  uint64 // milliseconds the analysis took
	TraceStartUs uint64 // microseconds
	TraceEndUs   uint64 // microseconds

	Session         Session
	Threads         []Thread
	Channels        []Channel
	Modules         []Module
	EventTypeCounts []EventTypeCount
	ScopeStats      []ScopeStat

	AllocSummary   AllocSummary
	Heaps          []Heap
	HeapStats      []HeapStat
	CallstackStats []CallstackStat
	ChurnStats     []ChurnStat

	Callstacks []Callstack

	// Symbols are the names of addresses, in no particular order. An empty
	// name marks a hole: the function before it has ended. Several symbols
	// may share an address; the first with a name is the address's name, the
	// others are its aliases.
	Symbols []Symbol
}

// Session describes the traced run.
type Session struct {
	Platform          string
	AppName           string
	ProjectName       string
	CommandLine       string
	Branch            string
	BuildVersion      string
	Changelist        uint32
	ConfigurationType uint8
	HasSession        bool // the trace said who it is of
}

// Thread is one thread of the traced program.
type Thread struct {
	ThreadID  uint32
	Name      string
	GroupName string
	SystemID  uint32 // the operating system's id
	SortHint  int32
}

// Channel is one event channel of the trace.
type Channel struct {
	Name     string
	Enabled  bool
	ReadOnly bool
}

// Module is one module of the traced program, an executable or a shared
// library, and the addresses [Base, Base+Size) that it takes.
type Module struct {
	Name     string
	FullPath string
	Base     uint64
	Size     uint64 // bytes; 0: up to the next higher Base
	ImageID  []byte // the build id
}

// EventTypeCount counts the events of one type.
type EventTypeCount struct {
	Name  string
	Count uint64
}

// ScopeStat sums up the durations of one CPU scope, in microseconds.
type ScopeStat struct {
	Name     string
	MinUs    uint64
	MaxUs    uint64
	Count    uint64
	MeanUs   float64
	StdDevUs float64
}

// AllocSummary sums up the memory events of the trace.
type AllocSummary struct {
	HasMemoryData      bool
	PeakTimeUs         uint64 // when PeakBytes was reached, microseconds
	LiveAllocations    uint64 // at the end of the trace
	TotalAllocs        uint64
	TotalFrees         uint64
	TotalReallocAllocs uint64
	TotalReallocFrees  uint64
	PeakBytes          uint64
	EndBytes           uint64 // at the end of the trace
}

// Heap is one heap of the traced program.
type Heap struct {
	ID       uint32
	ParentID uint32
	Flags    uint32
	Name     string
}

// HeapStat sums up the allocations of one heap.
type HeapStat struct {
	HeapID       uint32
	CurrentBytes uint64
	PeakBytes    uint64
	AllocCount   uint64
	FreeCount    uint64
}

// CallstackStat is what was still allocated from one callstack at the end of
// the trace.
type CallstackStat struct {
	CallstackID uint32
	LiveCount   uint64
	LiveBytes   uint64
	ThreadIDs   []uint32 // a cache keeps the first four
}

// ChurnStat counts the short-lived allocations of one callstack.
type ChurnStat struct {
	CallstackID  uint32
	ChurnAllocs  uint64
	ChurnBytes   uint64
	TotalAllocs  uint64
	TotalBytes   uint64
	MeanDistance float64
}

// Callstack is one callstack, innermost frame first.
type Callstack struct {
	ID     uint32
	Frames []Frame
}

// Frame is one frame of a callstack.
type Frame struct {
	Address     uint64
	ModuleIndex uint32 // into Model.Modules; NoModule: in none
	Offset      uint64 // Address less the module's Base; a cache keeps 32 bits
}

// Symbol is the name of one address.
type Symbol struct {
	Address uint64
	Name    string // empty: a hole
}
