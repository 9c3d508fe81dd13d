package mapped_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"example.com/tracecache/mapped"
	"example.com/tracecache/pod"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sparse is a cache of size bytes with five sections of 64 bytes at its end;
// nothing of a section is ever looked at here.
func sparse(t testing.TB, size int64) string {
	t.Helper()
	b := pod.FileHeader{Magic: pod.Magic, Version: pod.Version, SourceFileSize: 5, SourceModTimeNs: 7}.Append(nil)
	var dir pod.Directory
	for i := range dir {
		dir[i] = pod.DirectoryEntry{SectionID: pod.Section(i), FileOffset: uint64(size) - uint64(5-i)*64, CompressedSize: 64}
	}
	path := filepath.Join(t.TempDir(), "cache")
	require.NoError(t, os.WriteFile(path, dir.Append(b), 0o600))
	require.NoError(t, os.Truncate(path, size))
	return path
}

func TestOpen(t *testing.T) {
	path := sparse(t, 1<<20)
	f, err := mapped.Open(path)
	require.NoError(t, err)
	assert.Equal(t, path, f.Path())
	assert.Equal(t, int64(1<<20), f.Size())
	assert.Equal(t, uint64(5), f.Header().SourceFileSize)
	switch runtime.GOOS {
	case "linux", "darwin", "windows":
		assert.True(t, f.Mapped())
	}
	s, err := f.Section(pod.SectionSymbols)
	require.NoError(t, err)
	assert.Equal(t, int64(1<<20-64), s.Off)
	n, err := s.ReadAt(make([]byte, 64), 0)
	assert.NoError(t, err)
	assert.Equal(t, 64, n)
	_, err = s.ReadAt(make([]byte, 64), 1)
	assert.ErrorIs(t, err, pod.ErrCorrupt)
	_, err = s.ReadAt(make([]byte, 1), -1)
	assert.Error(t, err)

	assert.NoError(t, f.Close())
	assert.NoError(t, f.Close())
	assert.ErrorIs(t, f.ReadAt(make([]byte, 1), 0), pod.ErrClosed)
	assert.ErrorIs(t, f.ReadAt(make([]byte, 1), 0), fs.ErrClosed)
}

// Opening reads 144 bytes, of a small file and of one of 8 GiB.
func TestOpenReadsHeaderOnly(t *testing.T) {
	for _, size := range []int64{1 << 20, 8 << 30} {
		f, err := os.Open(sparse(t, size))
		if errors.Is(err, syscall.EFBIG) || errors.Is(err, syscall.ENOSPC) {
			t.Skip("no sparse file of that size here: ", err)
		}
		require.NoError(t, err)
		r := &countedReads{ReaderAt: f}
		m, err := mapped.NewReader(r, size)
		require.NoError(t, err)
		assert.Equal(t, int64(144), r.n)
		assert.False(t, m.Mapped())
		assert.NoError(t, m.Close())
		assert.NoError(t, f.Close(), "the caller's file is the caller's to close")
	}
}

type countedReads struct {
	io.ReaderAt
	n int64
}

func (r *countedReads) ReadAt(p []byte, off int64) (int, error) {
	r.n += int64(len(p))
	return r.ReaderAt.ReadAt(p, off)
}

func TestNotAFile(t *testing.T) {
	_, err := mapped.Open(filepath.Join(t.TempDir(), "none"))
	assert.ErrorIs(t, err, fs.ErrNotExist)
	_, err = mapped.Open(t.TempDir())
	assert.ErrorIs(t, err, pod.ErrFormat)
	assert.ErrorContains(t, err, "not a regular file")
	if _, err := os.Stat(os.DevNull); err == nil && runtime.GOOS != "windows" {
		_, err = mapped.Open(os.DevNull)
		assert.ErrorIs(t, err, pod.ErrFormat)
	}
	empty := filepath.Join(t.TempDir(), "empty")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	_, err = mapped.Open(empty)
	assert.ErrorIs(t, err, pod.ErrTruncated)
	assert.ErrorContains(t, err, empty)
}

// A file that is cut under its mapping gives errors, and the process lives: where
// the cut leaves whole pages missing, which faults, and where it is inside the
// last page, which does not.
func TestTruncatedUnderMapping(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a mapped file cannot be cut there")
	}
	for _, keep := range []int64{0, 4096, 1<<20 - 1, 1<<20 - 100} {
		path := sparse(t, 1<<20)
		f, err := mapped.Open(path)
		require.NoError(t, err)
		s, err := f.Section(pod.SectionSymbols)
		require.NoError(t, err)
		require.NoError(t, os.Truncate(path, keep))
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 2 {
					_, err := s.ReadAt(make([]byte, 64), 0)
					assert.ErrorIs(t, err, pod.ErrTruncated, "%d bytes kept", keep)
				}
			})
		}
		wg.Wait()
		if keep >= pod.DataOffset {
			assert.NoError(t, f.ReadAt(make([]byte, 24), 0), "what is still there is still read")
		}
		assert.NoError(t, f.Close())
	}
}

