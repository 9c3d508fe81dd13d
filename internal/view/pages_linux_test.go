package view

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The huge pages that lie in large memory are asked for.
func TestHugePages(t *testing.T) {
	if !kernelNotes(t) {
		t.Skip("the kernel, or what stands in for it, does not note who asked for huge pages")
	}
	b := MakeAligned(6*hugePage + 5)
	Huge(b)
	start := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	asked := 0
	for at := start; at < start+uintptr(len(b)); at += hugePage / 4 {
		page := at &^ (hugePage - 1)
		whole := page >= start && page+hugePage <= start+uintptr(len(b))
		if flags, ok := pageFlags(t, at); whole {
			require.True(t, ok, "offset %#x", at-start)
			assert.Contains(t, flags, "hg", "offset %#x", at-start)
			asked++
		}
	}
	assert.GreaterOrEqual(t, asked, 4*5)
}

// kernelNotes reports whether huge pages that are asked for show in the flags of
// memory that has nothing to do with ours.
func kernelNotes(t *testing.T) bool {
	t.Helper()
	b, err := syscall.Mmap(-1, 0, 2*hugePage, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	require.NoError(t, err)
	defer func() { require.NoError(t, syscall.Munmap(b)) }()
	_ = syscall.Madvise(b, syscall.MADV_HUGEPAGE)
	flags, _ := pageFlags(t, uintptr(unsafe.Pointer(unsafe.SliceData(b))))
	return slices.Contains(flags, "hg")
}

// pageFlags are the kernel's flags of the mapping that an address is in.
func pageFlags(t *testing.T, addr uintptr) (flags []string, ok bool) {
	t.Helper()
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return nil, false
	}
	defer func() { require.NoError(t, f.Close()) }()
	inside := false
	for s := bufio.NewScanner(f); s.Scan(); {
		var lo, hi uintptr
		if n, _ := fmt.Sscanf(s.Text(), "%x-%x ", &lo, &hi); n == 2 {
			inside = lo <= addr && addr < hi
		}
		if words, found := strings.CutPrefix(s.Text(), "VmFlags:"); found && inside {
			return strings.Fields(words), true
		}
	}
	return nil, false
}
