package pod

import (
	"structs"
	"unsafe"
)

// Metadata is the fixed record at the start of the Metadata section. Six lists
// follow it: [ThreadInfo], [ChannelInfo], [ModuleInfo], the image id bytes,
// [EventTypeCount], [CPUScopeStat].
//
//	off  size  field
//	0x00    8  FileSize             bytes of the trace
//	0x08    8  TotalEvents
//	0x10    8  ParseTimeMs          milliseconds the analysis took
//	0x18    8  TraceStartUs         microseconds
//	0x20    8  TraceEndUs
//	0x28    4  SessionPlatform      string
//	0x2c    4  SessionAppName       string
//	0x30    4  SessionProjectName   string
//	0x34    4  SessionCommandLine   string
//	0x38    4  SessionBranch        string
//	0x3c    4  SessionBuildVersion  string
//	0x40    4  SessionChangelist
//	0x44    1  SessionConfigType
//	0x45    1  SessionHasSession    0 or 1
//	0x46    2  zero
type Metadata struct {
	_                   structs.HostLayout
	FileSize            uint64
	TotalEvents         uint64
	ParseTimeMs         uint64
	TraceStartUs        uint64
	TraceEndUs          uint64
	SessionPlatform     StringIndex
	SessionAppName      StringIndex
	SessionProjectName  StringIndex
	SessionCommandLine  StringIndex
	SessionBranch       StringIndex
	SessionBuildVersion StringIndex
	SessionChangelist   uint32
	SessionConfigType   uint8
	SessionHasSession   uint8
	_                   [2]uint8
}

// MetadataSize is the size of a [Metadata] record in the file.
const MetadataSize = 72

var _ [MetadataSize]byte = [unsafe.Sizeof(Metadata{})]byte{}

// ThreadInfo is one thread of the traced program.
//
//	off  size  field
//	0x00    4  ThreadID
//	0x04    4  Name       string
//	0x08    4  GroupName  string
//	0x0c    4  SystemID   the operating system's id
//	0x10    4  SortHint   signed
type ThreadInfo struct {
	_         structs.HostLayout
	ThreadID  uint32
	Name      StringIndex
	GroupName StringIndex
	SystemID  uint32
	SortHint  int32
}

// ThreadInfoSize is the size of a [ThreadInfo] in the file.
const ThreadInfoSize = 20

var _ [ThreadInfoSize]byte = [unsafe.Sizeof(ThreadInfo{})]byte{}

// ChannelInfo is one event channel of the trace.
//
//	off  size  field
//	0x00    4  Name      string
//	0x04    1  Enabled   0 or 1
//	0x05    1  ReadOnly  0 or 1
//	0x06    2  zero
type ChannelInfo struct {
	_        structs.HostLayout
	Name     StringIndex
	Enabled  uint8
	ReadOnly uint8
	_        [2]uint8
}

// ChannelInfoSize is the size of a [ChannelInfo] in the file.
const ChannelInfoSize = 8

var _ [ChannelInfoSize]byte = [unsafe.Sizeof(ChannelInfo{})]byte{}

// ModuleInfo is one module (executable or shared library) and the addresses
// [Base, Base+Size) that it takes.
//
//	off  size  field
//	0x00    4  Name           string
//	0x04    4  FullPath       string
//	0x08    8  Base           address
//	0x10    8  Size           bytes; 0: up to the next higher Base
//	0x18    4  ImageIDSize    bytes of the build id
//	0x1c    4  ImageIDOffset  from the first of the image id bytes
type ModuleInfo struct {
	_             structs.HostLayout
	Name          StringIndex
	FullPath      StringIndex
	Base          uint64
	Size          uint64
	ImageIDSize   uint32
	ImageIDOffset uint32
}

// ModuleInfoSize is the size of a [ModuleInfo] in the file.
const ModuleInfoSize = 32

var _ [ModuleInfoSize]byte = [unsafe.Sizeof(ModuleInfo{})]byte{}

// EventTypeCount counts the events of one type.
//
//	off  size  field
//	0x00    4  Name   string
//	0x04    4  zero
//	0x08    8  Count
type EventTypeCount struct {
	_     structs.HostLayout
	Name  StringIndex
	_     [4]uint8
	Count uint64
}

// EventTypeCountSize is the size of an [EventTypeCount] in the file.
const EventTypeCountSize = 16

var _ [EventTypeCountSize]byte = [unsafe.Sizeof(EventTypeCount{})]byte{}

// CPUScopeStat sums up the durations of one CPU scope, in microseconds.
//
//	off  size  field
//	0x00    4  Name      string
//	0x04    4  zero
//	0x08    8  MinUs
//	0x10    8  MaxUs
//	0x18    8  Count
//	0x20    8  MeanUs    float
//	0x28    8  StdDevUs  float
type CPUScopeStat struct {
	_        structs.HostLayout
	Name     StringIndex
	_        [4]uint8
	MinUs    uint64
	MaxUs    uint64
	Count    uint64
	MeanUs   float64
	StdDevUs float64
}

// CPUScopeStatSize is the size of a [CPUScopeStat] in the file.
const CPUScopeStatSize = 48

var _ [CPUScopeStatSize]byte = [unsafe.Sizeof(CPUScopeStat{})]byte{}
