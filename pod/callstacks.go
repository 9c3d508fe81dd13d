package pod

import (
	"structs"
	"unsafe"
)

// CallstackHeader is one callstack: frames
// [FrameOffset, FrameOffset+FrameCount) of the section's frame array.
//
//	off  size  field
//	0x00    4  ID
//	0x04    4  FrameCount
//	0x08    4  FrameOffset  in frames
type CallstackHeader struct {
	_           structs.HostLayout
	ID          uint32
	FrameCount  uint32
	FrameOffset uint32
}

// CallstackHeaderSize is the size of a [CallstackHeader] in the file.
const CallstackHeaderSize = 12

var _ [CallstackHeaderSize]byte = [unsafe.Sizeof(CallstackHeader{})]byte{}

// NoModule is the ModuleIndex of a frame whose address is in no module.
const NoModule = 0xFFFFFFFF

// ResolvedFrame is one frame of a callstack.
//
//	off  size  field
//	0x00    8  Address
//	0x08    4  ModuleIndex  into the module list; [NoModule]: in none
//	0x0c    4  Offset       Address less the module's Base
type ResolvedFrame struct {
	_           structs.HostLayout
	Address     uint64
	ModuleIndex uint32
	Offset      uint32
}

// ResolvedFrameSize is the size of a [ResolvedFrame] in the file.
const ResolvedFrameSize = 16

var _ [ResolvedFrameSize]byte = [unsafe.Sizeof(ResolvedFrame{})]byte{}
