package convert

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/tracecache/pod"
	"example.com/tracecache/trace"
)

const breakpadText = `MODULE Linux x86_64 33221100554477668899AABBCCDDEEFF0 my app
INFO CODE_ID 00112233445566778899AABBCCDDEEFFA0B1C2D3
INFO GENERATOR mozilla/dump_syms 2.3
FILE 0 /src/main file.c
INLINE_ORIGIN 0 std::inlined(int)
FUNC 1000 20 0 main(int, char **)
INLINE 0 5 0 0 1004 8
1000 8 10 0
1008 18 11 0
abcd 18 11 0
FUNC m 1040 10 8 folded one
PUBLIC 1010 0 inside_main
PUBLIC 1040 0 also_folded
PUBLIC 1050 4 reaches_to_next
PUBLIC m 1080 0 last one

FUNC 1060 10 0 b
FUNC 1064 4 0 nested
STACK CFI INIT 1000 20 .cfa: $rsp 8 +
STACK CFI 1001 .cfa: $rsp 16 +
STACK CFI INIT 1080 18 .cfa: $rsp 8 +
STACK WIN 4 1098 4 0 0 0 0 0 0 0 0
`

func TestReadBreakpad(t *testing.T) {
	want := &trace.Model{
		Modules: []trace.Module{{Name: "my app", FullPath: "my app", Size: 0x109c, ImageID: []byte{
			0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff, 0xa0, 0xb1, 0xc2, 0xd3,
		}}},
		Symbols: []trace.Symbol{
			{Address: 0x1000, Name: "main(int, char **)"}, {Address: 0x1020},
			{Address: 0x1040, Name: "folded one"}, {Address: 0x1040, Name: "also_folded"},
			{Address: 0x1050, Name: "reaches_to_next"},
			{Address: 0x1060, Name: "b"}, {Address: 0x1064, Name: "nested"}, {Address: 0x1068, Name: "b"}, {Address: 0x1070},
			{Address: 0x1080, Name: "last one"}, {Address: 0x109c},
		},
	}
	for name, text := range map[string]string{
		"LF":                breakpadText,
		"CRLF":              strings.ReplaceAll(breakpadText, "\n", "\r\n"),
		"no end of line":    strings.TrimSuffix(breakpadText, "\n"),
		"blanks in between": strings.ReplaceAll(breakpadText, "FUNC 1000 20", "FUNC  1000  20"),
	} {
		t.Run(name, func(t *testing.T) {
			p, err := ReadFile(writeFile(t, "app.sym", []byte(text)))
			require.NoError(t, err)
			assert.Equal(t, KindBreakpad, p.Kind)
			want.FileSize = uint64(len(text))
			assert.Equal(t, want, p.Model)
		})
	}
}

func readBreakpadText(text string) (*Part, error) {
	return readBreakpad(strings.NewReader(text), int64(len(text)), "x.sym", new(options))
}

func TestReadBreakpadImageID(t *testing.T) {
	const guid = "33221100554477668899AABBCCDDEEFF"
	uuid := []byte{0x33, 0x22, 0x11, 0x00, 0x55, 0x44, 0x77, 0x66, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff}
	inFile := []byte{0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff}
	tests := []struct {
		name, text string
		want       []byte
	}{
		{"build id", "MODULE Linux x86_64 " + guid + "0 a\nINFO CODE_ID ABCD a\n", []byte{0xab, 0xcd}},
		{"Linux without a code id: what is kept of the build id", "MODULE Linux x86_64 " + guid + "0 a\n", inFile},
		{"code id that is no build id", "MODULE Linux x86_64 " + guid + "0 a\nINFO CODE_ID ABC\n", inFile},
		{"UUID", "MODULE mac arm64 " + guid + "0 a\n", uuid},
		{"GUID and age", "MODULE windows x86 " + guid + "1F a.pdb\nINFO CODE_ID 4FD5A5E12A000 a.exe\n", append(inFile[:16:16], 0x1f, 0, 0, 0)},
		{"GUID, code id of even length", "MODULE windows x86 " + guid + "1 a.pdb\nINFO CODE_ID 4FD5A5E12A0000 a.exe\n", append(inFile[:16:16], 1, 0, 0, 0)},
		{"some other id", "MODULE Linux x86_64 id-7 a\n", []byte("id-7")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := readBreakpadText(tt.text)
			require.NoError(t, err)
			assert.Equal(t, tt.want, p.Model.Modules[0].ImageID)
			assert.Empty(t, p.Model.Symbols)
		})
	}
}

