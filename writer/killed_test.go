package writer

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/tracecache/trace"
)

// names are those of the two caches that take turns.
var names = [2]string{"one", "two"}

// rewrites is set, to a path, where the test binary is started to be killed.
const rewrites = "TRACECACHE_TEST_REWRITES"

func TestMain(m *testing.M) {
	if path := os.Getenv(rewrites); path != "" {
		fmt.Println("started")
		for i := len(os.Args); ; i++ {
			if err := WriteFile(path, model(names[i%2])); err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
		}
	}
	os.Exit(m.Run())
}

// killed runs a program that rewrites path, first with the cache of a name, until it
// is killed after some time.
func killed(t *testing.T, path string, first int, after time.Duration) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	if first == 0 {
		cmd.Args = append(cmd.Args, "an argument, so that there are two")
	}
	cmd.Env = append(os.Environ(), rewrites+"="+path)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	if err := cmd.Start(); errors.Is(err, syscall.ENOEXEC) {
		t.Skip("an emulated program cannot start itself")
	} else {
		require.NoError(t, err)
	}
	line := make([]byte, len("started\n"))
	_, err = out.Read(line)
	require.NoError(t, err)
	require.Equal(t, "started\n", string(line))
	time.Sleep(after)
	require.NoError(t, cmd.Process.Kill())
	err = cmd.Wait()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	require.NotEqual(t, 1, exit.ExitCode(), "it failed by itself")
}

// A writer that is killed at any moment leaves the old file or the new one, whole.
// What else it leaves the next writer removes.
func TestKilled(t *testing.T) {
	kills := 200
	if testing.Short() {
		kills = 20
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "a.ztac")
	require.NoError(t, WriteFile(path, model("one")))
	one, two := contents(t, "one"), contents(t, "two")
	seen, left := map[string]int{}, 0
	for i := range kills {
		killed(t, path, i%2, rand.N(25*time.Millisecond))
		got, err := os.ReadFile(path)
		require.NoError(t, err)
		switch {
		case bytes.Equal(got, one):
			seen["one"]++
		case bytes.Equal(got, two):
			seen["two"]++
		default:
			require.Fail(t, "the file is neither the old one nor the new one")
		}
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		left += len(entries) - 1
		require.LessOrEqual(t, len(entries), 2, "what the one before left is still there")
	}
	t.Logf("%v, %d left a temporary", seen, left)
	if !testing.Short() {
		assert.Len(t, seen, 2)
		assert.Positive(t, left)
	}
	if runtime.GOOS != "windows" { // where it must be a minute old
		require.NoError(t, WriteFile(path, model("two")))
		requireFolder(t, dir, "a.ztac")
	}
}

// Only what is a temporary of this very name, and of no living writer, is removed.
func TestAbandoned(t *testing.T) {
	if openProtects {
		t.Skip("what is new is left alone")
	}
	for _, base := range []string{"a.ztac", "a[b]*?.ztac", ".ztac", strings.Repeat("é", 110), strings.Repeat("é", 112) + "x"} {
		dir := t.TempDir()
		path := filepath.Join(dir, base)
		touch := func(name string) {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600))
		}
		others := []string{
			".b" + base[:min(len(base), 200)] + ".01234567.tmp", base[:min(len(base), 200)] + ".01234567.tmp",
			"." + base[:min(len(base)-1, 200)] + ".01234567.tmp", tempPrefix(base[:len(base)-1]+"?") + "01234567.tmp",
			tempPrefix(base) + "0123456.tmp", tempPrefix(base) + "012345678.tmp", tempPrefix(base) + "0123456G.tmp",
			tempPrefix(base) + "01234567.tmp.x", tempPrefix(base) + "ABCDEF01.tmp", ".a.ztac.x.01234567.tmp",
		}
		for _, name := range others {
			touch(name)
		}
		touch(tempName(base, 0xabc))
		require.NoError(t, os.Chmod(filepath.Join(dir, tempName(base, 0xabc)), 0o444))
		touch(tempName(base, 0xffffffff))
		require.NoError(t, os.Mkdir(filepath.Join(dir, tempName(base, 5)), 0o700))
		living, err := osFS{}.Create(filepath.Join(dir, tempName(base, 7)), 0o600)
		require.NoError(t, err)
		require.NoError(t, living.Close(), "it is closed, and about to be renamed")

		require.NoError(t, WriteFile(path, model("one")))
		want := append(others, base, tempName(base, 5), tempName(base, 7))
		requireFolder(t, dir, want...)
		living.LetGo()
		require.NoError(t, WriteFile(path, model("one")))
		requireFolder(t, dir, want[:len(want)-1]...)
	}
}

// Writers of one path in their dozens: each finishes, and nothing is taken from
// another.
func TestManyWriters(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.ztac")
	errs := make(chan error)
	const writers = 8
	rounds := 10
	if testing.Short() {
		rounds = 2
	}
	for i := range writers {
		go func() {
			for range rounds {
				errs <- WriteFile(path, model(names[i%2]))
			}
		}()
	}
	for range writers * rounds {
		require.NoError(t, <-errs)
	}
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	if !bytes.Equal(contents(t, "one"), got) {
		requireFile(t, path, "two")
	}
	requireFolder(t, dir, "a.ztac")
}

// A file that others remove and make at any moment is written all the same.
func TestFileComesAndGoes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.ztac")
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				_ = os.Remove(path)
				_ = os.WriteFile(path, nil, 0o600)
			}
		}
	}()
	rounds := 300
	if testing.Short() {
		rounds = 30
	}
	for range rounds {
		assert.NoError(t, WriteFile(path, &trace.Model{}))
	}
	close(stop)
	<-stopped
}

// What is abandoned is looked for where the system says that the folder is.
func TestAbandonedBehindALink(t *testing.T) {
	if openProtects {
		t.Skip("what is new is left alone")
	}
	dir := t.TempDir()
	for _, sub := range []string{"here", "there/other"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, sub), 0o700))
	}
	if err := os.Symlink(filepath.Join("..", "there", "other"), filepath.Join(dir, "here", "link")); err != nil {
		t.Skip(err)
	}
	left := tempName("a.ztac", 1)
	for _, sub := range []string{"here", "there"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, sub, left), nil, 0o600))
	}
	sep := string(filepath.Separator)
	require.NoError(t, WriteFile(filepath.Join(dir, "here", "link")+sep+".."+sep+"a.ztac", model("one")))
	requireFolder(t, filepath.Join(dir, "there"), "a.ztac", "other")
	requireFolder(t, filepath.Join(dir, "here"), "link", left)
}

// Two processes that write one file at once leave that of one of them, whole, and take
// nothing from each other.
func TestTwoProcesses(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.ztac")
	require.NoError(t, WriteFile(path, model("one")))
	t.Run("both", func(t *testing.T) {
		for first := range 2 {
			t.Run(names[first], func(t *testing.T) {
				t.Parallel()
				killed(t, path, first, 300*time.Millisecond) // fails where a write of it does
			})
		}
	})
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	if !bytes.Equal(contents(t, "one"), got) {
		requireFile(t, path, "two")
	}
}
