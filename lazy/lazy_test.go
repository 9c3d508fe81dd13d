package lazy_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/tracecache/lazy"
	"example.com/tracecache/pod"
)

// opens are the ways to open a file; all must give the same answers.
var opens = map[string]func(t testing.TB, name string, opts ...lazy.Option) (*lazy.Cache, error){
	"mapped": func(t testing.TB, name string, opts ...lazy.Option) (*lazy.Cache, error) {
		return lazy.Open(filepath.Join(foreignDir, name+".ztac"), opts...)
	},
	"copy": func(t testing.TB, name string, opts ...lazy.Option) (*lazy.Cache, error) {
		return lazy.OpenCopy(filepath.Join(foreignDir, name+".ztac"), opts...)
	},
	"bytes": func(t testing.TB, name string, opts ...lazy.Option) (*lazy.Cache, error) {
		return lazy.OpenBytes(readForeign(t, name), opts...)
	},
	"reader": func(t testing.TB, name string, opts ...lazy.Option) (*lazy.Cache, error) {
		b := readForeign(t, name)
		return lazy.NewReader(io.NewSectionReader(bytes.NewReader(b), 0, int64(len(b))), int64(len(b)), opts...)
	},
}

func openForeign(t testing.TB, name string) *lazy.Cache {
	t.Helper()
	c, err := opens["mapped"](t, name)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, c.Close()) })
	return c
}

// Everything in the second writer's files is read as it was written.
func TestForeignModels(t *testing.T) {
	for _, name := range foreignNames(t) {
		if name == "oodle" || name == "unknown" { // TestUnreadableSection
			continue
		}
		for how, open := range opens {
			t.Run(name+"/"+how, func(t *testing.T) {
				c, err := open(t, name, lazy.WithHashCheck())
				require.NoError(t, err)
				m, err := c.Model()
				require.NoError(t, err)
				require.NoError(t, c.Close())
				assert.Equal(t, describe(readWant(t, name)), describe(m))
			})
		}
	}
}

// What Verify has to say of the second writer's files: what their table in
// testdata/foreign/README.md says is odd and against a rule.
func TestVerifyForeign(t *testing.T) {
	odd := map[string]map[pod.Section]error{
		"oodle":    {pod.SectionCallstacks: pod.ErrCorrupt},
		"unknown":  {pod.SectionCallstacks: pod.ErrUnsupported},
		"trailing": {pod.SectionMetadata: pod.ErrCorrupt, pod.SectionMemory: pod.ErrCorrupt, pod.SectionCallstacks: pod.ErrCorrupt, pod.SectionSymbols: pod.ErrCorrupt},
		"unsorted": {pod.SectionSymbols: pod.ErrCorrupt},
		"strings":  {pod.SectionStringTable: pod.ErrCorrupt, pod.SectionMetadata: pod.ErrCorrupt, pod.SectionSymbols: pod.ErrCorrupt},
		"threads":  {pod.SectionMemory: pod.ErrCorrupt},
	}
	for _, name := range foreignNames(t) {
		t.Run(name, func(t *testing.T) {
			err := openForeign(t, name).Verify(t.Context())
			if odd[name] == nil {
				require.NoError(t, err)
				return
			}
			require.Error(t, err)
			seen := map[pod.Section]bool{}
			for _, finding := range err.(interface{ Unwrap() []error }).Unwrap() {
				var e *pod.Error
				require.ErrorAs(t, finding, &e)
				assert.Equal(t, filepath.Join(foreignDir, name+".ztac"), e.Path)
				want := odd[name][e.Section]
				if assert.NotNil(t, want, "unexpected: %v", finding) {
					assert.ErrorIs(t, finding, want)
				}
				seen[e.Section] = true
			}
			assert.Len(t, seen, len(odd[name]))
		})
	}
}

// A section that cannot be decompressed, because nobody knows its method or
// because its blocks are noise, leaves the others as they are.
func TestUnreadableSection(t *testing.T) {
	for name, want := range map[string]error{"unknown": lazy.ErrUnsupported, "oodle": lazy.ErrCorrupt} {
		c := openForeign(t, name)
		_, err := c.Callstacks()
		require.ErrorIs(t, err, want)
		assert.Equal(t, want == lazy.ErrCorrupt, pod.Damaged(err))
		symbols, err := c.Symbols()
		require.NoError(t, err)
		require.Equal(t, len(readWant(t, name).Symbols), symbols.Len())
		_, err = c.Model()
		assert.ErrorIs(t, err, want)
	}
	_, err := openForeign(t, "unknown").Callstacks()
	assert.ErrorContains(t, err, "method(77)")
	_, err = openForeign(t, "oodle").Callstacks()
	assert.ErrorContains(t, err, "oodle block")
}

