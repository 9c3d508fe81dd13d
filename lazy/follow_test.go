package lazy_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/tracecache/lazy"
	"example.com/tracecache/pod"
	"example.com/tracecache/writer"
)

// publish writes a file of a generation as a writer does, and returns its bytes.
func publish(t testing.TB, path string, f soakFile) []byte {
	t.Helper()
	require.NoError(t, writer.WriteFile(path, f.model(), writer.WithBlockSize(4<<10), writer.WithSource(f.source())))
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return b
}

// put puts bytes in place by renaming.
func put(t testing.TB, path string, b []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(path+".new", b, 0o600))
	require.NoError(t, os.Rename(path+".new", path))
}

func follow(t testing.TB, path string, opts ...lazy.Option) *lazy.Follower {
	t.Helper()
	f, err := lazy.Follow(path, opts...)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, f.Close()) })
	return f
}

// refresh expects a change, or none.
func refresh(t testing.TB, f *lazy.Follower, want bool) {
	t.Helper()
	changed, err := f.Refresh(t.Context())
	require.NoError(t, err)
	require.Equal(t, want, changed)
}

func TestFollow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.ztac")
	_, err := lazy.Follow(path)
	require.ErrorIs(t, err, fs.ErrNotExist)
	publish(t, path, soakFile{1, 1})
	f := follow(t, path)
	old := f.Cache()
	assert.Same(t, old, f.Cache())
	refresh(t, f, false)
	publish(t, path, soakFile{1, 2})
	assert.Same(t, old, f.Cache(), "nothing happens by itself")
	refresh(t, f, true)
	refresh(t, f, false)
	for c, want := range map[*lazy.Cache]soakFile{old: {1, 1}, f.Cache(): {1, 2}} {
		assert.Equal(t, want, generation(c))
		name, err := c.LookupExact(want.address(3)) // cold: the old file is still read
		require.NoError(t, err)
		assert.Equal(t, want.name(3), name)
	}

	// The same bytes under another name are another file, and so are those of
	// another time.
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	put(t, path, b)
	refresh(t, f, true)
	require.NoError(t, os.Chtimes(path, time.Time{}, time.Unix(1e9, 5)))
	refresh(t, f, true)

	require.NoError(t, f.Close())
	require.NoError(t, f.Close())
	_, err = f.Refresh(t.Context())
	require.ErrorIs(t, err, lazy.ErrClosed)
	name, err := f.Cache().LookupExact(soakFile{1, 2}.address(0))
	require.NoError(t, err)
	assert.Equal(t, soakFile{1, 2}.name(0), name)
	require.NoError(t, old.Close())
}

// A file that is no good never takes the good one away.
func TestFollowRefuses(t *testing.T) {
	dir := t.TempDir()
	path, source := filepath.Join(dir, "a.ztac"), filepath.Join(dir, "source")
	require.NoError(t, os.WriteFile(source, []byte("x"), 0o600))
	fi, err := os.Stat(source)
	require.NoError(t, err)
	whole := func(generation uint64) []byte {
		var b bytes.Buffer
		_, err := writer.Write(&b, soakFile{1, generation}.model(), writer.WithBlockSize(4<<10), writer.WithSource(fi.Size(), fi.ModTime()))
		require.NoError(t, err)
		return b.Bytes()
	}
	good := whole(1)
	put(t, path, good)
	f := follow(t, path, lazy.WithSource(source))
	old := f.Cache()

	entries := make([]pod.DirectoryEntry, 0, 5)
	for _, id := range pod.Sections {
		info, err := old.Info(id)
		require.NoError(t, err)
		entries = append(entries, info.Entry)
	}
	edit := func(at int, by byte) []byte {
		b := whole(1)
		b[at] ^= by
		return b
	}
	type bad struct {
		name  string
		bytes []byte
		want  error
	}
	bads := []bad{
		{"nothing", nil, lazy.ErrTruncated},
		{"half", good[:len(good)/2], lazy.ErrTruncated},
		{"one byte short", good[:len(good)-1], lazy.ErrTruncated},
		{"something else", []byte("#!/bin/sh\n"), lazy.ErrFormat},
		{"newer", edit(4, 2), lazy.ErrVersionNew},
		{"stale", edit(8, 1), lazy.ErrStale},
	}
	for i, e := range entries {
		for _, at := range []uint64{0, 9, pod.BufferHeaderSize + 1, e.CompressedSize / 2, e.CompressedSize - 1, e.CompressedSize} {
			bads = append(bads, bad{fmt.Sprintf("section %d, byte %d", i, at), edit(int(e.FileOffset+at), 0x10), nil})
		}
	}
	generation := uint64(1)
	for _, bad := range bads {
		put(t, path, bad.bytes)
		for range 2 {
			changed, err := f.Refresh(t.Context())
			require.Error(t, err, bad.name)
			if bad.want != nil {
				require.ErrorIs(t, err, bad.want, bad.name)
			} else {
				require.True(t, pod.Damaged(err), "%s: %v", bad.name, err)
			}
			require.False(t, changed)
			require.Same(t, old, f.Cache())
		}
		if generation < 5 {
			generation++
			put(t, path, whole(generation))
			refresh(t, f, true)
			old = f.Cache()
			md, err := old.Metadata()
			require.NoError(t, err)
			require.Equal(t, generation, md.Record().TotalEvents)
		}
	}
	require.NoError(t, os.Remove(path))
	_, err = f.Refresh(t.Context())
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NoError(t, os.Mkdir(path, 0o700))
	_, err = f.Refresh(t.Context())
	require.ErrorIs(t, err, lazy.ErrFormat)
	require.NoError(t, os.Remove(path))
	put(t, path, whole(9))
	refresh(t, f, true)

	// The file stays and its source changes.
	require.NoError(t, os.WriteFile(source, []byte("longer"), 0o600))
	changed, err := f.Refresh(t.Context())
	assert.False(t, changed)
	assert.ErrorIs(t, err, lazy.ErrStale)
}

