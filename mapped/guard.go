package mapped

import (
	"os"
	"reflect"
	"runtime"
	"runtime/debug"

	"golang.org/x/exp/mmap"
)

// guarded is a mapping whose bytes may go at any time: they are copied out under
// a guard, and touched nowhere else.
type guarded struct {
	m     *mmap.ReaderAt
	start uintptr // the addresses [start, start+size) are the mapping's
	size  uintptr
}

// newGuarded finds out where m lies, which package mmap does not tell. It is false
// where that cannot be had.
func newGuarded(m *mmap.ReaderAt) (guarded, bool) {
	data := reflect.ValueOf(m).Elem().FieldByName("data")
	if !data.IsValid() || data.Kind() != reflect.Slice {
		return guarded{}, false
	}
	page := uintptr(os.Getpagesize()) // the last one is mapped whole
	size := (uintptr(m.Len()) + page - 1) &^ (page - 1)
	return guarded{m, data.Pointer(), size}, true
}

// exactFaults is whether the system tells the address of a fault, as far as seen;
// an emulated s390x gives it with its halves swapped. Elsewhere every memory fault
// is taken for one of the mapping, as nothing else that read touches should fault.
const exactFaults = runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64" || runtime.GOARCH == "386"

// read copies from the mapping and turns a memory fault in it into an error. It
// covers the goroutine that calls it, so every goroutine that reads calls it. Any
// other fault or panic is a bug and goes on.
func (g guarded) read(p []byte, off int64) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		r := recover()
		fault, ok := r.(interface {
			runtime.Error
			Addr() uintptr
		})
		switch {
		case r == nil:
		case ok && (!exactFaults || fault.Addr()-g.start < g.size):
			err = fault
		default:
			panic(r)
		}
	}()
	n, err := g.m.ReadAt(p, off)
	return shortRead(n, len(p), off, err)
}
