package pod

import (
	"structs"
	"unsafe"
)

// AllocSummary is the fixed record at the start of the Memory section. Four
// lists follow it: [HeapInfo], [HeapStat], [CallstackAllocStat],
// [CallstackChurnStat].
//
//	off  size  field
//	0x00    1  HasMemoryData       0 or 1
//	0x01    7  zero
//	0x08    8  PeakTimeUs          when PeakBytes was reached, microseconds
//	0x10    8  LiveAllocations     at the end of the trace
//	0x18    8  TotalAllocs
//	0x20    8  TotalFrees
//	0x28    8  TotalReallocAllocs
//	0x30    8  TotalReallocFrees
//	0x38    8  PeakBytes
//	0x40    8  EndBytes            at the end of the trace
type AllocSummary struct {
	_                  structs.HostLayout
	HasMemoryData      uint8
	_                  [7]uint8
	PeakTimeUs         uint64
	LiveAllocations    uint64
	TotalAllocs        uint64
	TotalFrees         uint64
	TotalReallocAllocs uint64
	TotalReallocFrees  uint64
	PeakBytes          uint64
	EndBytes           uint64
}

// AllocSummarySize is the size of an [AllocSummary] in the file.
const AllocSummarySize = 72

var _ [AllocSummarySize]byte = [unsafe.Sizeof(AllocSummary{})]byte{}

// HeapInfo is one heap of the traced program.
//
//	off  size  field
//	0x00    4  ID
//	0x04    4  ParentID
//	0x08    4  Flags
//	0x0c    4  Name      string
type HeapInfo struct {
	_        structs.HostLayout
	ID       uint32
	ParentID uint32
	Flags    uint32
	Name     StringIndex
}

// HeapInfoSize is the size of a [HeapInfo] in the file.
const HeapInfoSize = 16

var _ [HeapInfoSize]byte = [unsafe.Sizeof(HeapInfo{})]byte{}

// HeapStat sums up the allocations of one heap.
//
//	off  size  field
//	0x00    4  HeapID
//	0x04    4  zero
//	0x08    8  CurrentBytes
//	0x10    8  PeakBytes
//	0x18    8  AllocCount
//	0x20    8  FreeCount
type HeapStat struct {
	_            structs.HostLayout
	HeapID       uint32
	_            [4]uint8
	CurrentBytes uint64
	PeakBytes    uint64
	AllocCount   uint64
	FreeCount    uint64
}

// HeapStatSize is the size of a [HeapStat] in the file.
const HeapStatSize = 40

var _ [HeapStatSize]byte = [unsafe.Sizeof(HeapStat{})]byte{}

// MaxThreadIDs is how many thread ids a [CallstackAllocStat] keeps.
const MaxThreadIDs = 4

// CallstackAllocStat is what was still allocated from one callstack at the end
// of the trace.
//
//	off  size  field
//	0x00    4  CallstackID
//	0x04    4  zero
//	0x08    8  LiveCount
//	0x10    8  LiveBytes
//	0x18    4  ThreadIDCount  readers take [MaxThreadIDs] at most
//	0x1c   16  ThreadIDs
//	0x2c    4  zero
type CallstackAllocStat struct {
	_             structs.HostLayout
	CallstackID   uint32
	_             [4]uint8
	LiveCount     uint64
	LiveBytes     uint64
	ThreadIDCount uint32
	ThreadIDs     [MaxThreadIDs]uint32
	_             [4]uint8
}

// CallstackAllocStatSize is the size of a [CallstackAllocStat] in the file.
const CallstackAllocStatSize = 48

var _ [CallstackAllocStatSize]byte = [unsafe.Sizeof(CallstackAllocStat{})]byte{}

// CallstackChurnStat counts the short-lived allocations of one callstack.
//
//	off  size  field
//	0x00    4  CallstackID
//	0x04    4  zero
//	0x08    8  ChurnAllocs
//	0x10    8  ChurnBytes
//	0x18    8  TotalAllocs
//	0x20    8  TotalBytes
//	0x28    8  MeanDistance  float
type CallstackChurnStat struct {
	_            structs.HostLayout
	CallstackID  uint32
	_            [4]uint8
	ChurnAllocs  uint64
	ChurnBytes   uint64
	TotalAllocs  uint64
	TotalBytes   uint64
	MeanDistance float64
}

// CallstackChurnStatSize is the size of a [CallstackChurnStat] in the file.
const CallstackChurnStatSize = 48

var _ [CallstackChurnStatSize]byte = [unsafe.Sizeof(CallstackChurnStat{})]byte{}
