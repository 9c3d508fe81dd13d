package main

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestWrongUse: everything that is wrong with a command line gives code 2 and one
// line that says so, and does nothing.
func TestWrongUse(t *testing.T) {
	plain := foreign("plain.ztac")
	for _, test := range []struct {
		args string
		says string
	}{
		{"", "no command given"},
		{"nosuch", `unknown command "nosuch"`},
		{"lokup", "did you mean lookup?"},
		{"--nosuch", "unknown flag: --nosuch"},
		{"help nosuch", `no help for ["nosuch"]`},
		{"completion nosuch", `unknown command "nosuch"`},
		{"completion", "expected one of bash, fish, powershell, zsh"},
		{"info", "accepts 1 arg(s), received 0"},
		{"info a b", "accepts 1 arg(s), received 2"},
		{"info --nosuch " + plain, "unknown flag: --nosuch"},
		{"lookup", "requires at least 1 arg(s)"},
		{"lookup -x " + plain, "unknown shorthand flag"},
		{"lookup " + plain + " 0x401000 zz", `"zz" is not an address`},
		{"lookup " + plain + " 0x401000 -", `"-" is not an address`},
		{"lookup nosuch.ztac zz", `"zz" is not an address`},
		{"dump", "accepts 1 arg(s), received 0"},
		{"dump --section nosuch " + plain, `unknown section "nosuch", expected one of strings, metadata, memory, callstacks, symbols`},
		{"dump --section= " + plain, `unknown section ""`},
		{"verify", "accepts 1 arg(s), received 0"},
		{"verify --source", "flag needs an argument"},
		{"build", "requires at least 1 arg(s)"},
		{"build in.json", "no output given, expected -o OUT"},
		{"build -o out.ztac", "requires at least 1 arg(s)"},
		{"build -o out.ztac --codec gzip in.json", `unknown codec "gzip", expected none, lz4, zstd, oodle or selkie`},
		{"build -o out.ztac --codec oodle --level 5 in.json", "compression level: expected 0 to 4 for oodle, got 5"},
		{"build -o out.ztac --codec selkie --level optimal1 in.json", `superfast, veryfast, fast or normal, got "optimal1"`},
		{"build -o out.ztac --codec lz4 --level fast in.json", `compression level: expected a number for lz4, got "fast"`},
		{"build -o out.ztac --codec zstd --level 99 in.json", "compression level"},
		{"build -o out.ztac --codec none --level 1 in.json", "compression level"},
		{"build -o out.ztac --level x in.json", "compression level"},
		{"build -o out.ztac in@0x", "INPUT@0xBASE"},
		{"build -o ./x/../in.json in.json", "is an input"},
		{"build -o in.json in.json@0x400000", "is an input"},
		{"build -o s.bin --source s.bin in.json", "is the source"},
		{"build -o . in.json", "is a folder"},
		{"build -o out.ztac --debug-dir nosuch in.json", "--debug-dir nosuch is not a folder"},
		{"build -o out.ztac --debug-dir root.go in.json", "--debug-dir root.go is not a folder"},
	} {
		t.Run(test.args, func(t *testing.T) {
			got := tracecache("", strings.Fields(test.args)...)
			assert.Equal(t, exitUsage, got.code)
			assert.Empty(t, got.stdout)
			assert.True(t, strings.HasPrefix(got.stderr, "tracecache: "), got.stderr)
			assert.Contains(t, got.stderr, test.says)
			assert.Contains(t, got.stderr, "--help')\n", "it says where to look")
			assert.Equal(t, 1, strings.Count(got.stderr, "\n"), got.stderr)
		})
	}
}

// TestHelp: every command explains itself.
func TestHelp(t *testing.T) {
	for _, cmd := range newRoot().Commands() {
		if cmd.Name() == "completion" {
			continue // it is cobra's
		}
		assert.NotEmpty(t, cmd.Short, cmd.Name())
		assert.NotEmpty(t, cmd.Example, cmd.Name())
		got := tracecache("", cmd.Name(), "--help")
		assert.Equal(t, exitDone, got.code)
		assert.Contains(t, got.stdout, cmd.Long)
		assert.Contains(t, got.stdout, cmd.Example)
		assert.Empty(t, got.stderr)
	}
}

// TestHelpCommand: the command shows what the flag shows.
func TestHelpCommand(t *testing.T) {
	assert.Equal(t, tracecache("", "--help"), tracecache("", "help"))
	assert.Equal(t, tracecache("", "lookup", "--help"), tracecache("", "help", "lookup"))
}

func TestVersion(t *testing.T) {
	got := tracecache("", "--version")
	assert.Equal(t, exitDone, got.code)
	assert.Regexp(t, `^tracecache \S+, format version 1\n$`, got.stdout)
}

