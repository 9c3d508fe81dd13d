package lazy

import (
	"encoding/binary"
	"os"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/tracecache/pod"
)

// The big arrays are views of the decoded section, wherever its contents put
// them: nothing is copied on a little-endian host.
func TestBigArraysAreViews(t *testing.T) {
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		t.Skip("a big-endian host decodes a copy")
	}
	for _, name := range []string{"plain", "blocks", "none", "holes", "callstacks", "unsorted", "sumzero"} {
		b, err := os.ReadFile("../testdata/foreign/" + name + ".ztac")
		require.NoError(t, err)
		c, err := OpenBytes(b)
		require.NoError(t, err)
		symbols, err := c.Symbols()
		require.NoError(t, err)
		strings, err := c.Strings()
		require.NoError(t, err)
		stacks, err := c.Callstacks()
		require.NoError(t, err)
		memory, err := c.Memory()
		require.NoError(t, err)
		inside(t, c, pod.SectionMemory, memory.callstackStats)
		inside(t, c, pod.SectionMemory, memory.churnStats)
		inside(t, c, pod.SectionSymbols, symbols.entries)
		inside(t, c, pod.SectionCallstacks, stacks.headers)
		inside(t, c, pod.SectionCallstacks, stacks.frames)
		inside(t, c, pod.SectionStringTable, strings.offsets)
		inside(t, c, pod.SectionStringTable, strings.packed)
	}
}

// inside asserts that a slice lies in the memory of a section.
func inside[T any](t *testing.T, c *Cache, id pod.Section, slice []T) {
	t.Helper()
	if len(slice) == 0 {
		return
	}
	raw := c.sections[id].state.Load().raw
	start := reflect.ValueOf(raw).Pointer()
	at := reflect.ValueOf(slice).Pointer()
	assert.True(t, start <= at && at < start+uintptr(len(raw)), "%v: a copy", id)
	assert.Equal(t, len(slice), cap(slice), "%v: spare capacity", id)
}
