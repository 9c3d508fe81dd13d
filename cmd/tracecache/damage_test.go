package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/tracecache/pod"
)

// damagedFile is a copy of a file of the second writer with a bit flipped in the
// stored bytes of a section's first block.
func damagedFile(t *testing.T, name string, section string) string {
	t.Helper()
	data, err := os.ReadFile(foreign(name))
	require.NoError(t, err)
	dir := pod.DecodeDirectory(data[pod.FileHeaderSize:])
	done := false
	for _, id := range pod.Sections {
		if id.String() == section {
			end := dir[id].FileOffset + dir[id].CompressedSize
			data[end-1] ^= 1
			done = true
		}
	}
	require.True(t, done, section)
	path := filepath.Join(t.TempDir(), section+"-"+name)
	require.NoError(t, os.WriteFile(path, data, 0o600))
	return path
}
