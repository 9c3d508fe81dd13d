// Package view shows bytes as records and records as bytes. It is the only
// package of the module that converts pointers.
//
// On a little-endian host a record array that lies aligned in memory is seen in
// place. Where only the alignment is off it is moved, once, to memory that is
// aligned. On a big-endian host it is decoded into a copy. The three ways give
// the same records.
//
// All checks are made on every call. They run once a section, not once a
// record: what is handed out is an ordinary slice.
package view

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"
)

// ErrSize says that a number of bytes is no whole number of records.
var ErrSize = errors.New("view: size is not a multiple of the record size")

// bigEndian is whether the host stores the high byte first.
var bigEndian = binary.NativeEndian.Uint16([]byte{0, 1}) == 1

// Slice returns b, little-endian records of type T back to back, as a slice with
// no spare capacity. The result may share b's memory, and then keeps it alive;
// b must not be changed afterwards. T must be plain old data without pointers
// and without implicit padding; another T is a bug of the caller and panics.
// The cost is that of a few checks where the bytes can be seen in place, else of
// one copy.
func Slice[T any](b []byte) ([]T, error) {
	size := recordSize[T]()
	if len(b)%size != 0 {
		return nil, ErrSize
	}
	n := len(b) / size
	if n == 0 {
		return nil, nil
	}
	if bigEndian {
		return decode[T](b, n), nil
	}
	if !Aligned[T](b) {
		return move[T](b, n), nil
	}
	p := unsafe.Pointer(unsafe.SliceData(b))
	// SAFETY: p addresses len(b) = n*size live bytes and is aligned for T.
	// T holds no pointers (recordSize), so any bytes are a valid T, and the
	// collector keeps the whole block alive through the slice. Capacity is n.
	return unsafe.Slice((*T)(p), n), nil
}

// Outside is the number of bytes that recs takes besides b: none where it is a
// view of b, all where it is a copy.
func Outside[T any](recs []T, b []byte) int {
	var zero T
	n := len(recs) * int(unsafe.Sizeof(zero))
	start := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	at := uintptr(unsafe.Pointer(unsafe.SliceData(recs)))
	if n == 0 || at >= start && at-start < uintptr(len(b)) {
		return 0
	}
	return n
}

// Aligned reports whether b starts where a T may lie in memory of this host.
func Aligned[T any](b []byte) bool {
	var zero T
	return uintptr(unsafe.Pointer(unsafe.SliceData(b)))%unsafe.Alignof(zero) == 0
}

// decode reads n little-endian records on a host of any byte order.
func decode[T any](b []byte, n int) []T {
	recs := make([]T, n)
	if _, err := binary.Decode(b, binary.LittleEndian, recs); err != nil {
		panic(fmt.Sprintf("view: decode %T: %v", recs, err))
	}
	return recs
}

// move copies n records of the host's byte order into aligned memory.
func move[T any](b []byte, n int) []T {
	recs := make([]T, n)
	// SAFETY: recs is n*size = len(b) live bytes of pointer-free memory; seen
	// as bytes it has no alignment to keep, and the view ends with this call.
	copy(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(recs))), len(b)), b)
	return recs
}

// Append appends recs to b as little-endian records back to back. Blank fields
// come out as they are in recs on a little-endian host, so recs must hold zeros
// there, as every composite literal does.
func Append[T any](b []byte, recs []T) []byte {
	size := recordSize[T]()
	if len(recs) == 0 {
		return b
	}
	if bigEndian {
		b, err := binary.Append(b, binary.LittleEndian, recs)
		if err != nil {
			panic(fmt.Sprintf("view: append %T: %v", recs, err))
		}
		return b
	}
	// SAFETY: recs is len(recs)*size live bytes without pointers or padding
	// (recordSize); bytes need no alignment, and the view ends with this call.
	return append(b, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(recs))), len(recs)*size)...)
}

// String returns b as a string that shares b's memory and keeps it alive.
// b must not be changed afterwards.
func String(b []byte) string {
	if len(b) == 0 {
		return "" // keeps nothing alive
	}
	// SAFETY: b is len(b) live bytes, which by contract nobody changes.
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// recordSize is the size of a T in a file. It panics where T is not plain old
// data.
func recordSize[T any]() int {
	var zero T
	size := binary.Size(zero)
	if size <= 0 || uintptr(size) != unsafe.Sizeof(zero) {
		panic(fmt.Sprintf("view: %T is not a record: it has pointers, padding, or no size", zero))
	}
	return size
}
