package convert

import (
	"bytes"
	"cmp"
	"debug/macho"
	"encoding/base64"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/tracecache/pod"
	"example.com/tracecache/trace"
)

func TestGoMachO(t *testing.T) {
	for _, sys := range []string{"darwin/amd64", "darwin/arm64"} {
		t.Run(sys, func(t *testing.T) {
			t.Parallel()
			name := "go-" + strings.ReplaceAll(sys, "/", "-")
			full := goBuild(t, name, goProgram, sys)
			fns := goNM(t, full)
			short := goBuild(t, name+"-s", goProgram, sys, "-ldflags=-s -w")
			if sys == "darwin/arm64" {
				// There the padding is a part of the function for every tool.
				checkEdges(t, readBinary(t, full, options{}).Model.Symbols, fns)
				checkEdges(t, readBinary(t, short, options{}).Model.Symbols, withoutABI(fns))
				return
			}
			checkPadded(t, full, readBinary(t, full, options{}), fns)
			checkPadded(t, short, readBinary(t, short, options{}), withoutABI(fns))
		})
	}
}

// fatFile puts binaries into one fat file.
func fatFile(t *testing.T, is64 bool, paths ...string) string {
	t.Helper()
	const align = 1 << 14
	var head, body []byte
	be := binary.BigEndian
	magic := uint32(macho.MagicFat)
	if is64 {
		magic++
	}
	head = be.AppendUint32(be.AppendUint32(nil, magic), uint32(len(paths)))
	for _, path := range paths {
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		head = append(head, b[7], b[6], b[5], b[4], b[11], b[10], b[9], b[8]) // processor and variant
		off := uint64(align + len(body))
		if is64 {
			head = be.AppendUint64(be.AppendUint64(head, off), uint64(len(b)))
			head = be.AppendUint32(be.AppendUint32(head, 14), 0)
		} else {
			head = be.AppendUint32(be.AppendUint32(head, uint32(off)), uint32(len(b)))
			head = be.AppendUint32(head, 14)
		}
		body = append(body, b...)
		body = append(body, make([]byte, -len(body)&(align-1))...)
	}
	out := filepath.Join(t.TempDir(), "fat")
	file := append(append(head, make([]byte, align-len(head))...), body...)
	require.NoError(t, os.WriteFile(out, file, 0o644))
	return out
}

func TestFatMachO(t *testing.T) {
	amd := goBuild(t, "go-darwin-amd64", goProgram, "darwin/amd64")
	arm := goBuild(t, "go-darwin-arm64", goProgram, "darwin/arm64")
	for _, is64 := range []bool{false, true} {
		fat := fatFile(t, is64, amd, arm)
		for arch, thin := range map[string]string{"amd64": amd, "x86_64": amd, "arm64": arm, "aarch64": arm} {
			want := readBinary(t, thin, options{}).Model
			got := readBinary(t, fat, options{arch: arch}).Model
			assert.Equal(t, want.Symbols, got.Symbols, arch)
			assert.Equal(t, want.Modules[0].Base, got.Modules[0].Base)
			assert.Equal(t, want.Modules[0].ImageID, got.Modules[0].ImageID)
		}
		_, err := tryBinary(fat, options{})
		assert.ErrorContains(t, err, "arm64, x86_64")
		_, err = tryBinary(fat, options{arch: "386"})
		assert.ErrorIs(t, err, pod.ErrNotFound)
		assert.ErrorContains(t, err, "arm64, x86_64")
	}
	one := readBinary(t, fatFile(t, false, arm), options{})
	assert.Equal(t, readBinary(t, arm, options{}).Model.Symbols, one.Model.Symbols)
	_, err := tryBinary(arm, options{arch: "amd64"})
	assert.ErrorIs(t, err, pod.ErrNotFound)
}

func TestMachOModule(t *testing.T) {
	path := goBuild(t, "go-darwin-arm64", goProgram, "darwin/arm64")
	part := readBinary(t, path, options{})
	f, err := macho.Open(path)
	require.NoError(t, err)
	defer f.Close()
	text := f.Segment("__TEXT")
	require.Len(t, part.Model.Modules, 1)
	mod := part.Model.Modules[0]
	assert.Equal(t, text.Addr-text.Offset, mod.Base)
	assert.Equal(t, text.Addr+text.Memsz, mod.Base+mod.Size)
	var uuid []byte
	for _, l := range f.Loads {
		if b := l.Raw(); f.ByteOrder.Uint32(b) == 0x1b {
			uuid = b[8:24]
		}
	}
	assert.Equal(t, uuid, mod.ImageID)
	assert.True(t, part.movable)
}

