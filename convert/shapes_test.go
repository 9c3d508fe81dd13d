package convert

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/tracecache/trace"
)

// binDir has binaries of several linkers and the program that they are made of.
var binDir = filepath.Join("..", "testdata", "bin")

// linkShapes links shapes.c.
func linkShapes(t *testing.T, name string, flags ...string) string {
	t.Helper()
	src, err := filepath.Abs(filepath.Join(binDir, "shapes.c"))
	require.NoError(t, err)
	return built(t, name, func(out string) *exec.Cmd {
		args := append([]string{"-O1", "-nostdlib", "-Wl,--build-id", "-o", out, src}, flags...)
		return exec.Command("gcc", args...)
	})
}

// checkShapes checks an ELF file made of shapes.c by what nm says of it.
func checkShapes(t *testing.T, part *Part, fns []judged) {
	t.Helper()
	syms := part.Model.Symbols
	fns = slices.DeleteFunc(fns, func(f judged) bool { return f.name == "label_in_outer" })
	checkEdges(t, syms, fns)
	inner := slices.IndexFunc(fns, func(f judged) bool { return f.name == "inner" })
	outer := slices.IndexFunc(fns, func(f judged) bool { return f.name == "outer" })
	if inner < 0 || fns[outer].addr == fns[inner].addr { // BOLT takes them apart
		return
	}
	after := fns[inner].addr + fns[inner].size
	assert.Equal(t, "outer", floor(syms, after), "the function around another goes on behind it")
	i := slices.IndexFunc(syms, func(s trace.Symbol) bool { return s.Address == after })
	assert.Equal(t, "outer", syms[i].Name)
	for _, s := range syms {
		assert.NotEqual(t, "label_in_outer", s.Name, "a label in a sized function is no function")
	}
	unsized := slices.IndexFunc(fns, func(f judged) bool { return f.name == "unsized" })
	assert.Equal(t, "unsized", floor(syms, fns[unsized].addr+1))
	end := slices.IndexFunc(fns, func(f judged) bool { return f.name == "last" })
	assert.Empty(t, floor(syms, fns[end].addr+fns[end].size), "padding")
}

func TestLinkedShapes(t *testing.T) {
	need(t, "gcc", "nm")
	for _, l := range []struct {
		name, tool string
		flags      []string
	}{
		{"gnu.so", "ld", []string{"-shared", "-fPIC"}},
		{"gnu-static", "ld", []string{"-DSTART", "-static"}},
		{"gnu-hash.so", "ld", []string{"-shared", "-fPIC", "-Wl,-z,noseparate-code"}},
		{"lld-joined.so", "ld.lld", []string{"-shared", "-fPIC", "-fuse-ld=lld"}},
		{"lld-separate.so", "ld.lld", []string{"-shared", "-fPIC", "-fuse-ld=lld", "-Wl,-z,separate-code"}},
		{"lld-loadable.so", "ld.lld", []string{"-shared", "-fPIC", "-fuse-ld=lld", "-Wl,-z,separate-loadable-segments"}},
		{"lld-pie", "ld.lld", []string{"-DSTART", "-fPIE", "-pie", "-fuse-ld=lld"}},
		{"gold.so", "ld.gold", []string{"-shared", "-fPIC", "-fuse-ld=gold"}},
	} {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			need(t, l.tool)
			path := linkShapes(t, "shapes-"+l.name, l.flags...)
			part := readBinary(t, path, options{})
			checkShapes(t, part, elfNM(t, path))
			checkModules(t, path, part)
			if filepath.Ext(l.name) != ".so" {
				return
			}
			short := stripped(t, "shapes-stripped-"+l.name, path)
			dynamic := parseNM(t, output(t, "nm", "-D", "-S", "--defined-only", short), nmLine, 16)
			checkEdges(t, readBinary(t, short, options{}).Model.Symbols, dynamic)
		})
	}
}

func TestSavedShapes(t *testing.T) {
	for _, name := range []string{"lld.so", "bolt.elf", "mingw.exe", "mingw.dll"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(binDir, name)
			nm, err := os.ReadFile(path + ".nm")
			require.NoError(t, err)
			part := readBinary(t, path, options{})
			fns := parseNM(t, nm, nmLine, 16)
			if part.Kind == KindPE {
				checkEdges(t, part.Model.Symbols, fns)
				return
			}
			checkShapes(t, part, fns)
			checkModules(t, path, part)
		})
	}
}

func TestModulePerDelta(t *testing.T) {
	// The rewritten file has new code in a segment at 0x4000, offset 0x4000, and
	// what is left of the old in one at 0x1480, offset 0x480.
	part := readBinary(t, filepath.Join(binDir, "bolt.elf"), options{})
	mods := part.Model.Modules
	require.Len(t, mods, 2)
	assert.EqualValues(t, 0, mods[0].Base)
	assert.EqualValues(t, 0x5350, mods[0].Size)
	assert.EqualValues(t, 0x1000, mods[1].Base)
	assert.EqualValues(t, 0x580, mods[1].Size)
	full, err := filepath.Abs(filepath.Join(binDir, "bolt.elf"))
	require.NoError(t, err)
	for _, m := range mods {
		assert.Equal(t, "bolt.elf", m.Name)
		assert.Equal(t, full, m.FullPath)
		assert.Equal(t, mods[0].ImageID, m.ImageID)
	}
	assert.Len(t, mods[0].ImageID, 8, "lld's default is a short one")
}
