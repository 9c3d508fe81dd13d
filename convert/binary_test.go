package convert

import (
	"bufio"
	"bytes"
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/tracecache/trace"
)

// The Go program that the tests build for many systems. It has a generic
// function, a closure and a method, which tables name in different ways.
const goProgram = `package main

import "os"

type pair[K comparable, V any] struct {
	key   K
	value V
}

//go:noinline
func (p *pair[K, V]) swap(k K, v V) (K, V) {
	old := *p
	p.key, p.value = k, v
	return old.key, old.value
}

//go:noinline
func largest[T int | string](s ...T) T {
	m := s[0]
	for _, v := range s {
		m = max(m, v)
	}
	return m
}

func main() {
	p := &pair[string, int]{"a", 1}
	k, v := p.swap("b", 2)
	f := func() string { return largest(k, p.key) }
	defer func() { os.Stdout.WriteString(f()) }()
	os.Exit(largest(v, p.value))
}
`

// cgoProgram is a Go program that has C code in it.
const cgoProgram = `package main

/*
static int twice(int n) { return 2 * n; }
static int thrice(int n) { return 3 * n + twice(n); }
*/
import "C"

import "os"

//export GoAdd
func GoAdd(a, b C.int) C.int { return a + b }

func main() {
	os.Exit(int(C.thrice(C.int(len(os.Args)))))
}
`

// buildDir keeps what the tests build, once per run.
var buildDir = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "tracecache-convert-") })

// goRoot is where the Go release is.
func goRoot(t *testing.T) string {
	t.Helper()
	return strings.TrimSpace(string(output(t, "go", "env", "GOROOT")))
}

// builds are the files that were built, by name.
var builds sync.Map

// built returns the file that make writes, made once per run.
func built(t *testing.T, name string, make func(out string) *exec.Cmd) string {
	t.Helper()
	canStart(t)
	once, _ := builds.LoadOrStore(name, sync.OnceValues(func() (string, error) {
		dir, err := buildDir()
		if err != nil {
			return "", err
		}
		out := filepath.Join(dir, name)
		cmd := make(out)
		if msg, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%v: %w\n%s", cmd.Args, err, msg)
		}
		return out, nil
	}))
	out, err := once.(func() (string, error))()
	require.NoError(t, err)
	return out
}

// writeSource writes a source file into a folder of its own.
func writeSource(t *testing.T, dir, file, text string) string {
	t.Helper()
	root, err := buildDir()
	require.NoError(t, err)
	path := filepath.Join(root, dir, file)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	if old, err := os.ReadFile(path); err != nil || string(old) != text {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return path
}

// goBuild builds a Go program. env names the system, "linux/amd64", or is empty
// for cgo on this one.
func goBuild(t *testing.T, name, program, system string, flags ...string) string {
	t.Helper()
	src := writeSource(t, fmt.Sprintf("src-%d", len(program)), "main.go", program)
	return built(t, name, func(out string) *exec.Cmd {
		args := append([]string{"build", "-o", out}, flags...)
		cmd := exec.Command("go", append(args, src)...)
		cmd.Env = append(hostEnv(), "GOWORK=off", "GO111MODULE=off")
		if system == "" {
			cmd.Env = append(cmd.Env, "CGO_ENABLED=1")
		} else {
			goos, arch, _ := strings.Cut(system, "/")
			cmd.Env = append(cmd.Env, "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+arch)
		}
		return cmd
	})
}

// canStart skips a test that starts other programs where that does not work: a
// Go program for 386 under user-mode emulation dies of it. Other processors see
// the same files.
func canStart(t *testing.T) {
	t.Helper()
	if runtime.GOARCH == "386" {
		t.Skip("starts other programs")
	}
}

// hostEnv is the environment without what makes the tests themselves run for
// another system than the tools.
func hostEnv() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains([]string{"GOOS", "GOARCH", "CGO_ENABLED", "GOFLAGS"}, name)
	})
}

// need skips a test where a tool is not there. Only on Linux do the system's
// compilers make ELF files.
func need(t *testing.T, tools ...string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the tools of this system make other files")
	}
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
}

// output runs a command and returns what it prints.
func output(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	canStart(t)
	var stderr bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Stderr = &stderr
	cmd.Env = hostEnv()
	out, err := cmd.Output()
	require.NoError(t, err, "%s %v: %s", name, args, stderr.String())
	return out
}

