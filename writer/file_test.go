package writer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/tracecache/trace"
)

// model is a model whose file is not empty and differs by name.
func model(name string) *trace.Model {
	m := &trace.Model{Session: trace.Session{AppName: name}}
	for i := range 3000 {
		m.Symbols = append(m.Symbols, trace.Symbol{Address: uint64(i), Name: fmt.Sprint(name, i*i)})
	}
	return m
}

// contents is the file of [model].
func contents(t *testing.T, name string) []byte {
	t.Helper()
	var out bytes.Buffer
	_, err := Write(&out, model(name))
	require.NoError(t, err)
	return out.Bytes()
}

// requireFile requires that path holds the cache of that name; "" stands for no
// file.
func requireFile(t *testing.T, path, name string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if name == "" {
		require.ErrorIs(t, err, fs.ErrNotExist)
		return
	}
	require.NoError(t, err)
	require.True(t, bytes.Equal(contents(t, name), got), "%s is not the cache %q", path, name)
}

// requireFolder requires that a folder holds these names and no others.
func requireFolder(t *testing.T, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	require.ElementsMatch(t, names, got)
}

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.ztac")
	for _, name := range []string{"one", "two"} {
		require.NoError(t, WriteFile(path, model(name)))
		requireFile(t, path, name)
		requireFolder(t, dir, "a.ztac")
	}
}

func TestWriteFileInTheCurrentFolder(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	require.NoError(t, WriteFile("a.ztac", model("one")))
	requireFile(t, filepath.Join(dir, "a.ztac"), "one")
	requireFolder(t, dir, "a.ztac")
}

func TestLongName(t *testing.T) {
	dir := t.TempDir()
	name := strings.Repeat("é", 120) + ".ztac"
	require.NoError(t, WriteFile(filepath.Join(dir, name), model("one")))
	requireFolder(t, dir, name)
}

func TestFailureBeforeWriting(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.ztac")
	require.NoError(t, WriteFile(path, model("old")))
	bad := model("new")
	bad.Symbols[7].Name = "\x00"
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for want, f := range map[error]func() error{
		ErrNUL:           func() error { return WriteFile(path, bad) },
		context.Canceled: func() error { return WriteFile(path, model("new"), WithContext(ctx)) },
	} {
		err := f()
		require.ErrorIs(t, err, want)
		assert.Contains(t, err.Error(), "write cache "+path+": ")
	}
	assert.Error(t, WriteFile(path, nil))
	assert.Error(t, WriteFile(path, bad, WithWorkers(0)))
	requireFile(t, path, "old")
	requireFolder(t, dir, "a.ztac")
}

func TestNoFolder(t *testing.T) {
	err := WriteFile(filepath.Join(t.TempDir(), "no", "a.ztac"), model("one"))
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestNotARegularFile(t *testing.T) {
	dir := t.TempDir()
	err := WriteFile(dir, model("one"))
	require.Error(t, err)
	assert.Contains(t, err.Error(), "expected a regular file, got a file of mode d")
	requireFolder(t, dir)
	if runtime.GOOS == "windows" {
		return
	}
	err = WriteFile(os.DevNull, model("one"))
	require.Error(t, err)
	assert.Contains(t, err.Error(), "expected a regular file, got a file of mode D")
}

func TestSymbolicLinks(t *testing.T) {
	dir := t.TempDir()
	for _, sub := range []string{"real", "links"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, sub), 0o777))
	}
	real := filepath.Join(dir, "real", "a.ztac")
	link, second := filepath.Join(dir, "links", "first"), filepath.Join(dir, "links", "second")
	if err := os.Symlink(filepath.Join("..", "real", "a.ztac"), link); err != nil {
		t.Skip(err)
	}
	require.NoError(t, os.Symlink(link, second))
	// The links lead to nothing first, then to a file.
	for _, name := range []string{"one", "two"} {
		require.NoError(t, WriteFile(second, model(name)))
		requireFile(t, real, name)
		requireFolder(t, filepath.Dir(real), "a.ztac")
		requireFolder(t, filepath.Dir(link), "first", "second")
		for _, l := range []string{link, second} {
			info, err := os.Lstat(l)
			require.NoError(t, err)
			assert.NotZero(t, info.Mode()&fs.ModeSymlink, "%s is a link no more", l)
		}
	}
	loop := filepath.Join(dir, "loop")
	require.NoError(t, os.Symlink(loop, loop))
	require.Error(t, WriteFile(loop, model("one")))
}

