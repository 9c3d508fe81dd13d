//go:build linux || darwin

package mapped

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/exp/mmap"
)

// Only a fault in the mapping is an error of the file. One in the memory that is read
// into is a bug of this program, and is not hidden.
func TestFaultElsewhereGoesOn(t *testing.T) {
	if !exactFaults {
		t.Skip("where a fault was is not known on this machine")
	}
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, make([]byte, 3*os.Getpagesize()), 0o600))
	m, err := mmap.Open(path)
	require.NoError(t, err)
	g, ok := newGuarded(m)
	require.True(t, ok, "package mmap keeps its mapping elsewhere")

	p := make([]byte, 100)
	require.NoError(t, g.read(p, 0))
	forbidden, err := syscall.Mmap(-1, 0, os.Getpagesize(), syscall.PROT_NONE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	require.NoError(t, err)
	assert.Panics(t, func() { _ = g.read(forbidden, 0) })
	assert.Panics(t, func() { _ = guarded{}.read(p, 0) })

	require.NoError(t, os.Truncate(path, 0))
	for _, off := range []int64{0, int64(2*os.Getpagesize()) + 5, int64(3*os.Getpagesize()) - 100} {
		assert.Error(t, g.read(p, off), "at %d", off)
	}
	require.NoError(t, m.Close())
	require.NoError(t, syscall.Munmap(forbidden))
}