func TestReadBreakpadLastPublic(t *testing.T) {
	const module = "MODULE Linux x86_64 0 a\n"
	tests := []struct {
		name, text string
		want       []trace.Symbol
		size       uint64
	}{
		{"no extents: one address", "PUBLIC 1000 0 p\n", []trace.Symbol{{Address: 0x1000, Name: "p"}, {Address: 0x1001}}, 0x1001},
		{"stack range", "PUBLIC 1000 0 p\nSTACK CFI INIT ff0 30 x\n", []trace.Symbol{{Address: 0x1000, Name: "p"}, {Address: 0x1020}}, 0x1020},
		{"function behind", "PUBLIC 1000 0 p\nFUNC 2000 10 0 f\n", []trace.Symbol{{Address: 0x1000, Name: "p"}, {Address: 0x2000, Name: "f"}, {Address: 0x2010}}, 0x2010},
		{"at the end of a function", "FUNC 1000 10 0 f\nPUBLIC 1010 0 p\nPUBLIC 100f 0 q\n", []trace.Symbol{{Address: 0x1000, Name: "f"}, {Address: 0x1010, Name: "p"}, {Address: 0x1011}}, 0x1011},
		{"inside an outer function, behind an inner one", "FUNC 1000 40 0 f\nFUNC 1010 4 0 g\nPUBLIC 1020 0 p\n", []trace.Symbol{
			{Address: 0x1000, Name: "f"}, {Address: 0x1010, Name: "g"}, {Address: 0x1014, Name: "f"}, {Address: 0x1040},
		}, 0x1040},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := readBreakpadText(module + tt.text)
			require.NoError(t, err)
			assert.Equal(t, tt.want, p.Model.Symbols)
			assert.Equal(t, tt.size, p.Model.Modules[0].Size)
		})
	}
}

func TestReadBreakpadErrors(t *testing.T) {
	const module = "MODULE Linux x86_64 0 a\n"
	tests := []struct{ name, text, want string }{
		{"module without name", "MODULE Linux x86_64 0\n", "line 1: corrupt: expected MODULE with"},
		{"second module", module + module, `line 2: corrupt: expected one MODULE record, at the start of the file`},
		{"other first line", "FUNC 1 1 0 f\n" + module, "line 1: corrupt: expected one MODULE record"},
		{"address", module + "\nFUNC xyz 10 0 f\n", `line 3: corrupt: expected the address of FUNC in hex, got "xyz"`},
		{"address of 65 bits", module + "FUNC 10000000000000000 10 0 f\n", "line 2: corrupt: expected the address of FUNC"},
		{"size", module + "FUNC 10 -1 0 f\n", `expected the size of FUNC in hex, got "-1"`},
		{"parameter size", module + "FUNC 10 1 zz f\n", `expected the parameter size of FUNC in hex, got "zz"`},
		{"no name", module + "FUNC 10 1 0\n", "expected a name of FUNC 10"},
		{"range over the end", module + "FUNC ffffffffffffffff 2 0 f\n", "expected a range within 64 bits"},
		{"public address", module + "PUBLIC m m 0 f\n", `expected the address of PUBLIC in hex, got "m"`},
		{"public without name", module + "PUBLIC 10 0 \n", "expected a name of PUBLIC 10"},
		{"stack kind", module + "STACK XYZ 1 2\n", `expected STACK CFI or STACK WIN, got "XYZ"`},
		{"stack size", module + "STACK CFI INIT 10 zz\n", "expected the size of STACK"},
		{"stack range", module + "STACK WIN 4 ffffffffffffffff 10\n", "expected a range within 64 bits"},
		{"unknown record", module + "FUNK 10 1 0 f\n", `line 2: corrupt: expected a Breakpad record, got "FUNK 10 1 0 f"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := readBreakpadText(tt.text)
			require.ErrorIs(t, err, pod.ErrCorrupt)
			assert.ErrorContains(t, err, tt.want)
		})
	}
}

func TestReadBreakpadLongLines(t *testing.T) {
	name := strings.Repeat("x", 1<<20)
	p, err := readBreakpadText("MODULE Linux x86_64 0 a\nFUNC 1 1 0 " + name + "\nFUNC 3 1 0 f\n")
	require.NoError(t, err)
	assert.Equal(t, []trace.Symbol{{Address: 1, Name: name}, {Address: 2}, {Address: 3, Name: "f"}, {Address: 4}}, p.Model.Symbols)

	long := bytes.Repeat([]byte("x"), maxBreakpadLine+100)
	_, err = readBreakpadText("MODULE Linux x86_64 0 a\nFUNC 1 1 0 " + string(long) + "\n")
	require.ErrorIs(t, err, pod.ErrTooLarge)
	assert.ErrorContains(t, err, "line 2")
}