// TestMachOOfC reads files of Apple's tools, which come with Go's own tests. The
// judge is debug/macho.
func TestMachOOfC(t *testing.T) {
	dir := filepath.Join(goRoot(t), "src", "debug", "macho", "testdata")
	for _, name := range []string{"gcc-386-darwin-exec", "gcc-amd64-darwin-exec", "clang-amd64-darwin-exec-with-rpath"} {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(dir, name+".base64"))
			if err != nil {
				t.Skip(err)
			}
			b, err := base64.StdEncoding.DecodeString(string(text))
			require.NoError(t, err)
			part, err := readMachO(bytes.NewReader(b), int64(len(b)), name, &options{})
			require.NoError(t, err)
			checkAscending(t, part.Model.Symbols)

			f, err := macho.NewFile(bytes.NewReader(b))
			require.NoError(t, err)
			code := f.Section("__text")
			var fns []judged
			for _, s := range f.Symtab.Syms {
				if s.Type&0xe0 == 0 && s.Sect != 0 && code.Addr <= s.Value && s.Value < code.Addr+code.Size {
					fns = append(fns, judged{addr: s.Value, size: 1, name: s.Name})
				}
			}
			require.NotEmpty(t, fns)
			slices.SortFunc(fns, func(a, b judged) int { return cmp.Compare(a.addr, b.addr) })
			for _, f := range fns {
				assert.Contains(t, expected(fns, f.addr), floor(part.Model.Symbols, f.addr))
			}
			assert.Empty(t, floor(part.Model.Symbols, code.Addr+code.Size), "behind the code")
		})
	}
}

// madeMachO is a file of 64 bits with a text segment of one page and commands.
func madeMachO(commands ...[]byte) []byte {
	le := binary.LittleEndian
	var text bytes.Buffer
	seg := macho.Segment64{Cmd: macho.LoadCmdSegment64, Len: 72 + 80, Name: [16]byte([]byte("__TEXT\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00")),
		Addr: 0x100000000, Memsz: 0x1000, Filesz: 0x1000, Prot: 5, Nsect: 1}
	sec := macho.Section64{Name: [16]byte([]byte("__text\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00")), Seg: seg.Name,
		Addr: 0x100000800, Size: 0x100, Offset: 0x800, Flags: 0x80000400}
	_ = binary.Write(&text, le, seg)
	_ = binary.Write(&text, le, sec)
	commands = append([][]byte{text.Bytes()}, commands...)
	cmds := slices.Concat(commands...)
	b := le.AppendUint32(nil, macho.Magic64)
	for _, v := range []uint32{0x01000007, 3, 2, uint32(len(commands)), uint32(len(cmds)), 0, 0} {
		b = le.AppendUint32(b, v)
	}
	b = append(b, cmds...)
	return append(b, make([]byte, 0x1000-len(b))...)
}

// loadCommand is a load command of 32-bit words.
func loadCommand(cmd uint32, words ...uint32) []byte {
	b := binary.LittleEndian.AppendUint32(nil, cmd)
	b = binary.LittleEndian.AppendUint32(b, uint32(8+4*len(words)))
	for _, v := range words {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return b
}

func TestMachOFunctionStarts(t *testing.T) {
	// Functions at 0x800, 0x820 and 0x840; only the first and a part of the
	// last have a name.
	starts := []byte{0x80, 0x10, 0x20, 0x20, 0}
	le := binary.LittleEndian
	var syms []byte
	for _, s := range []struct {
		strx  uint32
		typ   byte
		value uint64
	}{{1, 0x0f, 0x100000800}, {4, 0x0e, 0x100000850}, {7, 0x24, 0x100000820}} {
		syms = append(le.AppendUint32(syms, s.strx), s.typ, 1, 0, 0)
		syms = le.AppendUint64(syms, s.value)
	}
	names := "\x00_a\x00_b\x00stab\x00"
	const at = 0x1000
	file := madeMachO(
		loadCommand(0x26, at, uint32(len(starts))),
		loadCommand(2, at+16, 3, uint32(at+16+len(syms)), uint32(len(names))),
		loadCommand(0x1b, 1, 2, 3, 4))
	file = append(file, append(starts, make([]byte, 16-len(starts))...)...)
	file = append(append(file, syms...), names...)
	part, err := readMachO(bytes.NewReader(file), int64(len(file)), "lib", &options{})
	require.NoError(t, err)
	assert.Equal(t, []trace.Symbol{
		{Address: 0x100000800, Name: "_a"}, {Address: 0x100000820},
		{Address: 0x100000850, Name: "_b"}, {Address: 0x100000900},
	}, part.Model.Symbols)
	assert.Equal(t, []byte{1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0}, part.Model.Modules[0].ImageID)
}

func TestMachOPointerFormat(t *testing.T) {
	for format, want := range map[uint16]uint64{
		2: 0x100000810, // an address
		6: 0x200000810, // a distance from the header
	} {
		le := binary.LittleEndian
		var fixups []byte
		for _, v := range []uint32{0, 28, 0, 0, 0, 0, 0, 2, 0, 12, 24} { // header, then the starts of two segments
			fixups = le.AppendUint32(fixups, v)
		}
		fixups = le.AppendUint16(le.AppendUint16(fixups, 0x4000), format)
		file := append(madeMachO(loadCommand(0x80000034, 0x1000, uint32(len(fixups)))), fixups...)
		f, err := parseMachO(binaryFile{bytes.NewReader(file), int64(len(file))})
		require.NoError(t, err)
		pointer, err := f.pointerFormat()
		require.NoError(t, err)
		require.NotNil(t, pointer)
		assert.Equal(t, want, pointer(0x100000810|5<<51))
		assert.Zero(t, pointer(1<<63|7), "an import")
	}
}
