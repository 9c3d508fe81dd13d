package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/tracecache/pod"
)

// TestBuildInterrupted: an interrupt ends a build with a failure, and nothing
// is left of it.
func TestBuildInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	out := filepath.Join(t.TempDir(), "out.ztac")
	root := newRoot()
	root.SetArgs([]string{"build", "-o", out, foreign("plain.json")})
	err := root.ExecuteContext(ctx)
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, exitFailed, exitCode(err))
	assert.Equal(t, "interrupted", message(err))
	left, err := os.ReadDir(filepath.Dir(out))
	require.NoError(t, err)
	assert.Empty(t, left)
}

// TestBuildAdvice: what is wrong with an input is not mended by building the
// cache anew.
func TestBuildAdvice(t *testing.T) {
	for _, cause := range []error{pod.ErrStale, pod.ErrVersionOld, pod.ErrVersionNew} {
		err := fmt.Errorf("in.elf: %w", cause)
		assert.Contains(t, message(&exitError{code: exitFailed, err: err}), "build the cache anew")
		assert.Equal(t, err.Error(), message(buildError(err)))
	}
	wrong := &exitError{code: exitUsage, err: errors.New("no output")}
	assert.Same(t, wrong, buildError(wrong))
	assert.NoError(t, buildError(nil))
}

// function is a function as go tool nm lists it.
type function struct {
	addr, size uint64
	name       string
}

// nm lists the functions of a Go program with their sizes.
func nm(t *testing.T, program string) (functions []function, names map[uint64][]string) {
	t.Helper()
	out, err := exec.Command("go", "tool", "nm", "-size", program).Output()
	require.NoError(t, err)
	names = make(map[uint64][]string)
	for line := range bytes.Lines(out) {
		addr, rest, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
		size, rest, _ := strings.Cut(strings.TrimSpace(rest), " ")
		kind, name, _ := strings.Cut(strings.TrimSpace(rest), " ")
		if !strings.EqualFold(kind, "T") || strings.HasPrefix(name, "go:") {
			continue // data, or a mark of the linker
		}
		f := function{name: name}
		if f.addr, err = strconv.ParseUint(addr, 16, 64); err != nil {
			continue // undefined
		}
		if f.size, err = strconv.ParseUint(size, 10, 64); err != nil || f.size == 0 {
			continue
		}
		functions = append(functions, f)
		names[f.addr] = append(names[f.addr], name)
	}
	return functions, names
}

// TestGoProgram builds a cache of the go command and looks both edges of every
// function up in it. go tool nm is the judge.
func TestGoProgram(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Skip("no go command: ", err)
	}
	program := filepath.Join(strings.TrimSpace(string(root)), "bin", "go")
	if _, err := os.Stat(program); err != nil {
		t.Skip(err)
	}
	out := filepath.Join(t.TempDir(), "go.ztac")
	got := tracecache("", "build", "-o", out, program)
	require.Equal(t, result{exitDone, "", ""}, got)

	functions, names := nm(t, program)
	require.Greater(t, len(functions), 10_000)
	var input strings.Builder
	for _, f := range functions {
		fmt.Fprintf(&input, "%#x\n%d\n%#x\n", f.addr, f.addr+f.size-1, f.addr+f.size)
	}
	got = tracecache(input.String(), "lookup", "--json", out)
	require.Equal(t, exitDone, got.code, got.stderr)
	answers := bufio.NewScanner(strings.NewReader(got.stdout))
	next := func() (answer struct {
		PC, Name, Symbol, Module string
		Offset                   uint64
	}) {
		require.True(t, answers.Scan())
		require.NoError(t, json.Unmarshal(answers.Bytes(), &answer))
		return answer
	}
	for _, f := range functions {
		first, last, behind := next(), next(), next()
		at := fmt.Sprintf("%#x", f.addr)
		assert.Equal(t, at, first.PC)
		assert.Equal(t, at, first.Symbol, f.name)
		assert.Equal(t, at, last.Symbol, f.name)
		assert.Zero(t, first.Offset)
		assert.Equal(t, f.size-1, last.Offset, f.name)
		assert.Contains(t, names[f.addr], first.Name)
		assert.Equal(t, first.Name, last.Name)
		assert.Equal(t, "go", first.Module)
		assert.NotEqual(t, at, behind.Symbol, f.name)
	}
	assert.False(t, answers.Scan())
	assert.Equal(t, out+": sound\n", tracecache("", "verify", out).stdout)
}
