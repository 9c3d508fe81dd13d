package convert

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// stripped is a copy of a file without its symbol table.
func stripped(t *testing.T, name, path string) string {
	t.Helper()
	need(t, "strip")
	return built(t, name, func(out string) *exec.Cmd { return exec.Command("strip", "-o", out, path) })
}

func TestGoELF(t *testing.T) {
	for _, sys := range []string{"linux/amd64", "linux/386", "linux/arm64", "linux/s390x", "linux/ppc64le", "linux/riscv64"} {
		t.Run(sys, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && sys != "linux/amd64" && sys != "linux/386" {
				t.Skip("building the standard library for one more system takes its time")
			}
			name := "go-" + strings.ReplaceAll(sys, "/", "-")
			full := goBuild(t, name, goProgram, sys)
			fns := goNM(t, full)
			checkEdges(t, readBinary(t, full, options{}).Model.Symbols, fns)

			short := goBuild(t, name+"-s", goProgram, sys, "-ldflags=-s -w")
			checkEdges(t, readBinary(t, short, options{}).Model.Symbols, withoutABI(fns))
		})
	}
}

func TestGoELFModes(t *testing.T) {
	const native = "linux/amd64"
	t.Run("strip", func(t *testing.T) {
		full := goBuild(t, "go-linux-amd64", goProgram, native)
		part := readBinary(t, stripped(t, "go-stripped", full), options{})
		checkEdges(t, part.Model.Symbols, withoutABI(goNM(t, full)))
	})
	t.Run("pie", func(t *testing.T) {
		full := goBuild(t, "go-pie", goProgram, native, "-buildmode=pie")
		fns := goNM(t, full)
		checkEdges(t, readBinary(t, full, options{}).Model.Symbols, fns)
		checkEdges(t, readBinary(t, stripped(t, "go-pie-stripped", full), options{}).Model.Symbols, withoutABI(fns))
	})
	t.Run("pie of another machine", func(t *testing.T) {
		if testing.Short() {
			t.Skip("slow")
		}
		full := goBuild(t, "go-arm64-pie", goProgram, "linux/arm64", "-buildmode=pie")
		short := goBuild(t, "go-arm64-pie-s", goProgram, "linux/arm64", "-buildmode=pie", "-ldflags=-s -w")
		checkEdges(t, readBinary(t, short, options{}).Model.Symbols, withoutABI(goNM(t, full)))
	})
	for _, mode := range []struct {
		name  string
		slow  bool
		flags []string
	}{
		{"external", true, []string{"-ldflags=-linkmode=external"}},
		{"external pie", true, []string{"-ldflags=-linkmode=external", "-buildmode=pie"}},
		{"external lld pie", false, []string{"-ldflags=-linkmode=external -extldflags=-fuse-ld=lld", "-buildmode=pie"}},
		{"shared", true, []string{"-buildmode=c-shared"}},
		{"one code segment", true, []string{"-ldflags=-linkmode=external -extldflags=-Wl,-z,noseparate-code"}},
	} {
		t.Run(mode.name, func(t *testing.T) {
			t.Parallel()
			need(t, "gcc", "nm")
			if testing.Short() && mode.slow {
				t.Skip("slow")
			}
			if strings.Contains(mode.name, "lld") {
				need(t, "ld.lld")
			}
			name := "cgo-" + strings.ReplaceAll(mode.name, " ", "-")
			full := goBuild(t, name, cgoProgram, "", mode.flags...)
			part := readBinary(t, full, options{})
			all := elfNM(t, full)
			checkEdges(t, part.Model.Symbols, all)

			// Of the stripped file only Go's functions are known, so the
			// judge's others are left out where they do not matter.
			part = readBinary(t, stripped(t, name+"-stripped", full), options{})
			checkEdges(t, part.Model.Symbols, withoutABI(goOnly(t, full)))
		})
	}
}

