package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"tracecache": main,
		"flip":       flip,
		"cut":        cut,
	})
}

// TestScripts runs each subcommand as a person would. $FOREIGN is the folder of
// the files of a second writer.
func TestScripts(t *testing.T) {
	if testing.Short() {
		t.Skip("the scripts run this program many times, which takes seconds and does not work under an emulator")
	}
	foreign, err := filepath.Abs("../../testdata/foreign")
	require.NoError(t, err)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("FOREIGN", foreign)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits,
		},
	})
}

// exits runs a program and expects an exit code: exits CODE PROGRAM ARGS...
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARGS...")
	}
	code := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		if _, err := fmt.Sscanf(err.Error(), "exit status %d", &code); err != nil {
			ts.Fatalf("%s: %v", args[1], err)
		}
	}
	if want := args[0]; strconv.Itoa(code) != want {
		ts.Fatalf("exit code %d, expected %s", code, want)
	}
}

// flip changes a byte of a file: flip FILE OFF XOR.
func flip() {
	data, off := fileArgs()
	mask, err := strconv.ParseUint(os.Args[3], 0, 8)
	check(err)
	data[off] ^= byte(mask)
	check(os.WriteFile(os.Args[1], data, 0o600))
}

// cut shortens a file: cut FILE SIZE.
func cut() {
	data, size := fileArgs()
	check(os.WriteFile(os.Args[1], data[:size], 0o600))
}

func fileArgs() (data []byte, n int64) {
	data, err := os.ReadFile(os.Args[1])
	check(err)
	n, err = strconv.ParseInt(os.Args[2], 0, 64)
	check(err)
	return data, n
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(9)
	}
}

// result is what a run of the command gave.
type result struct {
	code           int
	stdout, stderr string
}

// tracecache runs the command in this process.
func tracecache(stdin string, args ...string) result {
	var stdout, stderr bytes.Buffer
	code := run(args, strings.NewReader(stdin), &stdout, &stderr)
	return result{code, stdout.String(), stderr.String()}
}

// foreign is the path of a file of the second writer.
func foreign(name string) string { return filepath.Join("..", "..", "testdata", "foreign", name) }