// A file that is replaced by name keeps its old bytes for those who have it open.
func TestReplacedUnderMapping(t *testing.T) {
	path, other := sparse(t, 1<<20), sparse(t, 1<<19)
	f, err := mapped.Open(path)
	require.NoError(t, err)
	if err := os.Rename(other, path); err != nil {
		require.Equal(t, "windows", runtime.GOOS, "%v", err)
	}
	s, err := f.Section(pod.SectionSymbols)
	require.NoError(t, err)
	_, err = s.ReadAt(make([]byte, 64), 0)
	assert.NoError(t, err)
	assert.NoError(t, f.Close())
}

// slowReader holds reads up so that Close comes in between.
type slowReader struct {
	io.ReaderAt
	in, out chan struct{}
}

func (r *slowReader) ReadAt(p []byte, off int64) (int, error) {
	if off > 0 {
		r.in <- struct{}{}
		<-r.out
	}
	return r.ReaderAt.ReadAt(p, off)
}

func TestCloseWaitsForNobody(t *testing.T) {
	file, err := os.Open(sparse(t, 1<<20))
	require.NoError(t, err)
	defer file.Close()
	r := &slowReader{file, make(chan struct{}), make(chan struct{})}
	f, err := mapped.NewReader(r, 1<<20)
	require.NoError(t, err)
	result := make(chan error)
	go func() { result <- f.ReadAt(make([]byte, 10), 1000) }()
	<-r.in
	assert.NoError(t, f.Close(), "with a read in flight")
	close(r.out)
	assert.NoError(t, <-result, "the read finishes")
	assert.ErrorIs(t, f.ReadAt(make([]byte, 10), 1000), pod.ErrClosed)
}

func TestFresh(t *testing.T) {
	source := filepath.Join(t.TempDir(), "source")
	require.NoError(t, os.WriteFile(source, []byte("12345"), 0o600))
	mtime := time.Unix(1700000000, 123456700)
	require.NoError(t, os.Chtimes(source, mtime, mtime))
	fi, err := os.Stat(source)
	require.NoError(t, err)

	open := func(size uint64, ns int64) *mapped.File {
		b, err := os.ReadFile(sparse(t, 4096))
		require.NoError(t, err)
		copy(b, pod.FileHeader{Magic: pod.Magic, Version: pod.Version, SourceFileSize: size, SourceModTimeNs: ns}.Append(nil))
		f, err := mapped.OpenBytes(b)
		require.NoError(t, err)
		return f
	}
	ns := fi.ModTime().UnixNano()
	assert.NoError(t, open(5, ns).Fresh(source))
	for name, f := range map[string]*mapped.File{
		"other size":   open(6, ns),
		"other time":   open(5, ns+1),
		"not recorded": open(0, 0),
		"no time":      open(5, 0),
	} {
		assert.ErrorIs(t, f.Fresh(source), pod.ErrStale, name)
	}
	err = open(0, 0).Fresh(filepath.Join(t.TempDir(), "none"))
	assert.ErrorIs(t, err, pod.ErrStale, "both missing is stale")
	err = open(5, ns).Fresh(filepath.Join(t.TempDir(), "none"))
	assert.ErrorIs(t, err, pod.ErrStale)
	assert.NotErrorIs(t, err, fs.ErrNotExist, "a missing source is no missing cache")
}

// The checksum table must be in the file and in no other section.
func TestChecksumTable(t *testing.T) {
	b, err := os.ReadFile(sparse(t, 4096))
	require.NoError(t, err)
	dir := pod.DecodeDirectory(b[24:])
	for i := range dir {
		dir[i].Reserved = 1
	}
	dir[pod.SectionMemory].FileOffset = 1000
	copy(b[24:], dir.Append(nil))
	f, err := mapped.OpenBytes(b)
	require.NoError(t, err)
	table, err := f.ChecksumTable(pod.SectionMemory, 3)
	assert.NoError(t, err)
	assert.Len(t, table, 12)
	_, err = f.ChecksumTable(pod.SectionStringTable, 1)
	assert.ErrorIs(t, err, pod.ErrCorrupt, "in the section behind")
	_, err = f.ChecksumTable(pod.SectionSymbols, 1)
	assert.ErrorIs(t, err, pod.ErrTruncated, "behind the end")
}
