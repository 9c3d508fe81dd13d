package convert

import (
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/tracecache/pod"
)

// splitShapes links shapes.c and takes it apart into a binary, whose debug link
// names shapes.debug, and that file. link is an option on the build id.
func splitShapes(t *testing.T, id string) (full, short, debug string) {
	t.Helper()
	need(t, "gcc", "nm", "objcopy", "strip")
	canStart(t)
	dir := t.TempDir()
	full, short, debug = filepath.Join(dir, "full"), filepath.Join(dir, "app"), filepath.Join(dir, "shapes.debug")
	src, err := filepath.Abs(filepath.Join(binDir, "shapes.c"))
	require.NoError(t, err)
	for _, args := range [][]string{
		{"gcc", "-shared", "-fPIC", "-O1", "-nostdlib", "-Wl,--build-id=" + id, "-o", full, src},
		{"objcopy", "--only-keep-debug", full, debug},
		{"strip", "-o", short, full},
		{"objcopy", "--add-gnu-debuglink=" + debug, short},
	} {
		msg, err := exec.Command(args[0], args[1:]...).CombinedOutput()
		require.NoError(t, err, "%v: %s", args, msg)
	}
	return full, short, debug
}

// putFile moves a file into a folder that it makes.
func putFile(t *testing.T, file string, to ...string) {
	t.Helper()
	path := filepath.Join(to...)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.Rename(file, path))
}

func TestDebugFile(t *testing.T) {
	const id = "0x0123456789abcdef0123456789abcdef01234567"
	for _, tt := range []struct {
		name, id string
		at       func(dir, app string) []string
	}{
		{"by build id", id, func(dir, _ string) []string {
			return []string{dir, ".build-id", "01", "23456789abcdef0123456789abcdef01234567.debug"}
		}},
		{"by link, beside a copy of the binary's folder", "none", func(dir, app string) []string {
			return []string{dir, filepath.Dir(app), "shapes.debug"}
		}},
		{"by link, in the folder itself", id, func(dir, _ string) []string { return []string{dir, "shapes.debug"} }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			full, short, debug := splitShapes(t, tt.id)
			dir := t.TempDir()
			putFile(t, debug, tt.at(dir, short)...)
			want := elfNM(t, full)

			part := readBinary(t, short, options{debugDirs: []string{t.TempDir(), dir}})
			checkShapes(t, part, want)
			require.Len(t, part.Model.Modules, 1)
			mod := part.Model.Modules[0]
			assert.Equal(t, "app", mod.Name)
			assert.Equal(t, short, mod.FullPath)
			assert.Equal(t, readBinary(t, full, options{}).Model.Modules[0].Size, mod.Size)
			if tt.id == id {
				assert.Equal(t, id[2:], hex.EncodeToString(mod.ImageID))
			}

			for _, s := range readBinary(t, short, options{}).Model.Symbols {
				assert.NotEqual(t, "hidden", s.Name, "not asked for the debug file")
			}
		})
	}
}

func TestDebugFileRefused(t *testing.T) {
	const id, other = "0x0123456789abcdef", "0x0123456789abcd00"
	t.Run("another build id", func(t *testing.T) {
		_, short, _ := splitShapes(t, id)
		_, _, debug := splitShapes(t, other)
		dir := t.TempDir()
		putFile(t, debug, dir, ".build-id", "01", "23456789abcdef.debug")
		_, err := tryBinary(short, options{debugDirs: []string{dir}})
		assert.NotErrorIs(t, err, pod.ErrStale, "no cache is stale")
		assert.ErrorContains(t, err, "23456789abcdef.debug: its build id is "+other[2:]+" and that of the binary "+id[2:])
		assert.ErrorContains(t, err, "--debug-dir")
	})
	t.Run("another checksum", func(t *testing.T) {
		_, short, debug := splitShapes(t, "none")
		f, err := os.OpenFile(debug, os.O_APPEND|os.O_WRONLY, 0)
		require.NoError(t, err)
		_, err = f.Write([]byte{0})
		require.NoError(t, err)
		require.NoError(t, f.Close())
		dir := t.TempDir()
		putFile(t, debug, dir, "shapes.debug")
		_, err = tryBinary(short, options{debugDirs: []string{dir}})
		assert.ErrorIs(t, err, pod.ErrChecksum)
	})
	t.Run("the right one elsewhere", func(t *testing.T) {
		full, short, debug := splitShapes(t, id)
		_, _, wrong := splitShapes(t, other)
		bad, good := t.TempDir(), t.TempDir()
		putFile(t, wrong, bad, ".build-id", "01", "23456789abcdef.debug")
		putFile(t, debug, good, "shapes.debug")
		checkShapes(t, readBinary(t, short, options{debugDirs: []string{bad, good}}), elfNM(t, full))
	})
	t.Run("none there", func(t *testing.T) {
		_, short, _ := splitShapes(t, id)
		_, err := tryBinary(short, options{debugDirs: []string{t.TempDir(), "/nonexistent"}})
		assert.NoError(t, err)
	})
	t.Run("as an input", func(t *testing.T) {
		_, _, debug := splitShapes(t, id)
		_, err := tryBinary(debug, options{})
		assert.ErrorIs(t, err, pod.ErrUnsupported)
		assert.ErrorContains(t, err, "debug file")
	})
}