// "link/.." is the folder around what the link leads to, not the one around the
// link: a path is never cleaned as if it had no links.
func TestFoldersBehindLinks(t *testing.T) {
	dir := t.TempDir()
	for _, sub := range []string{"here", "there/deep", "there/other"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, sub), 0o777))
	}
	if err := os.Symlink(filepath.Join("..", "there", "deep"), filepath.Join(dir, "here", "link")); err != nil {
		t.Skip(err)
	}
	if runtime.GOOS == "windows" {
		t.Skip("the system cleans paths itself")
	}
	// A link to a file that is yet to be made, in a folder that is reached by a link.
	require.NoError(t, os.Symlink("../a.ztac", filepath.Join(dir, "there", "deep", "dangling")))
	require.NoError(t, WriteFile(filepath.Join(dir, "here", "link", "dangling"), model("one")))
	requireFile(t, filepath.Join(dir, "there", "a.ztac"), "one")
	requireFolder(t, filepath.Join(dir, "here"), "link")

	// Cleaned, the path would be here/other, which is not there to be synced.
	sep := string(filepath.Separator)
	path := filepath.Join(dir, "here", "link") + sep + ".." + sep + "other" + sep + "b.ztac"
	require.NoError(t, WriteFile(path, model("two")))
	requireFile(t, filepath.Join(dir, "there", "other", "b.ztac"), "two")
}

func TestModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no permissions")
	}
	path := filepath.Join(t.TempDir(), "a.ztac")
	plain := filepath.Join(t.TempDir(), "plain")
	require.NoError(t, os.WriteFile(plain, nil, 0o666)) // With the mask of this process.
	wantInfo, err := os.Stat(plain)
	require.NoError(t, err)
	require.NoError(t, WriteFile(path, model("one")))
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, wantInfo.Mode(), info.Mode())

	for _, perm := range []fs.FileMode{0o600, 0o666, 0o444, 0o751} {
		require.NoError(t, os.Chmod(path, perm))
		require.NoError(t, WriteFile(path, model("two")))
		info, err := os.Stat(path)
		require.NoError(t, err)
		assert.Equal(t, perm, info.Mode())
	}
}

// faultyFS fails one of its calls, counted over the file system and its files.
type faultyFS struct {
	osFS
	failAt int // counted from 1
	err    error
	calls  []string
	after  func(call string) // where set, runs before each call
}

func (f *faultyFS) call(name string) error {
	f.calls = append(f.calls, name)
	if f.after != nil {
		f.after(name)
	}
	if len(f.calls) == f.failAt {
		return f.err
	}
	return nil
}

func (f *faultyFS) Create(name string, perm fs.FileMode) (file, error) {
	if err := f.call("create"); err != nil {
		return nil, err
	}
	real, err := f.osFS.Create(name, perm)
	if err != nil {
		return nil, err
	}
	return &faultyFile{real, f}, nil
}

func (f *faultyFS) Rename(ctx context.Context, from, to string) error {
	if err := f.call("rename"); err != nil {
		return err
	}
	return f.osFS.Rename(ctx, from, to)
}

func (f *faultyFS) Remove(name string) error { // What undoes a failure does not fail.
	return f.osFS.Remove(name)
}

func (f *faultyFS) SyncDir(name string) error {
	if err := f.call("sync folder"); err != nil {
		return err
	}
	return f.osFS.SyncDir(name)
}

type faultyFile struct {
	file
	fs *faultyFS
}

func (f *faultyFile) Write(p []byte) (int, error) {
	if err := f.fs.call("write"); err != nil {
		n, _ := f.file.Write(p[:len(p)/2])
		if errors.Is(err, io.ErrShortWrite) {
			err = nil // A writer that breaks its contract.
		}
		return n, err
	}
	return f.file.Write(p)
}

func (f *faultyFile) Chmod(perm fs.FileMode) error {
	if err := f.fs.call("chmod"); err != nil {
		return err
	}
	return f.file.Chmod(perm)
}

func (f *faultyFile) Sync() error {
	if err := f.fs.call("sync"); err != nil {
		return err
	}
	return f.file.Sync()
}

