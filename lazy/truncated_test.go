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

// A file that is cut under its mapping: what is decoded goes on answering, what is not
// there any more is the same error of its section each time.
func TestTruncatedUnderCache(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a mapped file cannot be cut there")
	}
	good, _ := cacheFile(t, 3000)
	for _, id := range pod.Sections {
		off, size := stored(good, id)
		for _, keep := range []int{0, 4096, off, off + 70, off + size - 1} {
			path := filepath.Join(t.TempDir(), "a.ztac")
			require.NoError(t, os.WriteFile(path, good, 0o600))
			c, err := lazy.Open(path)
			require.NoError(t, err)
			decoded := pod.SectionCallstacks
			if id == decoded {
				decoded = pod.SectionStringTable
			}
			require.NoError(t, accessors[decoded](c))
			require.NoError(t, os.Truncate(path, int64(keep)))
			first := accessors[id](c)
			if off+size <= keep {
				require.NoError(t, first)
				continue
			}
			require.ErrorIs(t, first, lazy.ErrTruncated, "%v, %d bytes kept", id, keep)
			var e *pod.Error
			require.ErrorAs(t, first, &e)
			assert.Equal(t, path, e.Path)
			if e.Section != id { // symbols need their names
				assert.Equal(t, pod.SectionSymbols, id)
				assert.Equal(t, pod.SectionStringTable, e.Section)
			}
			assert.Equal(t, first, accessors[id](c))
			assert.NoError(t, accessors[decoded](c), "what is decoded")
			require.NoError(t, c.Close())
		}
	}
}
