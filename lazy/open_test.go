package lazy_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/tracecache/lazy"
	"example.com/tracecache/pod"
)

// Opening a cache, and closing it, takes less than 4 KiB, whatever its size.
func TestOpenAllocatesLittle(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("what the system's calls allocate differs")
	}
	for _, size := range []int64{1 << 20, 1 << 30} {
		var dir pod.Directory
		for i := range dir {
			dir[i] = pod.DirectoryEntry{SectionID: pod.Section(i), FileOffset: uint64(size) - uint64(5-i)*64, CompressedSize: 64}
		}
		path := filepath.Join(t.TempDir(), "sparse.ztac")
		head := dir.Append(pod.FileHeader{Magic: pod.Magic, Version: pod.Version}.Append(nil))
		require.NoError(t, os.WriteFile(path, head, 0o600))
		require.NoError(t, os.Truncate(path, size))
		const rounds = 200
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range rounds {
			c, err := lazy.Open(path)
			require.NoError(t, err)
			require.NoError(t, c.Close())
		}
		runtime.ReadMemStats(&after)
		perOpen := (after.TotalAlloc - before.TotalAlloc) / rounds
		t.Logf("%d bytes for a file of %d", perOpen, size)
		assert.Less(t, perOpen, uint64(4<<10))
	}
}