func (f *faultyFile) Close() error {
	err := f.file.Close()
	if e := f.fs.call("close"); e != nil {
		return e
	}
	return err
}

// TestEveryOperationFails lets the first, second, … call fail until none is left
// to fail. Each time the old file is whole and nothing else is in the folder.
func TestEveryOperationFails(t *testing.T) {
	for _, old := range []string{"", "old"} {
		for _, cause := range []error{syscall.ENOSPC, syscall.EIO, io.ErrShortWrite} {
			dir := t.TempDir()
			path := filepath.Join(dir, "a.ztac")
			failed := map[string]bool{}
			for n := 1; ; n++ {
				if old != "" {
					require.NoError(t, WriteFile(path, model(old)))
				} else {
					require.NoError(t, os.RemoveAll(path))
				}
				fsys := &faultyFS{failAt: n, err: cause}
				err := writeFile(fsys, path, model("new"), []Option{WithCodec(0)})
				if len(fsys.calls) < n {
					require.NoError(t, err)
					break
				}
				require.ErrorIs(t, err, cause)
				at := fsys.calls[n-1]
				failed[at] = true
				if at == "sync folder" {
					assert.Contains(t, err.Error(), "the new file is in place")
					got, err := os.ReadFile(path)
					require.NoError(t, err)
					var want bytes.Buffer
					_, err = Write(&want, model("new"), WithCodec(0))
					require.NoError(t, err)
					require.True(t, bytes.Equal(want.Bytes(), got))
					continue
				}
				requireFile(t, path, old)
				if old == "" {
					requireFolder(t, dir)
				} else {
					requireFolder(t, dir, "a.ztac")
				}
			}
			want := map[string]bool{"create": true, "write": true, "sync": true, "close": true, "rename": true, "sync folder": true}
			if old != "" {
				want["chmod"] = true
			}
			assert.Equal(t, want, failed)
			requireFolder(t, dir, "a.ztac")
		}
	}
}

// TestOrderOfOperations: the bytes are on the disk before the name points to
// them.
func TestOrderOfOperations(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.ztac")
	fsys := &faultyFS{}
	require.NoError(t, writeFile(fsys, path, model("new"), nil))
	assert.Equal(t, []string{"create", "write", "sync", "close", "rename", "sync folder"}, fsys.calls)
}

// TestCancelledAtEveryOperation: a context that is done before the rename leaves
// everything as it was.
func TestCancelledAtEveryOperation(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.ztac")
	require.NoError(t, WriteFile(path, model("old")))
	for _, at := range []string{"create", "write", "chmod", "sync", "close"} {
		ctx, cancel := context.WithCancel(t.Context())
		fsys := &faultyFS{after: func(call string) {
			if call == at {
				cancel()
			}
		}}
		err := writeFile(fsys, path, model("new"), []Option{WithContext(ctx)})
		require.ErrorIs(t, err, context.Canceled, at)
		assert.NotContains(t, fsys.calls, "rename")
		requireFile(t, path, "old")
		requireFolder(t, dir, "a.ztac")
	}
}

// TestTemporaryNameTaken: a file that has the name already is left alone.
func TestTemporaryNameTaken(t *testing.T) {
	dir := t.TempDir()
	fsys := &faultyFS{failAt: 1, err: fs.ErrExist}
	require.NoError(t, writeFile(fsys, filepath.Join(dir, "a.ztac"), model("new"), nil))
	assert.Equal(t, []string{"create", "create", "write"}, fsys.calls[:3])
	requireFolder(t, dir, "a.ztac")

	name := filepath.Join(dir, "taken")
	require.NoError(t, os.WriteFile(name, []byte("x"), 0o666))
	_, err := osFS{}.Create(name, 0o666)
	require.ErrorIs(t, err, fs.ErrExist)
}

// TestTwoWriters: two writers of one path leave the file of one of them.
func TestTwoWriters(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.ztac")
	errs := make(chan error)
	for _, name := range []string{"one", "two"} {
		go func() { errs <- WriteFile(path, model(name)) }()
	}
	for range 2 {
		require.NoError(t, <-errs)
	}
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	if !bytes.Equal(contents(t, "one"), got) {
		requireFile(t, path, "two")
	}
	requireFolder(t, dir, "a.ztac")
}