func TestOpenErrors(t *testing.T) {
	plain := readForeign(t, "plain")
	edit := func(off int, b ...byte) []byte {
		c := bytes.Clone(plain)
		copy(c[off:], b)
		return c
	}
	for _, tc := range []struct {
		name  string
		bytes []byte
		want  error
		not   error
		off   int64
	}{
		{"empty", nil, lazy.ErrTruncated, lazy.ErrFormat, 0},
		{"two bytes", plain[:2], lazy.ErrTruncated, lazy.ErrFormat, 2},
		{"two other bytes", []byte("\x7fE"), lazy.ErrFormat, lazy.ErrTruncated, 0},
		{"header only", plain[:24], lazy.ErrTruncated, lazy.ErrFormat, 24},
		{"one byte short of the directory", plain[:143], lazy.ErrTruncated, lazy.ErrFormat, 143},
		{"other magic", edit(0, 'E'), lazy.ErrFormat, lazy.ErrCorrupt, 0},
		{"magic of the other byte order", edit(0, 0x43, 0x41, 0x54, 0x5a), lazy.ErrFormat, lazy.ErrCorrupt, 0},
		{"older", edit(4, 0), lazy.ErrVersionOld, lazy.ErrVersionNew, 4},
		{"newer", edit(4, 2), lazy.ErrVersionNew, lazy.ErrVersionOld, 4},
		{"newer and short", edit(4, 9)[:30], lazy.ErrVersionNew, lazy.ErrTruncated, 4},
		{"wrong id", edit(24+24, 7), lazy.ErrCorrupt, lazy.ErrFormat, 48},
		{"ids out of order", edit(24+4*24, 0), lazy.ErrCorrupt, lazy.ErrFormat, 120},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, err := lazy.OpenBytes(tc.bytes)
			assert.Nil(t, c)
			require.ErrorIs(t, err, tc.want)
			assert.NotErrorIs(t, err, tc.not)
			assert.Equal(t, errors.Is(tc.want, lazy.ErrVersion), errors.Is(err, lazy.ErrVersion))
			var e *pod.Error
			require.ErrorAs(t, err, &e)
			assert.Equal(t, pod.SectionNone, e.Section)
			assert.Equal(t, tc.off, e.Off)
		})
	}
	_, err := lazy.Open(filepath.Join(t.TempDir(), "none"))
	assert.ErrorIs(t, err, fs.ErrNotExist)
	_, err = lazy.Open(t.TempDir())
	assert.ErrorIs(t, err, lazy.ErrFormat)
	_, err = lazy.OpenBytes(plain, lazy.WithMaxSection(0))
	assert.ErrorContains(t, err, "WithMaxSection(0)")
}

// A section above the limit is refused before it is decoded.
func TestMaxSection(t *testing.T) {
	b := readForeign(t, "plain")
	full, err := lazy.OpenBytes(b)
	require.NoError(t, err)
	info, err := full.Info(pod.SectionStringTable)
	require.NoError(t, err)
	size := int64(info.Header.TotalRawSize)

	c, err := lazy.OpenBytes(b, lazy.WithMaxSection(size))
	require.NoError(t, err)
	assert.NoError(t, c.Load(t.Context(), pod.SectionStringTable))

	c, err = lazy.OpenBytes(b, lazy.WithMaxSection(size-1))
	require.NoError(t, err)
	err = c.Load(t.Context(), pod.SectionStringTable)
	require.ErrorIs(t, err, lazy.ErrTooLarge)
	var e *pod.Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, pod.SectionStringTable, e.Section)
}

func TestLoadErrors(t *testing.T) {
	c := openForeign(t, "plain")
	assert.NoError(t, c.Load(t.Context()))
	assert.ErrorIs(t, c.Load(t.Context(), 5), lazy.ErrNotFound)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c = openForeign(t, "plain")
	assert.ErrorIs(t, c.Load(ctx), context.Canceled)
	assert.NoError(t, c.Load(t.Context()), "a cancelled call leaves nothing behind")
	assert.ErrorIs(t, c.Verify(ctx), context.Canceled)
}
