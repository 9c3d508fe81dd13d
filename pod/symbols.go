package pod

import (
	"structs"
	"unsafe"
)

// SymbolEntry is one entry of the Symbols section, ascending by Address. An
// entry whose string is empty marks a hole: the function before it has ended.
//
//	off  size  field
//	0x00    8  Address
//	0x08    4  StringIdx  string
//	0x0c    4  zero
type SymbolEntry struct {
	_         structs.HostLayout
	Address   uint64
	StringIdx StringIndex
	_         [4]uint8
}

// SymbolEntrySize is the size of a [SymbolEntry] in the file.
const SymbolEntrySize = 16

var _ [SymbolEntrySize]byte = [unsafe.Sizeof(SymbolEntry{})]byte{}
