package convert

import (
	"bytes"
	"cmp"
	"debug/pe"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/tracecache/trace"
)

func TestGoPE(t *testing.T) {
	for _, sys := range []string{"windows/amd64", "windows/386"} {
		t.Run(sys, func(t *testing.T) {
			t.Parallel()
			name := "go-" + strings.ReplaceAll(sys, "/", "-")
			full := goBuild(t, name, goProgram, sys)
			fns := goNM(t, full)
			checkPadded(t, full, readBinary(t, full, options{}), fns)

			short := goBuild(t, name+"-s", goProgram, sys, "-ldflags=-s -w")
			checkPadded(t, short, readBinary(t, short, options{}), withoutABI(fns))
		})
	}
}

func TestPEModule(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(binDir, "mingw.exe"))
	require.NoError(t, err)
	part, err := readPE(bytes.NewReader(b), int64(len(b)), filepath.Join("dir", "mingw.exe"), &options{})
	require.NoError(t, err)
	f, err := pe.NewFile(bytes.NewReader(b))
	require.NoError(t, err)
	h := f.OptionalHeader.(*pe.OptionalHeader64)
	require.Len(t, part.Model.Modules, 1)
	mod := part.Model.Modules[0]
	assert.Equal(t, "mingw.exe", mod.Name)
	assert.True(t, filepath.IsAbs(mod.FullPath))
	assert.Equal(t, h.ImageBase, mod.Base)
	assert.EqualValues(t, h.SizeOfImage, mod.Size)
	at := bytes.Index(b, []byte("RSDS"))
	require.Positive(t, at)
	assert.Equal(t, b[at+4:at+24], mod.ImageID)

	part = readBinary(t, goBuild(t, "go-windows-amd64", goProgram, "windows/amd64"), options{})
	id := strings.TrimSpace(string(output(t, "go", "tool", "buildid",
		goBuild(t, "go-windows-amd64", goProgram, "windows/amd64"))))
	assert.Equal(t, id, string(part.Model.Modules[0].ImageID))
}

// coffFunctions are the functions that debug/pe finds in a symbol table, with
// the sizes that the function table has.
func coffFunctions(t *testing.T, f *pe.File) []judged {
	t.Helper()
	h, is64 := f.OptionalHeader.(*pe.OptionalHeader64)
	base := uint64(0)
	if is64 {
		base = h.ImageBase
	} else {
		base = uint64(f.OptionalHeader.(*pe.OptionalHeader32).ImageBase)
	}
	sizes := map[uint64]uint64{}
	if s := f.Section(".pdata"); s != nil && is64 {
		b, err := s.Data()
		require.NoError(t, err)
		for ; len(b) >= 12; b = b[12:] {
			start, end := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
			sizes[base+uint64(start)] = uint64(end - start)
		}
	}
	var fns []judged
	for _, s := range f.Symbols {
		if (s.Type == 0x20 || s.StorageClass == 2) && s.SectionNumber > 0 && f.Sections[s.SectionNumber-1].Characteristics&pe.IMAGE_SCN_MEM_EXECUTE != 0 {
			addr := base + uint64(f.Sections[s.SectionNumber-1].VirtualAddress) + uint64(s.Value)
			fns = append(fns, judged{addr, sizes[addr], s.Name})
		}
	}
	slices.SortStableFunc(fns, func(a, b judged) int { return cmp.Compare(a.addr, b.addr) })
	return fns
}

// checkCOFF checks a PE file of a C compiler by debug/pe.
func checkCOFF(t *testing.T, path string) {
	t.Helper()
	f, err := pe.Open(path)
	require.NoError(t, err)
	defer f.Close()
	part := readBinary(t, path, options{})
	checkAscending(t, part.Model.Symbols)
	fns := coffFunctions(t, f)
	require.NotEmpty(t, fns)
	for _, fn := range fns {
		assert.Contains(t, expected(fns, fn.addr), floor(part.Model.Symbols, fn.addr))
		if fn.size > 0 {
			assert.Contains(t, expected(fns, fn.addr), floor(part.Model.Symbols, fn.addr+fn.size-1))
			assert.NotEqual(t, fn.name, floor(part.Model.Symbols, fn.addr+fn.size))
		}
	}
}

func TestMingw(t *testing.T) {
	need(t, "x86_64-w64-mingw32-gcc")
	src := writeSource(t, "c", "hello.c", "#include <stdio.h>\nint main(void) { return puts(\"hello\"); }\n")
	path := built(t, "mingw-hello.exe", func(out string) *exec.Cmd {
		return exec.Command("x86_64-w64-mingw32-gcc", "-O1", "-o", out, src)
	})
	checkCOFF(t, path)

	need(t, "nm")
	fns := parseNM(t, output(t, "nm", path), regexp.MustCompile(`^([0-9a-f]+) ()T (.+)$`), 16)
	syms := readBinary(t, path, options{}).Model.Symbols
	checkEdges(t, syms, fns)
	sleep := slices.IndexFunc(fns, func(f judged) bool { return f.name == "Sleep" })
	require.Positive(t, sleep, "the start code imports it")
	assert.Equal(t, "Sleep", floor(syms, fns[sleep].addr+7), "a stub is a jump of 6 bytes in a place of 8")
	// Each function ends before the next one, whether nm has sizes or not.
	for i, f := range fns[1:] {
		if before := fns[i]; before.addr != f.addr {
			assert.NotContains(t, expected(fns, f.addr), floor(syms, f.addr-1), f.name)
		}
	}
}