func TestRefreshCosts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.ztac")
	publish(t, path, soakFile{1, 1})
	f := follow(t, path)
	stats := f.CountStats()
	for want := 1; want < 5; want++ {
		refresh(t, f, false)
		assert.Equal(t, want, *stats)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := f.Refresh(ctx)
	assert.ErrorIs(t, err, context.Canceled)
}

// Readers of a follower see one generation at a time, forward only, while the file is
// replaced 200 times. Nothing of the files that went is left.
func TestFollowUnderReaders(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.ztac")
	rounds := uint64(200)
	if testing.Short() {
		rounds = 20
	}
	before := resources(t)
	publish(t, path, soakFile{1, 1})
	f, err := lazy.Follow(path)
	require.NoError(t, err)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			last := uint64(0)
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				case <-time.After(200 * time.Microsecond): // leaves the processor to the writer
				}
				c := f.Cache()
				of := generation(c)
				assert.GreaterOrEqual(t, of.generation, last)
				last = of.generation
				at := i * 31 % soakSymbols
				name, err := c.LookupExact(of.address(at))
				assert.NoError(t, err)
				assert.Equal(t, of.name(at), name)
				md, err := c.Metadata()
				if assert.NoError(t, err) {
					assert.Equal(t, of.generation, md.Record().TotalEvents)
				}
			}
		})
	}
	for range 2 {
		wg.Go(func() { // beside those of the writer
			for {
				select {
				case <-stop:
					return
				case <-time.After(time.Millisecond):
					_, err := f.Refresh(context.Background())
					assert.NoError(t, err)
				}
			}
		})
	}
	for g := uint64(2); g <= rounds; g++ {
		publish(t, path, soakFile{1, g})
		_, err := f.Refresh(t.Context())
		require.NoError(t, err)
		require.Equal(t, g, generation(f.Cache()).generation)
	}
	close(stop)
	wg.Wait()
	require.NoError(t, f.Close())
	f = nil
	eventually(t, func() bool { return resources(t).within(before) }, "descriptors and mappings")
}

// change is what Run told.
type change struct {
	generation uint64
	err        error
}

