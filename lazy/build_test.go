package lazy_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/tracecache/lazy"
	"example.com/tracecache/writer"
)

// builder builds caches of a source, whose text is a generation, and counts them.
type builder struct {
	dir, cache, source string
	builds             atomic.Int64
}

func newBuilder(t testing.TB) *builder {
	t.Helper()
	if runtime.GOOS == "js" {
		t.Skip("no file locks")
	}
	dir := t.TempDir()
	b := &builder{dir: dir, cache: filepath.Join(dir, "a.ztac"), source: filepath.Join(dir, "source")}
	b.setSource(t, 1)
	return b
}

func (b *builder) setSource(t testing.TB, generation int) {
	t.Helper()
	require.NoError(t, os.WriteFile(b.source, []byte(fmt.Sprintf("%-*d", 20+generation, generation)), 0o600))
}

func (b *builder) build(_ context.Context, tmp string) error {
	b.builds.Add(1)
	return buildFrom(b.source, tmp)
}

// buildFrom writes the cache of a source to path, where there must be no file.
func buildFrom(source, path string) error {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is there: %v", path, err)
	}
	fi, err := os.Stat(source)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(source)
	if err != nil {
		return err
	}
	f := soakFile{number: 7}
	if _, err := fmt.Sscanf(string(text), "%d", &f.generation); err != nil {
		return err
	}
	return writer.WriteFile(path, f.model(), writer.WithSource(fi.Size(), fi.ModTime()), writer.WithBlockSize(4<<10))
}

// open expects a cache of a generation, after so many builds in all.
func (b *builder) open(t testing.TB, generation uint64, builds int64) {
	t.Helper()
	c, err := lazy.OpenOrBuild(t.Context(), b.cache, b.source, b.build)
	require.NoError(t, err)
	defer c.Close()
	f := soakFile{7, generation}
	md, err := c.Metadata()
	require.NoError(t, err)
	assert.Equal(t, generation, md.Record().TotalEvents)
	name, err := c.LookupExact(f.address(8))
	require.NoError(t, err)
	assert.Equal(t, f.name(8), name)
	assert.Equal(t, builds, b.builds.Load())
	b.tidy(t)
}

// tidy expects nothing in the folder but what belongs there.
func (b *builder) tidy(t testing.TB) {
	t.Helper()
	entries, err := os.ReadDir(b.dir)
	require.NoError(t, err)
	for _, e := range entries {
		switch e.Name() {
		case "a.ztac", "a.ztac.lock", "source":
		default:
			assert.Fail(t, "left behind", e.Name())
		}
	}
}

func TestOpenOrBuild(t *testing.T) {
	b := newBuilder(t)
	b.open(t, 1, 1) // missing
	b.open(t, 1, 1) // fresh
	b.setSource(t, 2)
	b.open(t, 2, 2) // stale
	good, err := os.ReadFile(b.cache)
	require.NoError(t, err)
	builds := int64(2)
	for _, at := range []int{0, 4, 5, 24, 30, 145, 200, len(good) / 3, len(good) / 2, len(good) - 1} {
		bad := bytes.Clone(good)
		bad[at] ^= 0x20
		require.NoError(t, os.WriteFile(b.cache, bad, 0o600))
		builds++
		b.open(t, 2, builds)
		require.NoError(t, os.WriteFile(b.cache, good[:at], 0o600))
		builds++
		b.open(t, 2, builds)
	}
}

// However many ask, one builds.
func TestOpenOrBuildOnce(t *testing.T) {
	b := newBuilder(t)
	for round := range 5 {
		b.setSource(t, round+1)
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				c, err := lazy.OpenOrBuild(context.Background(), b.cache, b.source, b.build)
				if assert.NoError(t, err) {
					name, err := c.LookupExact(soakFile{7, uint64(round + 1)}.address(1))
					assert.NoError(t, err)
					assert.Equal(t, soakFile{7, uint64(round + 1)}.name(1), name)
					assert.NoError(t, c.Close())
				}
			})
		}
		wg.Wait()
		assert.EqualValues(t, round+1, b.builds.Load())
		b.tidy(t)
	}
}

// A build that fails leaves what was there, and tells both errors.
func TestOpenOrBuildFails(t *testing.T) {
	broken := errors.New("analysis failed")
	fails := map[string]func(b *builder) func(context.Context, string) error{
		"fails": func(*builder) func(context.Context, string) error {
			return func(_ context.Context, tmp string) error {
				return errors.Join(broken, os.WriteFile(tmp, []byte("half"), 0o600))
			}
		},
		"writes nothing": func(*builder) func(context.Context, string) error {
			return func(context.Context, string) error { return nil }
		},
		"writes something else": func(*builder) func(context.Context, string) error {
			return func(_ context.Context, tmp string) error { return os.WriteFile(tmp, []byte("something else"), 0o600) }
		},
		"no source": func(*builder) func(context.Context, string) error {
			return func(_ context.Context, tmp string) error { return writer.WriteFile(tmp, soakFile{1, 1}.model()) }
		},
		"changed meanwhile": func(b *builder) func(context.Context, string) error {
			return func(ctx context.Context, tmp string) error {
				err := b.build(ctx, tmp)
				return errors.Join(err, os.WriteFile(b.source, []byte("3, longer than it was before"), 0o600))
			}
		},
	}
	want := map[string]error{"fails": broken, "writes nothing": fs.ErrNotExist, "writes something else": lazy.ErrFormat,
		"no source": lazy.ErrStale, "changed meanwhile": lazy.ErrStale}
	for name, build := range fails {
		for _, old := range []bool{false, true} {
			b := newBuilder(t)
			var before []byte
			if old {
				b.open(t, 1, 1)
				b.setSource(t, 2)
				var err error
				before, err = os.ReadFile(b.cache)
				require.NoError(t, err)
			}
			_, err := lazy.OpenOrBuild(t.Context(), b.cache, b.source, build(b))
			require.ErrorIs(t, err, want[name], name)
			if old {
				assert.ErrorIs(t, err, lazy.ErrStale)
				after, err := os.ReadFile(b.cache)
				require.NoError(t, err)
				assert.True(t, bytes.Equal(before, after))
			} else {
				assert.ErrorIs(t, err, fs.ErrNotExist)
				assert.NoFileExists(t, b.cache)
			}
			b.tidy(t)
		}
	}
}

