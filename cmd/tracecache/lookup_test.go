package main

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// oracle answers look-ups from the JSON beside a file of the second writer, one
// linear pass for each.
type oracle struct {
	Modules []struct {
		Name text
		Base address
		Size uint64
	}
	Symbols []struct {
		Address address
		Name    text
	}
}

type address uint64

func (a *address) UnmarshalText(b []byte) error {
	v, err := strconv.ParseUint(string(b), 0, 64)
	*a = address(v)
	return err
}

type text string

func (s *text) UnmarshalJSON(b []byte) error {
	if b[0] == '"' {
		return json.Unmarshal(b, (*string)(s))
	}
	var object struct{ Base64 []byte }
	err := json.Unmarshal(b, &object)
	*s = text(object.Base64)
	return err
}

func readOracle(t *testing.T, name string) (o oracle) {
	t.Helper()
	b, err := os.ReadFile(foreign(name + ".json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, &o))
	return o
}

// module is the module of an address: that of the highest base which it is in;
// -1: none.
func (o *oracle) module(pc uint64) int {
	best := -1
	for i, m := range o.Modules {
		if pc < uint64(m.Base) {
			continue
		}
		inside := pc-uint64(m.Base) < m.Size
		if m.Size == 0 {
			inside = !slices.ContainsFunc(o.Modules, func(other struct {
				Name text
				Base address
				Size uint64
			}) bool {
				return other.Base > m.Base && uint64(other.Base) <= pc
			})
		}
		if inside && (best < 0 || m.Base > o.Modules[best].Base) {
			best = i
		}
	}
	return best
}

// find is the name at or before pc and the address that it stands at, or why
// there is none.
func (o *oracle) find(pc uint64) (name string, addr uint64, reason string) {
	found := false
	for _, s := range o.Symbols {
		if at := uint64(s.Address); at <= pc && (!found || at > addr) {
			addr, found = at, true
		}
	}
	if !found {
		return "", 0, "before the first symbol"
	}
	for _, s := range o.Symbols {
		if uint64(s.Address) == addr && name == "" {
			name = string(s.Name)
		}
	}
	switch {
	case name != "" && addr == pc:
		return name, addr, ""
	case len(o.Modules) > 0 && o.module(pc) < 0:
		return "", 0, "outside every module"
	case len(o.Modules) > 0 && o.module(pc) != o.module(addr):
		return "", 0, "before the first symbol"
	case name == "":
		return "", 0, "in a hole"
	}
	return name, addr, ""
}

// TestLookup compares every form of answer with the oracle, around each symbol
// and each edge of a module.
func TestLookup(t *testing.T) {
	for _, name := range []string{"plain", "unsorted", "strings", "names", "modules", "holes", "mixed"} {
		t.Run(name, func(t *testing.T) {
			o := readOracle(t, name)
			pcs := []uint64{0, 1, math.MaxUint64}
			for _, s := range o.Symbols {
				pcs = append(pcs, uint64(s.Address)-1, uint64(s.Address), uint64(s.Address)+1)
			}
			for _, m := range o.Modules {
				pcs = append(pcs, uint64(m.Base)-1, uint64(m.Base), uint64(m.Base)+m.Size-1, uint64(m.Base)+m.Size)
			}
			var input, floor, exact strings.Builder
			var args []string
			named := 0
			for i, pc := range pcs {
				asked := fmt.Sprintf("%#x", pc)
				if i%2 == 1 {
					asked = strconv.FormatUint(pc, 10)
				}
				args = append(args, asked)
				fmt.Fprintf(&input, "%s\n", asked)
				name, addr, reason := o.find(pc)
				module := ""
				if i := o.module(pc); i >= 0 && o.Modules[i].Name != "" {
					module = "  " + printable(string(o.Modules[i].Name))
				}
				if reason != "" {
					fmt.Fprintf(&floor, "%#x  ?  %s\n", pc, reason)
				} else {
					named++
					fmt.Fprintf(&floor, "%#x  %s+%#x%s\n", pc, printable(name), pc-addr, module)
				}
				if reason == "" && addr == pc {
					fmt.Fprintf(&exact, "%#x  %s%s\n", pc, printable(name), module)
				} else {
					fmt.Fprintf(&exact, "%#x  ?  no symbol at this address\n", pc)
				}
			}
			require.NotZero(t, named)
			path := foreign(name + ".ztac")
			assert.Equal(t, result{exitDone, floor.String(), ""}, tracecache(input.String(), "lookup", path))
			assert.Equal(t, result{exitDone, floor.String(), ""}, tracecache(input.String(), "lookup", path, "-"))
			assert.Equal(t, result{exitDone, floor.String(), ""}, tracecache("", append([]string{"lookup", path}, args...)...))
			assert.Equal(t, result{exitDone, exact.String(), ""}, tracecache(input.String(), "lookup", "--exact", path))
			compareJSON(t, &o, pcs, tracecache(input.String(), "lookup", "--json", path))
		})
	}
}

// compareJSON compares the answers to pcs in JSON with the oracle.
func compareJSON(t *testing.T, o *oracle, pcs []uint64, got result) {
	t.Helper()
	require.Equal(t, exitDone, got.code)
	require.Empty(t, got.stderr)
	lines := strings.Split(strings.TrimSuffix(got.stdout, "\n"), "\n")
	require.Len(t, lines, len(pcs))
	for i, pc := range pcs {
		want := map[string]any{"pc": fmt.Sprintf("%#x", pc)}
		if name, addr, reason := o.find(pc); reason != "" {
			want["reason"] = reason
		} else {
			want["name"] = jsonText(name)
			want["symbol"] = fmt.Sprintf("%#x", addr)
			want["offset"] = json.Number(strconv.FormatUint(pc-addr, 10))
			want["module"] = ""
			if i := o.module(pc); i >= 0 && o.Modules[i].Name != "" {
				want["module"] = jsonText(string(o.Modules[i].Name))
			}
		}
		var answer map[string]any
		dec := json.NewDecoder(strings.NewReader(lines[i]))
		dec.UseNumber()
		require.NoError(t, dec.Decode(&answer), lines[i])
		assert.Equal(t, want, answer, lines[i])
	}
}

// jsonText is a string as the model's JSON has it.
func jsonText(s string) any {
	if strings.ToValidUTF8(s, "") == s {
		return s
	}
	return map[string]any{"base64": base64.StdEncoding.EncodeToString([]byte(s))}
}

// TestLookupLines: what a line of standard input may look like.
func TestLookupLines(t *testing.T) {
	const method1 = "0x401041  example.com/server/pkg1.(*Type1).Method1+0x1  server\n"
	long := strings.Repeat("0", 3*ioSize)
	for _, test := range []struct {
		name, stdin, stdout string
		code                int
	}{
		{"nothing", "", "", exitDone},
		{"empty lines", "\n\r\n  \t\n", "", exitDone},
		{"blanks", " \t0x401041 \r\n", method1, exitDone},
		{"decimal", "4198465\n", method1, exitDone},
		{"no line end", "0x401041", method1, exitDone},
		{"none resolved", "0x10\n0x11\n", "0x10  ?  before the first symbol\n0x11  ?  before the first symbol\n", exitFailed},
		{"no address", "main\n0x401041\n-1", "main  ?  not an address\n" + method1 + "-1  ?  not an address\n", exitDone},
		{"only no address", "main\n", "main  ?  not an address\n", exitFailed},
		{"odd characters", "a\tb\x1b\xff\n", `a\tb\x1b\xff` + "  ?  not an address\n", exitFailed},
		{"long", long + "1\n0x401041\n", long[:ioSize] + "  ?  not an address\n" + method1, exitDone},
		{"long, at the end", "0x401041\n" + long, method1 + long[:ioSize] + "  ?  not an address\n", exitDone},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := tracecache(test.stdin, "lookup", foreign("plain.ztac"))
			assert.Equal(t, result{test.code, test.stdout, ""}, got)
		})
	}
}

