//go:build linux && (amd64 || arm64)

package mapped_test

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/tracecache/mapped"
	"example.com/tracecache/pod"
)

// Where the system does not map, because there is no room for it, the file is read.
func TestMappingRefused(t *testing.T) {
	const size, room = 4 << 30, 1 << 30
	path := sparse(t, size)
	stat, err := os.ReadFile("/proc/self/statm")
	require.NoError(t, err)
	pages, err := strconv.ParseUint(strings.Fields(string(stat))[0], 10, 64)
	require.NoError(t, err)
	var limit syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_AS, &limit))
	low := limit
	low.Cur = pages*uint64(os.Getpagesize()) + room
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_AS, &low))
	f, err := mapped.Open(path)
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_AS, &limit))
	require.NoError(t, err)
	assert.False(t, f.Mapped())
	s, err := f.Section(pod.SectionSymbols)
	require.NoError(t, err)
	n, err := s.ReadAt(make([]byte, 64), 0)
	assert.NoError(t, err)
	assert.Equal(t, 64, n)

	require.NoError(t, os.Truncate(path, size/2))
	_, err = s.ReadAt(make([]byte, 64), 0)
	assert.ErrorIs(t, err, pod.ErrTruncated)
	assert.NoError(t, f.Close())
}
