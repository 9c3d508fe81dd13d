package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/tracecache/internal/gen"
	"example.com/tracecache/pod"
	"example.com/tracecache/writer"
)

// TestLookupFew: few addresses are answered by what they touch, so that damage
// elsewhere does not matter; more, from arguments, at once or one by one, are
// answered by the whole section.
func TestLookupFew(t *testing.T) {
	m := gen.Model(gen.Config{Seed: 1, Symbols: 2000})
	path := filepath.Join(t.TempDir(), "large.ztac")
	require.NoError(t, writer.WriteFile(path, m, writer.WithBlockSize(1<<10)))
	var args []string
	var lines strings.Builder
	for i := range few + 1 {
		args = append(args, fmt.Sprintf("%#x", m.Symbols[i].Address))
		fmt.Fprintf(&lines, "%#x  %s+0x0  %s\n", m.Symbols[i].Address, printable(m.Symbols[i].Name), m.Modules[i/50].Name)
	}
	want := lines.String()
	whole := tracecache("", append([]string{"lookup", path}, args...)...)
	assert.Equal(t, result{exitDone, want, ""}, whole)

	// The last block of Symbols is one that none of these addresses needs.
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	entry := data[pod.FileHeaderSize+int(pod.SectionSymbols)*pod.DirectoryEntrySize:]
	end := binary.LittleEndian.Uint64(entry[8:]) + binary.LittleEndian.Uint64(entry[16:])
	data[end-1] ^= 1
	require.NoError(t, os.WriteFile(path, data, 0o600))
	cut := func(n int) string { return strings.Join(strings.SplitAfter(want, "\n")[:n], "") }
	input := strings.Join(args[:few], "\n") + "\n"
	assert.Equal(t, result{exitDone, cut(few), ""}, tracecache("", append([]string{"lookup", path}, args[:few]...)...))
	assert.Equal(t, result{exitDone, cut(few), ""}, tracecache(input, "lookup", path))

	got := tracecache("", append([]string{"lookup", path}, args...)...)
	assert.Equal(t, exitDamaged, got.code)
	assert.Empty(t, got.stdout)
	assert.Contains(t, got.stderr, ": symbols: offset ")
	got = tracecache(input+"zz\n"+args[few]+"\n", "lookup", path)
	assert.Equal(t, exitDamaged, got.code)
	assert.Equal(t, cut(few)+"zz  ?  not an address\n", got.stdout)
}
