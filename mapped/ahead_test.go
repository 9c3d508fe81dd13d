package mapped_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/tracecache/mapped"
	"example.com/tracecache/pod"
)

// rangeReader notes the reads of a file, and can fail some.
type rangeReader struct {
	io.ReaderAt
	mu    sync.Mutex
	reads [][2]int64 // offset, size
	fail  func(off, n int64) (keep int64, err error)
}

func (r *rangeReader) ReadAt(p []byte, off int64) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reads = append(r.reads, [2]int64{off, int64(len(p))})
	if r.fail != nil {
		if keep, err := r.fail(off, int64(len(p))); err != nil {
			n, _ := r.ReaderAt.ReadAt(p[:keep], off)
			return n, err
		}
	}
	return r.ReaderAt.ReadAt(p, off)
}

// take is the reads since the last call.
func (r *rangeReader) take() [][2]int64 {
	reads := r.reads
	r.reads = nil
	return reads
}

// ahead is a file of random bytes behind a header that places a section of 4 MB
// at 1000 and small ones behind it.
func ahead(t testing.TB) ([]byte, *rangeReader, *mapped.File) {
	b := make([]byte, 5<<20)
	rng := rand.New(rand.NewPCG(1, 31))
	for i := range b {
		b[i] = byte(rng.Uint64())
	}
	var dir pod.Directory
	for i := range dir {
		dir[i] = pod.DirectoryEntry{SectionID: pod.Section(i), Reserved: 1, FileOffset: uint64(4<<20 + 2000*i), CompressedSize: 1000}
	}
	dir[0] = pod.DirectoryEntry{Reserved: 1, FileOffset: 1000, CompressedSize: 4<<20 - 10000}
	copy(b, dir.Append(pod.FileHeader{Magic: pod.Magic, Version: pod.Version}.Append(nil)))
	r := &rangeReader{ReaderAt: bytes.NewReader(b)}
	f, err := mapped.NewReader(r, int64(len(b)))
	require.NoError(t, err)
	assert.Equal(t, [][2]int64{{0, 144}}, r.take(), "Open reads no more than the header")
	return b, r, f
}

const aheadSize = 320 << 10

// What stands behind a header or a checksum table comes with it in one read.
func TestReadAhead(t *testing.T) {
	b, r, f := ahead(t)
	check := func(s mapped.Section, off, n int64) {
		t.Helper()
		p := make([]byte, n)
		_, err := s.ReadAt(p, off)
		require.NoError(t, err)
		require.Equal(t, b[s.Off+off:][:n], p)
	}
	s, err := f.Section(0)
	require.NoError(t, err)
	check(s, 0, 64)
	check(s, 64, 1000)
	check(s, 1064, 256<<10)
	assert.Equal(t, [][2]int64{{1000, aheadSize}}, r.take(), "a header, its table and a block")
	check(s, aheadSize-10, 20)
	check(s, 1<<20, 1000)
	assert.Equal(t, [][2]int64{{1000 + aheadSize - 10, 20}, {1000 + 1<<20, 1000}}, r.take(), "what was not read is read as it is asked for")

	sums, err := f.ChecksumTable(0, 100)
	require.NoError(t, err)
	at := s.Off + s.Size
	assert.Equal(t, b[at:][:400], sums)
	for i := range pod.Section(4) {
		small, err := f.Section(i + 1)
		require.NoError(t, err)
		check(small, 0, 64)
		check(small, 64, 936)
		_, err = f.ChecksumTable(i+1, 2)
		require.NoError(t, err)
	}
	assert.Equal(t, [][2]int64{{at, aheadSize}}, r.take(), "a checksum table and all small sections")

	f.ReadAhead(2<<20, 300<<10)
	f.ReadAhead(2<<20+1000, 1000)
	check(s, 2<<20-1000, 300<<10)
	assert.Equal(t, [][2]int64{{2 << 20, 300 << 10}}, r.take(), "blocks side by side")
	f.ReadAhead(1<<20, 4<<20)
	f.ReadAhead(int64(len(b)), 10)
	f.ReadAhead(-1, 10)
	assert.Empty(t, r.take(), "too much, or nothing there")

	check(s, 0, 64)
	assert.Empty(t, r.take())
	f.Forget()
	check(s, 0, 64)
	assert.Len(t, r.take(), 1)
	require.NoError(t, f.Close())
	f.ReadAhead(2<<20, 1000)
	assert.Empty(t, r.take(), "closed")
}

// At most 1 MiB is kept, of what was used last.
func TestReadAheadIsBounded(t *testing.T) {
	_, r, f := ahead(t)
	for i := range int64(4) {
		f.ReadAhead(i<<20, 256<<10)
	}
	r.take()
	p := make([]byte, 10)
	require.NoError(t, f.ReadAt(p, 0))
	f.ReadAhead(5<<20-1000, 1000) // the second goes, it was not used for longest
	assert.Len(t, r.take(), 1)
	for i, want := range []int{0, 1, 0, 0} {
		require.NoError(t, f.ReadAt(p, int64(i)<<20))
		assert.Len(t, r.take(), want, "window %d", i)
	}
}

// A read ahead that fails is none: the read that wants the bytes fails or not.
func TestReadAheadFails(t *testing.T) {
	b, r, f := ahead(t)
	s, err := f.Section(0)
	require.NoError(t, err)
	p := make([]byte, 64)

	r.fail = func(int64, int64) (int64, error) { return 0, io.ErrNoProgress }
	_, err = s.ReadAt(p, 0)
	assert.ErrorIs(t, err, pod.ErrIO)
	assert.ErrorIs(t, err, io.ErrNoProgress)

	r.fail = func(_, n int64) (int64, error) {
		if n > 64 {
			return 0, errors.New("too large for this server")
		}
		return 0, nil
	}
	_, err = s.ReadAt(p, 0)
	assert.NoError(t, err)
	assert.Equal(t, b[1000:1064], p)

	r.fail = func(off, n int64) (int64, error) { return n / 2, io.ErrUnexpectedEOF }
	clear(p)
	_, err = s.ReadAt(p, 0)
	assert.NoError(t, err, "what was read is there")
	assert.Equal(t, b[1000:1064], p)
	r.take()
	_, err = s.ReadAt(make([]byte, aheadSize), 0)
	assert.ErrorIs(t, err, pod.ErrIO, "a connection broke, the file did not end")
}

func TestReadAheadFromManyGoroutines(t *testing.T) {
	b, _, f := ahead(t)
	s, err := f.Section(0)
	require.NoError(t, err)
	var wg sync.WaitGroup
	for g := range uint64(8) {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(2, g))
			for range 50 {
				off, n := rng.Int64N(3<<20), 1+rng.Int64N(300<<10)
				switch rng.IntN(4) {
				case 0:
					off = 0
				case 1:
					f.ReadAhead(s.Off+off, n)
				case 2:
					f.Forget()
				}
				p := make([]byte, n)
				_, err := s.ReadAt(p, off)
				assert.NoError(t, err)
				assert.True(t, bytes.Equal(b[s.Off+off:][:n], p))
			}
		})
	}
	wg.Wait()
}
