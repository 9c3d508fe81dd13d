package convert

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/tracecache/pod"
)

func TestKindOf(t *testing.T) {
	tests := []struct {
		head string
		want Kind
	}{
		{"\x7fELF\x02", KindELF},
		{"\xcf\xfa\xed\xfe", KindMachO},
		{"\xfe\xed\xfa\xce", KindMachO},
		{"\xca\xfe\xba\xbe\x00\x00\x00\x02", KindMachO},
		{"\xca\xfe\xba\xbf\x00\x00\x00\x02", KindMachO},
		{"\xca\xfe\xba\xbe\x00\x00\x00\x34", ""}, // a Java class
		{"MZ\x90\x00", KindPE},
		{"\x1f\x8b\x08", KindPprof},
		{"\x0a\x04\x08\x01\x10\x02\x12\x04", KindPprof},
		{"\x32\x00\x0a\x04\x08\x01\x10\x02", KindPprof},
		{"heap profile: 1: 2 [3: 4] @ heap/1", KindPprof},
		{"# comment\n\ngoroutine profile: total 3\n", KindPprof},
		{"--- contentionz 1 ---\n", KindPprof},
		{"--- mutex:\n", KindPprof},
		{"\x00\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00\x10\x27\x00\x00\x00\x00\x00\x00", KindPprof},
		{"MODULE Linux x86_64 0 a", KindBreakpad},
		{"{}", KindJSON},
		{" \r\n\t{", KindJSON},
		{"\xef\xbb\xbf\n{", KindJSON},
		{"\xef\xbb\xbf", ""},
		{"", ""},
		{"ZTAC\x01\x00\x00\x00", ""},
		{"hello, world", ""},
		{"\nhello, world", ""},
		{"MODULES", ""},
		{"[1]", ""},
		{strings.Repeat("\x00", 64), ""},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, kindOf([]byte(tt.head)), "%q", tt.head)
	}
}

func TestReadFileErrors(t *testing.T) {
	dir := t.TempDir()
	_, err := ReadFile(filepath.Join(dir, "missing"))
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = ReadFile(dir)
	require.ErrorIs(t, err, pod.ErrUnsupported)
	assert.ErrorContains(t, err, "not a regular file")
	for data, want := range map[string]string{
		"":                  "the file is empty",
		"hello, wide world": `the file begins with "hello, w"`,
	} {
		path := writeFile(t, "in", []byte(data))
		_, err = ReadFile(path)
		require.ErrorIs(t, err, pod.ErrUnsupported)
		assert.ErrorContains(t, err, path+": ")
		assert.ErrorContains(t, err, "expected ELF, Mach-O, PE, pprof, Breakpad or JSON, "+want)
	}
	path := writeFile(t, "in.json", []byte(`{"symbols":[{},{"address":7}]}`))
	_, err = ReadFile(path)
	require.ErrorIs(t, err, pod.ErrCorrupt)
	assert.ErrorContains(t, err, path+": JSON: offset 26: symbols[1].address: ")
	path = writeFile(t, "in.sym", []byte("MODULE Linux x86 0 a\nFUNC\n"))
	_, err = ReadFile(path)
	assert.ErrorContains(t, err, path+": Breakpad: line 2: ")
}

func TestParseInput(t *testing.T) {
	dir := t.TempDir()
	named := filepath.Join(dir, "lib@0x10")
	require.NoError(t, os.WriteFile(named, nil, 0o600))
	tests := []struct {
		arg  string
		want Input
	}{
		{"lib.so", Input{Path: "lib.so"}},
		{"lib.so@0x400000", Input{Path: "lib.so", Base: 0x400000, Placed: true}},
		{"lib.so@0x0", Input{Path: "lib.so", Placed: true}},
		{"lib.so@0xFFFFffffFFFFffff", Input{Path: "lib.so", Base: 1<<64 - 1, Placed: true}},
		{"user@0xhost@0x1", Input{Path: "user@0xhost", Base: 1, Placed: true}},
		{"me@home", Input{Path: "me@home"}},
		{named, Input{Path: named}},
		{named + "@0x20", Input{Path: named, Base: 0x20, Placed: true}},
	}
	for _, tt := range tests {
		got, err := ParseInput(tt.arg)
		require.NoError(t, err)
		assert.Equal(t, tt.want, got)
	}
	for arg, want := range map[string]string{
		"":                      "empty input name",
		"a@0x":                  `input "a@0x": expected INPUT@0xBASE`,
		"a@0xzz":                "got 0xzz",
		"a@0x10000000000000000": "up to 64 bits",
		"@0x10":                 "no file name before @",
	} {
		_, err := ParseInput(arg)
		assert.ErrorContains(t, err, want)
	}
}