// TestLookupAnswersAtOnce: a program that asks through a pipe gets the answer to
// each whole line before it sends more, a half line behind it or not.
func TestLookupAnswersAtOnce(t *testing.T) {
	in, ask := io.Pipe()
	answers, out := io.Pipe()
	done := make(chan int)
	var stderr strings.Builder
	go func() {
		code := run([]string{"lookup", foreign("plain.ztac")}, in, out, &stderr)
		out.Close()
		done <- code
	}()
	lines := bufio.NewScanner(answers)
	for _, step := range []struct{ send, answer string }{
		{"0x401040\n", "0x401040  example.com/server/pkg1.(*Type1).Method1+0x0  server"},
		{"16\n0x40", "0x10  ?  before the first symbol"},
		{"1041\nzz", "0x401041  example.com/server/pkg1.(*Type1).Method1+0x1  server"},
		{"z\n", "zzz  ?  not an address"},
	} {
		_, err := io.WriteString(ask, step.send)
		require.NoError(t, err)
		require.True(t, lines.Scan())
		assert.Equal(t, step.answer, lines.Text())
	}
	require.NoError(t, ask.Close())
	assert.False(t, lines.Scan())
	assert.Equal(t, exitDone, <-done)
	assert.Empty(t, stderr.String())
}

// TestLookupWithoutBounds: where Metadata is damaged only exact hits are
// answered, and the cause is told.
func TestLookupWithoutBounds(t *testing.T) {
	path := damagedFile(t, "plain.ztac", "metadata")
	got := tracecache("", "lookup", path, "0x401040", "0x401041")
	assert.Equal(t, exitDone, got.code)
	assert.Equal(t, "0x401040  example.com/server/pkg1.(*Type1).Method1+0x0\n0x401041  ?  module bounds are not known\n", got.stdout)
	assert.Equal(t, 1, strings.Count(got.stderr, "\n"), got.stderr)
	assert.True(t, strings.HasPrefix(got.stderr, "tracecache: warning: module bounds are unknown, only exact hits are answered: "+path+": metadata: "), got.stderr)
}

// TestLookupDamaged: without names or symbols there is nothing to answer.
func TestLookupDamaged(t *testing.T) {
	for _, section := range []string{"strings", "symbols"} {
		got := tracecache("", "lookup", damagedFile(t, "plain.ztac", section), "0x401040")
		assert.Equal(t, exitDamaged, got.code)
		assert.Empty(t, got.stdout)
		assert.Contains(t, got.stderr, ": "+section+": offset ")
	}
	for _, section := range []string{"memory", "callstacks"} {
		got := tracecache("", "lookup", damagedFile(t, "plain.ztac", section), "0x401040")
		assert.Equal(t, exitDone, got.code)
		assert.Empty(t, got.stderr)
	}
}

// TestLookupExactJSON: the reason of --exact is its own.
func TestLookupExactJSON(t *testing.T) {
	got := tracecache("", "lookup", "--exact", "--json", foreign("plain.ztac"), "0x401040", "0x401041")
	assert.Equal(t, result{exitDone, `{"pc":"0x401040","name":"example.com/server/pkg1.(*Type1).Method1","symbol":"0x401040","offset":0,"module":"server"}
{"pc":"0x401041","reason":"no symbol at this address"}
`, ""}, got)
}