func TestOpenOrBuildPanics(t *testing.T) {
	b := newBuilder(t)
	assert.PanicsWithValue(t, "oops", func() {
		_, _ = lazy.OpenOrBuild(t.Context(), b.cache, b.source, func(_ context.Context, tmp string) error {
			assert.NoError(t, os.WriteFile(tmp, []byte("half"), 0o600))
			panic("oops")
		})
	})
	b.tidy(t)
	b.open(t, 1, 1)
}

func TestOpenOrBuildRefuses(t *testing.T) {
	b := newBuilder(t)
	never := func(context.Context, string) error { assert.Fail(t, "built"); return nil }
	_, err := lazy.OpenOrBuild(t.Context(), b.cache, b.source+"x", never)
	assert.ErrorIs(t, err, fs.ErrNotExist, "no source")
	_, err = lazy.OpenOrBuild(t.Context(), b.source, b.source, never)
	assert.ErrorContains(t, err, "same file")
	_, err = lazy.OpenOrBuild(t.Context(), b.dir, b.source, never)
	assert.ErrorContains(t, err, "regular file")
	_, err = lazy.OpenOrBuild(t.Context(), filepath.Join(b.dir, "no", "a.ztac"), b.source, never)
	assert.ErrorIs(t, err, fs.ErrNotExist)
	_, err = lazy.OpenOrBuild(t.Context(), b.cache, b.source, never, lazy.WithMaxSection(-1))
	assert.ErrorContains(t, err, "WithMaxSection")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = lazy.OpenOrBuild(ctx, b.cache, b.source, never)
	assert.ErrorIs(t, err, context.Canceled)
}

// Who waits for another's build stops when its context ends.
func TestOpenOrBuildWaits(t *testing.T) {
	b := newBuilder(t)
	building, finish := make(chan struct{}), make(chan struct{})
	first := make(chan error)
	go func() {
		c, err := lazy.OpenOrBuild(context.Background(), b.cache, b.source, func(ctx context.Context, tmp string) error {
			close(building)
			<-finish
			return b.build(ctx, tmp)
		})
		if err == nil {
			err = c.Close()
		}
		first <- err
	}()
	<-building
	ctx, cancel := context.WithCancel(t.Context())
	second := make(chan error)
	go func() {
		_, err := lazy.OpenOrBuild(ctx, b.cache, b.source, b.build)
		second <- err
	}()
	cancel()
	assert.ErrorIs(t, <-second, context.Canceled)
	close(finish)
	assert.NoError(t, <-first)
	b.open(t, 1, 1)
}

// buildsAndWaits is set, to a folder, where the test binary is started to build.
const buildsAndWaits = "TRACECACHE_TEST_BUILDS"

// buildAsChild is what the test binary does then: it builds, and says so. Where there
// is a file named wait it never ends building.
func buildAsChild(dir string) {
	c, err := lazy.OpenOrBuild(context.Background(), filepath.Join(dir, "a.ztac"), filepath.Join(dir, "source"),
		func(_ context.Context, tmp string) error {
			fmt.Println("building")
			if _, err := os.Stat(filepath.Join(dir, "wait")); err == nil {
				_ = os.WriteFile(tmp, []byte("half"), 0o600)
				select {}
			}
			return buildFrom(filepath.Join(dir, "source"), tmp)
		})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("opened", c.Size())
	os.Exit(0)
}

func (b *builder) child(t *testing.T) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), buildsAndWaits+"="+b.dir)
	return cmd
}

func start(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	err := cmd.Start()
	if errors.Is(err, syscall.ENOEXEC) {
		t.Skip("an emulated program cannot start itself")
	}
	require.NoError(t, err)
}

// Of several processes one builds.
func TestOpenOrBuildInProcesses(t *testing.T) {
	b := newBuilder(t)
	var outs [4]bytes.Buffer
	var cmds [4]*exec.Cmd
	for i := range cmds {
		cmds[i] = b.child(t)
		cmds[i].Stdout = &outs[i]
		start(t, cmds[i])
	}
	built := 0
	for i, cmd := range cmds {
		require.NoError(t, cmd.Wait(), outs[i].String())
		assert.Contains(t, outs[i].String(), "opened")
		built += strings.Count(outs[i].String(), "building")
	}
	assert.Equal(t, 1, built)
	b.open(t, 1, 0)
}

// A process that dies while it builds is in nobody's way.
func TestOpenOrBuildAfterKill(t *testing.T) {
	b := newBuilder(t)
	wait := filepath.Join(b.dir, "wait")
	require.NoError(t, os.WriteFile(wait, nil, 0o600))
	cmd := b.child(t)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	start(t, cmd)
	line := make([]byte, len("building\n"))
	_, err = out.Read(line)
	require.NoError(t, err)
	require.Equal(t, "building\n", string(line))
	opened := make(chan error)
	go func() {
		c, err := lazy.OpenOrBuild(context.Background(), b.cache, b.source, b.build)
		if err == nil {
			err = c.Close()
		}
		opened <- err
	}()
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	require.NoError(t, <-opened)
	require.NoError(t, os.Remove(wait))
	b.open(t, 1, 1)
}