func TestPELabels(t *testing.T) {
	// One function becomes a label, another one a label inside a third.
	b, err := os.ReadFile(filepath.Join(binDir, "mingw.exe"))
	require.NoError(t, err)
	f, err := pe.NewFile(bytes.NewReader(b))
	require.NoError(t, err)
	text := f.OptionalHeader.(*pe.OptionalHeader64).ImageBase + uint64(f.Section(".text").VirtualAddress)
	const visible, many, call, size = 0x7, 0x31, 0x88, 0xe // as nm has them
	symbols := b[f.FileHeader.PointerToSymbolTable:]
	for i := 0; i < int(f.FileHeader.NumberOfSymbols); i++ {
		sym := symbols[i*pe.COFFSymbolSize:][:pe.COFFSymbolSize]
		switch string(bytes.TrimRight(sym[:8], "\x00")) {
		case "call":
			binary.LittleEndian.PutUint32(sym[8:], many+5)
			fallthrough
		case "visible":
			clear(sym[14:16])
		}
		i += int(sym[17])
	}
	part, err := readPE(bytes.NewReader(b), int64(len(b)), "mingw.exe", &options{})
	require.NoError(t, err)
	syms := part.Model.Symbols
	assert.Equal(t, "visible", floor(syms, text+visible))
	assert.Equal(t, "many", floor(syms, text+many+5))
	assert.Equal(t, "many", floor(syms, text+call-1))
	assert.Empty(t, floor(syms, text+call))
	assert.Empty(t, floor(syms, text+call+size-1))
}

// TestPEOfGo reads files of C compilers, which come with Go's own tests.
func TestPEOfGo(t *testing.T) {
	for _, name := range []string{"gcc-386-mingw-exec", "gcc-amd64-mingw-exec"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(goRoot(t), "src", "debug", "pe", "testdata", name)
			if _, err := os.Stat(path); err != nil {
				t.Skip(err)
			}
			checkCOFF(t, path)
		})
	}
}

// withoutCOFF is a PE file whose symbol table is taken out of the header.
func withoutCOFF(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	header := binary.LittleEndian.Uint32(b[60:]) + 4
	clear(b[header+8 : header+16])
	return b
}

func TestPEExports(t *testing.T) {
	path := filepath.Join(binDir, "mingw.dll")
	f, err := pe.Open(path)
	require.NoError(t, err)
	defer f.Close()
	b := withoutCOFF(t, path)
	part, err := readPE(bytes.NewReader(b), int64(len(b)), path, &options{})
	require.NoError(t, err)
	exported := map[string]bool{"visible": true, "weak": true, "cold": true, "many": true, "call": true}
	var got []string
	for _, s := range part.Model.Symbols {
		if s.Name != "" {
			got = append(got, s.Name)
		}
	}
	require.NotEmpty(t, got)
	for _, name := range got {
		assert.True(t, exported[name], name)
	}
	// hidden is not exported, so there is a hole where it was, and each of
	// the others ends where the function table says.
	for _, fn := range coffFunctions(t, f) {
		if !exported[fn.name] {
			assert.Empty(t, floor(part.Model.Symbols, fn.addr))
			continue
		}
		assert.Equal(t, fn.name, floor(part.Model.Symbols, fn.addr))
		assert.Equal(t, fn.name, floor(part.Model.Symbols, fn.addr+fn.size-1))
		assert.NotEqual(t, fn.name, floor(part.Model.Symbols, fn.addr+fn.size))
	}
}

func TestPEChainedUnwind(t *testing.T) {
	// The second piece of unwind table is made a part of the first, by a
	// record that is put in place of its own.
	path := filepath.Join(binDir, "mingw.exe")
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	f, err := pe.NewFile(bytes.NewReader(b))
	require.NoError(t, err)
	pdata, xdata := f.Section(".pdata"), f.Section(".xdata")
	table := b[pdata.Offset:]
	le := binary.LittleEndian
	first, second := bytes.Clone(table[:12]), table[12:24]
	le.PutUint32(second[8:], xdata.VirtualAddress+0x10)
	record := append([]byte{1 | 4<<3, 0, 1, 0, 0, 0, 0, 0}, first...)
	copy(b[xdata.Offset+0x10:], record)
	optional := le.Uint32(b[60:]) + 4 + 20
	le.PutUint32(b[optional+112+3*8+4:], 24) // only these two pieces are left

	file, err := parsePE(binaryFile{bytes.NewReader(b), int64(len(b))})
	require.NoError(t, err)
	ranges, err := file.unwindRanges(file.image())
	require.NoError(t, err)
	base := file.base
	start := base + uint64(le.Uint32(first))
	assert.Equal(t, start, ranges[1].whole)
	fns := append([]function{{addr: start, name: "whole"}}, ranges.functions([]function{{addr: start, name: "whole"}})...)
	syms := layout(fns, file.code(file.image()))
	assert.Equal(t, []trace.Symbol{
		{Address: start, Name: "whole"}, {Address: ranges[1].start, Name: "whole"}, {Address: ranges[1].end},
	}, syms)
}
