package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestProgress: the bar shows what is being done, and makes room for the last
// line.
func TestProgress(t *testing.T) {
	var out strings.Builder
	p := &progress{out: &out}
	p.reading("dir/in\nput", 0, 100)
	p.reading("dir/in\nput", 100, 100)
	p.writing(0, 10)
	p.writing(10, 10)
	p.writing(10, 10)
	p.done("all done")
	assert.Contains(t, out.String(), `reading in\nput`)
	assert.Contains(t, out.String(), "writing")
	assert.True(t, strings.HasSuffix(out.String(), "\rall done\n"), "%q", out.String())
	assert.Equal(t, 1, strings.Count(out.String(), "\n"), "%q", out.String())
}

// TestProgressEmpty: an empty input has no progress to divide by.
func TestProgressEmpty(t *testing.T) {
	var out strings.Builder
	p := &progress{out: &out}
	p.reading("empty", 0, 0)
	p.close()
	assert.NotContains(t, out.String(), "NaN")
}

// TestProgressSilent: without a terminal there is no progress and no last line.
func TestProgressSilent(t *testing.T) {
	file, err := os.Create(t.TempDir() + "/stderr")
	require.NoError(t, err)
	defer file.Close()
	for _, quiet := range []bool{false, true} {
		p := newProgress(file, quiet)
		p.reading("in", 1, 2)
		p.writing(1, 2)
		p.done("all done")
	}
	fi, err := file.Stat()
	require.NoError(t, err)
	assert.Zero(t, fi.Size())
}