// TestExitCodes: what a file is decides the code, for every command that opens
// one.
func TestExitCodes(t *testing.T) {
	dir := t.TempDir()
	plain, err := os.ReadFile(foreign("plain.ztac"))
	require.NoError(t, err)
	file := func(name string, change func([]byte) []byte) string {
		path := dir + "/" + name
		require.NoError(t, os.WriteFile(path, change(append([]byte(nil), plain...)), 0o600))
		return path
	}
	for _, test := range []struct {
		name string
		path string
		code int
		says string
	}{
		{"sound", foreign("plain.ztac"), exitDone, ""},
		{"missing", dir + "/missing.ztac", exitFailed, "missing.ztac"},
		{"folder", dir, exitDamaged, "not a regular file"},
		{"empty", file("empty", func(b []byte) []byte { return nil }), exitDamaged, "truncated"},
		{"short", file("short", func(b []byte) []byte { return b[:100] }), exitDamaged, "truncated"},
		{"other magic", file("magic", func(b []byte) []byte { b[0] ^= 1; return b }), exitDamaged, "not a trace cache"},
		{"newer", file("newer", func(b []byte) []byte { b[4] = 2; return b }), exitFailed, "use a newer tracecache"},
		{"older", file("older", func(b []byte) []byte { b[4] = 0; return b }), exitFailed, "build the cache anew"},
		{"wrong id", file("id", func(b []byte) []byte { b[24] = 7; return b }), exitDamaged, "section id"},
	} {
		for _, args := range [][]string{
			{"info"}, {"info", "--json"}, {"dump"}, {"dump", "--json"}, {"verify"}, {"lookup"},
		} {
			t.Run(test.name+"/"+strings.Join(args, " "), func(t *testing.T) {
				got := tracecache("0x401000\n", append(args, test.path)...)
				assert.Equal(t, test.code, got.code, got.stderr)
				if test.code == exitDone {
					assert.Empty(t, got.stderr)
					return
				}
				assert.Equal(t, 1, strings.Count(got.stderr, "\n"), got.stderr)
				assert.True(t, strings.HasPrefix(got.stderr, "tracecache: "), got.stderr)
				assert.Contains(t, got.stdout+got.stderr, test.says)
			})
		}
	}
}

// failingWriter fails from the first byte on.
type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

var outputCommands = [][]string{
	{"info"}, {"info", "--json"}, {"dump"}, {"dump", "--json"}, {"dump", "--json", "--section", "strings"},
	{"verify"}, {"lookup"}, {"lookup", "--json"},
}

// TestBrokenPipe: a reader that goes away ends a command quietly.
func TestBrokenPipe(t *testing.T) {
	for _, args := range outputCommands {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			r, w, err := os.Pipe()
			require.NoError(t, err)
			defer w.Close()
			require.NoError(t, r.Close())
			var stderr strings.Builder
			code := run(append(args, foreign("plain.ztac")), strings.NewReader("0x401000\n"), w, &stderr)
			assert.Equal(t, exitDone, code)
			assert.Empty(t, stderr.String())
		})
	}
}

// TestBrokenPipeDamaged: that nobody reads does not hide damage.
func TestBrokenPipeDamaged(t *testing.T) {
	damaged := damagedFile(t, "plain.ztac", "metadata")
	for _, args := range [][]string{{"info"}, {"dump"}, {"verify"}} {
		t.Run(args[0], func(t *testing.T) {
			r, w, err := os.Pipe()
			require.NoError(t, err)
			defer w.Close()
			require.NoError(t, r.Close())
			var stderr strings.Builder
			code := run(append(args, damaged), strings.NewReader(""), w, &stderr)
			assert.Equal(t, exitDamaged, code)
			assert.Contains(t, stderr.String(), damaged)
		})
	}
}

// TestFullDisk: output that cannot be written is a failure that is told.
func TestFullDisk(t *testing.T) {
	for _, args := range outputCommands {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			var stderr strings.Builder
			code := run(append(args, foreign("plain.ztac")), strings.NewReader("0x401000\n"),
				failingWriter{errors.New("disk full")}, &stderr)
			assert.Equal(t, exitFailed, code)
			assert.Equal(t, "tracecache: disk full\n", stderr.String())
		})
	}
}

// TestInputFails: addresses that cannot be read are a failure, behind the answers
// to those that could.
func TestInputFails(t *testing.T) {
	in := io.MultiReader(strings.NewReader("0x401000\n"), failingReader{})
	var stdout, stderr strings.Builder
	code := run([]string{"lookup", foreign("plain.ztac")}, in, &stdout, &stderr)
	assert.Equal(t, exitFailed, code)
	assert.Equal(t, 1, strings.Count(stdout.String(), "\n"))
	assert.Equal(t, "tracecache: read addresses: line cut\n", stderr.String())
}

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, errors.New("line cut") }