func TestBuildPlacesInputs(t *testing.T) {
	sym := writeFile(t, "a.sym", []byte("MODULE Linux x86_64 0 a\nFUNC 10 10 0 f\n"))
	m, err := Build(t.Context(), []Input{{Path: sym, Base: 0x1000, Placed: true}})
	require.NoError(t, err)
	assert.Equal(t, uint64(0x1000), m.Modules[0].Base)
	assert.Equal(t, uint64(0x1010), m.Symbols[0].Address)

	js := writeFile(t, "a.json", []byte("{}"))
	_, err = Build(t.Context(), []Input{{Path: js, Placed: true}})
	assert.ErrorContains(t, err, js+": cannot be placed")
	_, err = Build(t.Context(), nil)
	assert.ErrorContains(t, err, "no inputs")
}

func TestWithProgress(t *testing.T) {
	var text bytes.Buffer
	text.WriteString("MODULE Linux x86_64 0 a\n")
	for range 100_000 {
		text.WriteString("10 10 5 0\n")
	}
	a := writeFile(t, "a.sym", text.Bytes())
	b := writeFile(t, "b.json", []byte("{}"))
	type call struct {
		path        string
		done, total int64
	}
	var calls []call
	_, err := Build(t.Context(), []Input{{Path: a}, {Path: b}}, WithProgress(func(path string, done, total int64) {
		calls = append(calls, call{path, done, total})
	}))
	require.NoError(t, err)
	n := len(calls)
	require.GreaterOrEqual(t, n, 4, "the first file is large enough for calls in between")
	assert.Equal(t, call{b, 2, 2}, calls[n-1])
	assert.Equal(t, call{a, int64(text.Len()), int64(text.Len())}, calls[n-2])
	last := int64(0)
	for _, c := range calls[:n-1] {
		assert.Equal(t, a, c.path)
		assert.Equal(t, int64(text.Len()), c.total)
		assert.Greater(t, c.done, last)
		last = c.done
	}
}

func TestBuildHonoursContext(t *testing.T) {
	cause := errors.New("enough")
	sym := writeFile(t, "a.sym", []byte("MODULE Linux x86_64 0 a\n"+strings.Repeat("10 10 5 0\n", 200_000)))
	js := writeFile(t, "b.json", []byte("{}"))

	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	_, err := Build(ctx, []Input{{Path: js}})
	require.ErrorIs(t, err, context.Canceled)
	assert.ErrorContains(t, err, js)

	// Within a file: the first call is long before its end.
	ctx, cancel = context.WithCancelCause(t.Context())
	calls := 0
	_, err = Build(ctx, []Input{{Path: sym}, {Path: js}}, WithProgress(func(_ string, _, _ int64) {
		calls++
		cancel(cause)
	}))
	require.ErrorIs(t, err, context.Canceled)
	assert.ErrorContains(t, err, sym)
	assert.Equal(t, 1, calls)

	// Between files.
	ctx, cancel = context.WithCancelCause(t.Context())
	_, err = Build(ctx, []Input{{Path: js}, {Path: sym}}, WithProgress(func(path string, _, _ int64) { cancel(cause) }))
	require.ErrorIs(t, err, context.Canceled)
	assert.ErrorContains(t, err, sym)
}
