package view

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The huge pages that lie in large memory are asked for.
func TestHugePages(t *testing.T) {
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage"); err != nil {
		t.Skip("the kernel has no transparent huge pages")
	}
	b := MakeAligned(6*hugePage + 5)
	Huge(b)
	start := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	asked := 0
	for at := start; at < start+uintptr(len(b)); at += hugePage / 4 {
		page := at &^ (hugePage - 1)
		whole := page >= start && page+hugePage <= start+uintptr(len(b))
		flags, ok := pageFlags(t, at)
		if !ok {
			t.Skip("the kernel does not tell of its pages")
		}
		if whole {
			assert.Contains(t, flags, "hg", "offset %#x", at-start)
			asked++
		}
	}
	assert.GreaterOrEqual(t, asked, 4*5)
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