// Run sees files that are renamed onto the name, deleted and damaged, and tells of
// each once; by polling too.
func TestFollowRun(t *testing.T) {
	runs := map[string]func(*lazy.Follower, context.Context, func(*lazy.Cache, error)) error{
		"watching": (*lazy.Follower).Run,
		"polling":  (*lazy.Follower).Poll,
	}
	for name, run := range runs {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.ztac")
			publish(t, path, soakFile{1, 1})
			f := follow(t, path)
			changes := make(chan change, 100)
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error)
			go func() {
				ended <- run(f, ctx, func(c *lazy.Cache, err error) { changes <- change{generation(c).generation, err} })
			}()
			b := publish(t, path, soakFile{1, 2})
			assert.Equal(t, change{2, nil}, <-changes)
			put(t, path, b[:len(b)-1])
			got := <-changes
			assert.EqualValues(t, 2, got.generation)
			assert.ErrorIs(t, got.err, lazy.ErrTruncated)
			publish(t, path, soakFile{1, 3})
			assert.Equal(t, change{3, nil}, <-changes)
			require.NoError(t, os.Remove(path))
			assert.ErrorIs(t, (<-changes).err, fs.ErrNotExist)
			publish(t, path, soakFile{1, 4})
			assert.Equal(t, change{4, nil}, <-changes)
			assert.Empty(t, changes)
			cancel()
			assert.ErrorIs(t, <-ended, context.Canceled)

			go func() { ended <- run(f, t.Context(), func(*lazy.Cache, error) {}) }()
			require.NoError(t, f.Close())
			assert.NoError(t, <-ended)
		})
	}
}

// A name that is a link, as configuration folders have them, is followed to where it
// leads.
func TestFollowLink(t *testing.T) {
	dir := t.TempDir()
	one, two := filepath.Join(dir, "one"), filepath.Join(dir, "two")
	for i, d := range []string{one, two} {
		require.NoError(t, os.Mkdir(d, 0o700))
		publish(t, filepath.Join(d, "a.ztac"), soakFile{1, uint64(i + 1)})
	}
	link := filepath.Join(dir, "current")
	if err := os.Symlink(one, link); err != nil {
		t.Skip(err)
	}
	f := follow(t, filepath.Join(link, "a.ztac"))
	require.NoError(t, os.Symlink(two, link+".new"))
	require.NoError(t, os.Rename(link+".new", link))
	refresh(t, f, true)
	assert.EqualValues(t, 2, generation(f.Cache()).generation)
}

func TestFollowLogs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.ztac")
	publish(t, path, soakFile{1, 1})
	var out bytes.Buffer
	var f *lazy.Follower
	h := usingHandler{slog.NewTextHandler(&out, nil), func() { refresh(t, f, false) }} // it is not its turn any more
	f = follow(t, path, lazy.WithLogger(slog.New(h)))
	publish(t, path, soakFile{1, 2})
	refresh(t, f, true)
	assert.Contains(t, out.String(), "level=INFO")
	assert.Contains(t, out.String(), "file replaced")
}

// Whoever holds a cache keeps it, and when they let go it goes.
func TestReplacedCacheGoes(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("looks into /proc")
	}
	path := filepath.Join(t.TempDir(), "a.ztac")
	publish(t, path, soakFile{1, 1})
	before := resources(t)
	f := follow(t, path)
	old := f.Cache()
	publish(t, path, soakFile{1, 2})
	refresh(t, f, true)
	for range 3 {
		runtime.GC()
	}
	assert.Equal(t, before.maps+2, resources(t).maps)
	name, err := old.LookupExact(soakFile{1, 1}.address(9))
	require.NoError(t, err)
	assert.Equal(t, soakFile{1, 1}.name(9), name)
	old = nil
	eventually(t, func() bool { return resources(t).maps == before.maps+1 }, "the old mapping")
	runtime.KeepAlive(f)
}

// A section that is larger than the cache will decode keeps no file from being followed,
// as it keeps none from being opened.
func TestFollowWithMaxSection(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.ztac")
	publish(t, path, soakFile{1, 1})
	f := follow(t, path, lazy.WithMaxSection(2000))
	publish(t, path, soakFile{1, 2})
	refresh(t, f, true)
	_, err := f.Cache().Symbols()
	assert.ErrorIs(t, err, lazy.ErrTooLarge)
}

// Where the folder cannot be watched, since it is not there, the file is polled.
func TestFollowRunWithoutWatching(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sub")
	path := filepath.Join(dir, "a.ztac")
	require.NoError(t, os.Mkdir(dir, 0o700))
	publish(t, path, soakFile{1, 1})
	f := follow(t, path)
	require.NoError(t, os.RemoveAll(dir))
	changes, ended := make(chan change, 10), make(chan error)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		ended <- f.Run(ctx, func(c *lazy.Cache, err error) { changes <- change{generation(c).generation, err} })
	}()
	assert.ErrorIs(t, (<-changes).err, fs.ErrNotExist)
	require.NoError(t, os.Mkdir(dir, 0o700))
	publish(t, path, soakFile{1, 2})
	assert.Equal(t, change{2, nil}, <-changes)
	cancel()
	assert.ErrorIs(t, <-ended, context.Canceled)
}