// read reads a binary with the importer that its test is of.
func readBinary(t *testing.T, path string, o options) *Part {
	t.Helper()
	part, err := tryBinary(path, o)
	require.NoError(t, err)
	return part
}

// tryBinary is readBinary for files that may be refused.
func tryBinary(path string, o options) (*Part, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	kind, err := detect(f, info.Size())
	if err != nil {
		return nil, err
	}
	switch kind {
	case KindELF:
		return readELF(f, info.Size(), path, &o)
	case KindMachO:
		return readMachO(f, info.Size(), path, &o)
	case KindPE:
		return readPE(f, info.Size(), path, &o)
	}
	return nil, fmt.Errorf("%s is no binary but %s", path, kind)
}

// judged is a function as nm sees it.
type judged struct {
	addr, size uint64
	name       string
}

var (
	goNMLine = regexp.MustCompile(`^\s*([0-9a-f]+)\s+(\d+)\s+[Tt] (.+)$`)
	nmLine   = regexp.MustCompile(`^([0-9a-f]+) (?:([0-9a-f]+) )?(?:[Tti]|W) ([^@]+)(?:@.*)?$`)
)

// goNM is what go tool nm says of a file's functions.
func goNM(t *testing.T, path string) []judged {
	t.Helper()
	out := output(t, "go", "tool", "nm", "-size", "-sort", "address", path)
	return parseNM(t, out, goNMLine, 10)
}

// parseMarkers are the marks of the Go linker.
func parseMarkers(t *testing.T, path string) []judged {
	t.Helper()
	var marks []judged
	for line := range strings.Lines(string(output(t, "nm", path))) {
		f := strings.Fields(line)
		if len(f) == 3 && marker.MatchString(f[2]) {
			addr, err := strconv.ParseUint(f[0], 16, 64)
			require.NoError(t, err)
			marks = append(marks, judged{addr: addr, name: f[2]})
		}
	}
	return marks
}

// checkModules checks the modules by the program headers that debug/elf reads.
func checkModules(t *testing.T, path string, part *Part) {
	t.Helper()
	f, err := elf.Open(path)
	require.NoError(t, err)
	defer f.Close()
	ends := map[uint64]uint64{}
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 {
			ends[p.Vaddr-p.Off] = max(ends[p.Vaddr-p.Off], p.Vaddr+p.Memsz)
		}
	}
	id, err := f.Section(".note.gnu.build-id").Data()
	require.NoError(t, err)
	require.Len(t, part.Model.Modules, len(ends))
	for _, m := range part.Model.Modules {
		require.Equal(t, ends[m.Base], m.Base+m.Size)
		require.Equal(t, filepath.Base(path), m.Name)
		require.True(t, filepath.IsAbs(m.FullPath))
		require.Equal(t, id[16:], m.ImageID)
	}
}

// withoutABI are functions as a table without the symbols' marks of their calling
// convention names them.
func withoutABI(fns []judged) []judged {
	fns = slices.Clone(fns)
	for i := range fns {
		fns[i].name = strings.TrimSuffix(fns[i].name, ".abi0")
	}
	return fns
}

// parseNM reads the output of a kind of nm, without the marks that the Go linker
// sets at both ends of the text.
func parseNM(t *testing.T, out []byte, line *regexp.Regexp, sizeBase int) []judged {
	t.Helper()
	var fns []judged
	s := bufio.NewScanner(bytes.NewReader(out))
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		m := line.FindStringSubmatch(s.Text())
		if m == nil || marker.MatchString(m[3]) || m[3] == "data_start" { // a weak name of data
			continue
		}
		addr, err := strconv.ParseUint(m[1], 16, 64)
		require.NoError(t, err)
		var size uint64
		if m[2] != "" {
			size, err = strconv.ParseUint(m[2], sizeBase, 64)
			require.NoError(t, err)
		}
		fns = append(fns, judged{addr, size, m[3]})
	}
	require.NoError(t, s.Err())
	require.NotEmpty(t, fns)
	slices.SortStableFunc(fns, func(a, b judged) int {
		switch {
		case a.addr < b.addr:
			return -1
		case a.addr > b.addr:
			return 1
		}
		return 0
	})
	return fns
}

var marker = regexp.MustCompile(`^_?(runtime\.e?text(\.\d+)?|go:textfips(start|end))$`)

