package mapped

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/tracecache/pod"
)

// Where a file cannot be mapped, plain reads give the same bytes and the same
// errors.
func TestPlainReads(t *testing.T) {
	var dir pod.Directory
	for i := range dir {
		dir[i] = pod.DirectoryEntry{SectionID: pod.Section(i), FileOffset: 144 + 10*uint64(i), CompressedSize: 10}
	}
	b := dir.Append(pod.FileHeader{Magic: pod.Magic, Version: pod.Version}.Append(nil))
	for i := range 50 {
		b = append(b, byte(i))
	}
	path := filepath.Join(t.TempDir(), "cache")
	require.NoError(t, os.WriteFile(path, b, 0o600))

	file, err := os.Open(path)
	require.NoError(t, err)
	f, err := open(path, int64(len(b)), nil, fileSource{file})
	require.NoError(t, err)
	assert.False(t, f.Mapped())
	s, err := f.Section(pod.SectionMemory)
	require.NoError(t, err)
	got := make([]byte, 4)
	_, err = s.ReadAt(got, 3)
	require.NoError(t, err)
	assert.Equal(t, []byte{23, 24, 25, 26}, got)

	require.NoError(t, os.Truncate(path, 170))
	_, err = s.ReadAt(got, 3)
	assert.ErrorIs(t, err, pod.ErrTruncated)
	assert.NoError(t, f.Close())
	_, err = s.ReadAt(got, 3)
	assert.ErrorIs(t, err, pod.ErrClosed)
	assert.Error(t, file.Close(), "the file was closed with the cache")
}

// A mapping of another file than the one that is open is not used.
func TestMappingOfAnotherFile(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "cache"), filepath.Join(dir, "other")
	require.NoError(t, os.WriteFile(path, make([]byte, 1000), 0o600))
	require.NoError(t, os.WriteFile(other, make([]byte, 1000), 0o600))
	file, err := os.Open(path)
	require.NoError(t, err)
	fi, err := file.Stat()
	require.NoError(t, err)
	// The name now leads to the other file, as when it was replaced between
	// the two opens.
	src := newSource(other, file, fi)
	assert.False(t, src.mapped())
	assert.NoError(t, src.close())
}