// elfNM is what nm says of the functions of an ELF file.
func elfNM(t *testing.T, path string) []judged {
	t.Helper()
	return parseNM(t, output(t, "nm", "-S", "--defined-only", path), nmLine, 16)
}

// goOnly are the functions between the first and the last byte of Go text.
func goOnly(t *testing.T, path string) []judged {
	t.Helper()
	var start, end uint64
	for _, f := range parseMarkers(t, path) {
		switch f.name {
		case "runtime.text":
			start = f.addr
		case "runtime.etext":
			end = f.addr
		}
	}
	require.Less(t, start, end)
	var fns []judged
	for _, f := range elfNM(t, path) {
		if start <= f.addr && f.addr < end {
			fns = append(fns, f)
		}
	}
	return fns
}

func TestELFRefused(t *testing.T) {
	need(t, "gcc")
	src := writeSource(t, "c", "tiny.c", "int f(void) { return 1; }\n")
	obj := built(t, "tiny.o", func(out string) *exec.Cmd { return exec.Command("gcc", "-c", "-o", out, src) })
	_, err := tryBinary(obj, options{})
	assert.ErrorContains(t, err, "relocatable object")
}

// withoutSections is a file whose section headers nobody can find.
func withoutSections(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	clear(b[40:48]) // their offset
	clear(b[60:64]) // their number, and that of their names
	return b
}

func TestELFWithoutSections(t *testing.T) {
	path := filepath.Join(binDir, "lld.so")
	b := withoutSections(t, path)
	part, err := readELF(bytes.NewReader(b), int64(len(b)), path, &options{})
	require.NoError(t, err)
	nm, err := os.ReadFile(path + ".nm")
	require.NoError(t, err)
	exported := map[string]bool{}
	f, err := elf.Open(path)
	require.NoError(t, err)
	defer f.Close()
	syms, err := f.DynamicSymbols()
	require.NoError(t, err)
	for _, s := range syms {
		exported[s.Name] = true
	}
	found := 0
	for _, fn := range parseNM(t, nm, nmLine, 16) {
		if exported[fn.name] && fn.size > 0 {
			found++
			assert.Contains(t, []string{fn.name, "alias", "visible"}, floor(part.Model.Symbols, fn.addr))
			if fn.name != "outer" {
				assert.Contains(t, []string{fn.name, "alias", "visible"}, floor(part.Model.Symbols, fn.addr+fn.size-1))
			}
		}
	}
	assert.Greater(t, found, 5)
	require.Len(t, part.Model.Modules, 1)
	assert.Len(t, part.Model.Modules[0].ImageID, 8, "from the segment of notes")

	full := goBuild(t, "go-linux-amd64", goProgram, "linux/amd64")
	b = withoutSections(t, full)
	part, err = readELF(bytes.NewReader(b), int64(len(b)), full, &options{})
	require.NoError(t, err)
	checkEdges(t, part.Model.Symbols, withoutABI(goNM(t, full)))
}

// TestGoCommand reads a large binary, the go command itself.
func TestGoCommand(t *testing.T) {
	path := filepath.Join(goRoot(t), "bin", "go")
	if f, err := elf.Open(path); err != nil {
		t.Skip("no go command in ELF: ", err)
	} else {
		f.Close()
	}
	part := readBinary(t, path, options{})
	fns := goNM(t, path)
	require.Greater(t, len(fns), 5000)
	checkAscending(t, part.Model.Symbols)
	// The look-ups of the tests are slow on purpose, so not all are tried.
	for i := 0; i < len(fns); i += 11 {
		f := fns[i]
		for _, addr := range []uint64{f.addr, f.addr + f.size - 1, f.addr + f.size} {
			want := expected(fns, addr)
			if len(want) == 0 {
				want = []string{""}
			}
			require.Contains(t, want, floor(part.Model.Symbols, addr), "%s, address %#x", f.name, addr)
		}
	}
}