// floor is what a look-up answers: the name of the last address that is not
// above addr, "" for none.
func floor(syms []trace.Symbol, addr uint64) (name string) {
	var at uint64
	for _, s := range syms {
		if s.Address > addr {
			break
		}
		if s.Address != at || name == "" {
			at, name = s.Address, s.Name
		}
	}
	return name
}

// expected are the names that the judge has for addr: those of the innermost
// function around it. Of one without a size only the first byte is sure.
func expected(fns []judged, addr uint64) []string {
	var names []string
	var at uint64
	for _, f := range fns {
		if f.addr > addr {
			break
		}
		if addr-f.addr >= max(f.size, 1) {
			continue
		}
		if f.addr != at {
			at, names = f.addr, nil
		}
		names = append(names, f.name)
	}
	return names
}

// checkEdges compares the first and the last byte of every function, and the
// byte behind, with what the judge says of them.
func checkEdges(t *testing.T, syms []trace.Symbol, fns []judged) {
	t.Helper()
	checkAscending(t, syms)
	wrong := 0
	check := func(f judged, where string, addr uint64) {
		got, want := floor(syms, addr), expected(fns, addr)
		if got == "" && len(want) == 0 || slices.Contains(want, got) {
			return
		}
		if wrong++; wrong <= 20 {
			t.Errorf("%s byte of %s [%#x, %#x): expected one of %q at %#x, got %q", where, f.name, f.addr, f.addr+f.size, want, addr, got)
		}
	}
	for _, f := range fns {
		check(f, "first", f.addr)
		if f.size == 0 {
			continue
		}
		check(f, "last", f.addr+f.size-1)
		check(f, "next", f.addr+f.size)
	}
	if wrong > 20 {
		t.Errorf("and %d more", wrong-20)
	}
}

// checkAscending checks the order of symbols, that holes stand alone, and that
// no name comes twice at one address.
func checkAscending(t *testing.T, syms []trace.Symbol) {
	t.Helper()
	require.NotEmpty(t, syms)
	at := map[string]bool{}
	for i, s := range syms {
		if i > 0 && syms[i-1].Address != s.Address {
			require.Less(t, syms[i-1].Address, s.Address, "symbol %d", i)
			clear(at)
		}
		require.False(t, at[s.Name], "%q comes twice at %#x", s.Name, s.Address)
		at[s.Name] = true
		require.False(t, at[""] && len(at) > 1, "a hole among names at %#x: %v", s.Address, slices.Collect(maps.Keys(at)))
	}
}

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, err := buildDir(); err == nil {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

// checkPadded is checkEdges for formats whose symbols have no sizes. There nm
// takes the padding behind a function for a part of it, so the bytes are looked
// at: behind the last that is no padding there has to be a hole, or, where that
// byte may be an instruction too, the function.
func checkPadded(t *testing.T, path string, part *Part, fns []judged) {
	t.Helper()
	code := textBytes(t, path)
	holes := 0
	fns = slices.Clone(fns)
	for i, f := range fns {
		n := f.size
		for n > 0 && (code(f.addr+n-1) == 0xcc || code(f.addr+n-1) == 0) {
			n--
		}
		if n == f.size {
			continue
		}
		fns[i].size = n
		// An instruction may end like padding; then the hole is a little later.
		for fns[i].size < f.size && floor(part.Model.Symbols, f.addr+fns[i].size) == f.name {
			fns[i].size++
		}
		if fns[i].size == n {
			holes++
		}
	}
	require.Greater(t, holes, len(fns)/4, "few functions end where their padding begins")
	checkEdges(t, part.Model.Symbols, fns)
}

// textBytes gives access to the bytes of a Mach-O or a PE file by address.
func textBytes(t *testing.T, path string) func(addr uint64) byte {
	t.Helper()
	var start uint64
	var text []byte
	if f, err := macho.Open(path); err == nil {
		defer f.Close()
		s := f.Section("__text")
		text, err = s.Data()
		require.NoError(t, err)
		start = s.Addr
	} else {
		f, err := pe.Open(path)
		require.NoError(t, err)
		defer f.Close()
		s := f.Section(".text")
		text, err = s.Data()
		require.NoError(t, err)
		start = uint64(s.VirtualAddress)
		switch h := f.OptionalHeader.(type) {
		case *pe.OptionalHeader32:
			start += uint64(h.ImageBase)
		case *pe.OptionalHeader64:
			start += h.ImageBase
		}
	}
	return func(addr uint64) byte {
		if addr < start || addr-start >= uint64(len(text)) {
			return 0xff
		}
		return text[addr-start]
	}
}
