package view

import (
	"os"
	"strings"
	"unsafe"
)

// MakeAligned returns n bytes of Go heap memory that start at a multiple of 8,
// with no spare capacity, for a caller that writes all of them before it reads
// any: their contents are undefined.
func MakeAligned(n int) []byte { return makeAt(n, 0) }

// MakeEndAligned is [MakeAligned] for bytes whose end, not their start, lies at a
// multiple of 8. An array of records at the end of such memory is aligned
// whatever stands in front of it.
func MakeEndAligned(n int) []byte { return makeAt(n, uintptr(n)) }

// notTiny is a size from which on memory is an object of its own, so that
// [runtime.AddCleanup] tells when it has gone.
const notTiny = 32

// makeAt returns n bytes, the one at offset off of which is, or would be, at a
// multiple of 8.
func makeAt(n int, off uintptr) []byte {
	if n == 0 {
		return nil
	}
	// A Builder takes memory that is not cleared. Large memory that the
	// collector has freed before would take as long to clear as to decode into.
	var w strings.Builder
	w.Grow(max(n+7, notTiny))
	w.WriteByte(0)
	p := unsafe.StringData(w.String())
	skip := int(-(uintptr(unsafe.Pointer(p)) + off) % 8)
	// SAFETY: p is the start of the Builder's buffer, n+7 bytes or more of the
	// heap without pointers, of which skip < 8 are left out. The Builder, and the
	// string, which would have to stay as it is, end here, so nobody else has it.
	b := unsafe.Slice(p, n+7)
	return b[skip : skip+n : skip+n]
}

// Make returns n zero values with no spare capacity, in huge pages where they
// take much memory. The first touch of a page costs more than the decoding of
// what is written to it, and a huge page is touched once where 512 usual ones
// are. Only Linux is asked for huge pages.
func Make[T any](n int) []T {
	s := make([]T, n)
	var zero T
	// SAFETY: s is n values, of n times their size in bytes. The bytes are
	// neither read nor written, only their place is looked at.
	Huge(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), uintptr(n)*unsafe.Sizeof(zero)))
	return s
}

// hugePage is the size of a huge page, on all but a few hosts.
const hugePage = 2 << 20

// Huge asks for huge pages for what of b is whole ones, where the system has such
// and must be asked. It is of use for memory that will be touched all over and has
// not been yet.
func Huge(b []byte) {
	if pages := wholePages(b, hugePage); len(pages) > 0 {
		adviseHuge(pages)
	}
}

// Prefault makes the system provide the pages of b at once, which takes less time
// than one by one when each is touched first. The bytes stay as they are.
func Prefault(b []byte) {
	if pages := wholePages(b, uintptr(os.Getpagesize())); len(pages) > 0 {
		prefault(pages)
	}
}

// wholePages is what of b is whole pages of the given size.
func wholePages(b []byte, size uintptr) []byte {
	start := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	n := uintptr(len(b))
	head, tail := -start%size, (start+n)%size
	if head+tail >= n {
		return nil
	}
	return b[head : n-tail]
}
