package main

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// foreignNames are the files of the second writer.
func foreignNames(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob(foreign("*.ztac"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for i, path := range paths {
		paths[i] = strings.TrimSuffix(filepath.Base(path), ".ztac")
	}
	return paths
}

// decode is a JSON object with its numbers as they are written.
func decode(t *testing.T, text string) (object map[string]any) {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	require.NoError(t, dec.Decode(&object))
	assert.False(t, dec.More(), "one object and nothing else")
	return object
}

func decodeForeign(t *testing.T, name string) map[string]any {
	t.Helper()
	b, err := os.ReadFile(foreign(name + ".json"))
	require.NoError(t, err)
	return decode(t, string(b))
}

// sectionKeys are the keys of the model's JSON by section.
var sectionKeys = map[string][]string{
	"metadata": {"fileSize", "totalEvents", "parseTimeMs", "traceStartUs", "traceEndUs", "session",
		"threads", "channels", "modules", "eventTypeCounts", "scopeStats"},
	"memory":     {"allocSummary", "heaps", "heapStats", "callstackStats", "churnStats"},
	"callstacks": {"callstacks"},
	"symbols":    {"symbols"},
}

// unreadable are the files with a section that cannot be read, by what the command
// ends with.
var unreadable = map[string]int{"oodle": exitDamaged, "unknown": exitFailed}

// unreadableSection is the section.
const unreadableSection = "callstacks"

// TestDumpJSON: the model of every file is what the second writer put there.
func TestDumpJSON(t *testing.T) {
	for _, name := range foreignNames(t) {
		t.Run(name, func(t *testing.T) {
			want := decodeForeign(t, name)
			got := tracecache("", "dump", "--json", foreign(name+".ztac"))
			if code := unreadable[name]; code != exitDone {
				assert.Equal(t, code, got.code)
				assert.Empty(t, got.stdout)
				assert.Contains(t, got.stderr, unreadableSection)
				return
			}
			require.Equal(t, exitDone, got.code, got.stderr)
			require.Empty(t, got.stderr)
			assert.Equal(t, want, decode(t, got.stdout))
		})
	}
}

// TestDumpJSONSection: one section has its keys and no others.
func TestDumpJSONSection(t *testing.T) {
	for _, name := range foreignNames(t) {
		want := decodeForeign(t, name)
		for section, keys := range sectionKeys {
			if unreadable[name] != exitDone && section == unreadableSection {
				continue
			}
			t.Run(name+"/"+section, func(t *testing.T) {
				got := tracecache("", "dump", "--json", "--section", section, foreign(name+".ztac"))
				require.Equal(t, exitDone, got.code, got.stderr)
				part := maps.Clone(want)
				maps.DeleteFunc(part, func(key string, _ any) bool { return !slices.Contains(keys, key) })
				assert.Equal(t, part, decode(t, got.stdout))
			})
		}
	}
}

// TestDumpJSONStrings: the string table has every string of the model.
func TestDumpJSONStrings(t *testing.T) {
	got := tracecache("", "dump", "--json", "--section", "strings", foreign("names.ztac"))
	require.Equal(t, exitDone, got.code, got.stderr)
	object := decode(t, got.stdout)
	assert.Len(t, object, 1)
	table := object["strings"].([]any)
	for _, thread := range decodeForeign(t, "names")["threads"].([]any) {
		name := thread.(map[string]any)["name"]
		assert.True(t, slices.ContainsFunc(table, func(s any) bool { return assert.ObjectsAreEqual(name, s) }), "%v", name)
	}
	assert.Equal(t, "{\"strings\":[]}\n", tracecache("", "dump", "--json", "--section", "strings", foreign("empty.ztac")).stdout)
}

// TestDumpJSONBuild: a cache built of the JSON has the same content, with its
// symbols in order of their addresses.
func TestDumpJSONBuild(t *testing.T) {
	for _, name := range foreignNames(t) {
		for _, codec := range []string{"none", "lz4", "zstd", "oodle", "selkie"} {
			t.Run(name+"/"+codec, func(t *testing.T) {
				out := filepath.Join(t.TempDir(), "copy.ztac")
				got := tracecache("", "build", "-o", out, "--codec", codec, foreign(name+".json"))
				require.Equal(t, result{exitDone, "", ""}, got)
				want := decodeForeign(t, name)
				if unreadable[name] != exitDone {
					want[unreadableSection] = []any{}
				}
				sortSymbols(t, want)
				got = tracecache("", "dump", "--json", out)
				require.Equal(t, exitDone, got.code, got.stderr)
				assert.Equal(t, want, decode(t, got.stdout))
				got = tracecache("", "verify", out)
				assert.Equal(t, result{exitDone, out + ": sound\n", ""}, got)
			})
		}
	}
}

func sortSymbols(t *testing.T, model map[string]any) {
	address := func(symbol any) uint64 {
		v, err := strconv.ParseUint(symbol.(map[string]any)["address"].(string), 0, 64)
		require.NoError(t, err)
		return v
	}
	slices.SortStableFunc(model["symbols"].([]any), func(a, b any) int {
		x, y := address(a), address(b)
		switch {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
}

// TestDumpDamaged: one broken section leaves the others readable, except for
// those that need it.
func TestDumpDamaged(t *testing.T) {
	for _, test := range []struct {
		section string
		json    []string // sections whose JSON cannot be had
		missing []string // what the text of everything does not show
		shown   []string // and what it does all the same
	}{
		{"strings", []string{"strings", "metadata", "memory", "symbols"},
			[]string{"pkg1.(*Type1).Method1"}, []string{"threads: 20\n", "heaps: 4\n", "callstacks: 20\n", "string#"}},
		{"metadata", []string{"metadata"},
			[]string{"threads: 20\n"}, []string{"heaps: 4\n", "callstacks: 20\n", "symbols: 75\n", "module#0+0x10c1"}},
		{"memory", []string{"memory"},
			[]string{"heaps: 4\n"}, []string{"threads: 20\n", "callstacks: 20\n", "symbols: 75\n"}},
		{"callstacks", []string{"callstacks"},
			[]string{"callstacks: 20\n"}, []string{"threads: 20\n", "heaps: 4\n", "symbols: 75\n"}},
		{"symbols", []string{"symbols"},
			[]string{"symbols: 75\n"}, []string{"threads: 20\n", "heaps: 4\n", "callstacks: 20\n", "  server+0x10c1\n"}},
	} {
		t.Run(test.section, func(t *testing.T) {
			path := damagedFile(t, "plain.ztac", test.section)
			got := tracecache("", "dump", path)
			assert.Equal(t, exitDamaged, got.code)
			assert.Equal(t, 1, strings.Count(got.stderr, "\n"), got.stderr)
			assert.Equal(t, 1, strings.Count(got.stderr, ": "+test.section+": offset "), got.stderr)
			for _, s := range test.missing {
				assert.NotContains(t, got.stdout, s)
			}
			for _, s := range test.shown {
				assert.Contains(t, got.stdout, s)
			}
			got = tracecache("", "dump", "--json", path)
			assert.Equal(t, exitDamaged, got.code)
			assert.Empty(t, got.stdout)
			for _, section := range []string{"strings", "metadata", "memory", "callstacks", "symbols"} {
				want := exitDone
				if slices.Contains(test.json, section) {
					want = exitDamaged
				}
				assert.Equal(t, want, tracecache("", "dump", "--json", "--section", section, path).code, section)
			}
		})
	}
}
