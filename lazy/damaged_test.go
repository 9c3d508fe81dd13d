package lazy_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/tracecache/lazy"
	"example.com/tracecache/pod"
	"example.com/tracecache/trace"
	"example.com/tracecache/writer"
)

// The campaign damages small files in every way that there is and asks each all there
// is to ask. By default each byte is changed once; with -campaign each bit of it, in
// more files, which takes minutes:
//
//	go test ./lazy -run Campaign -campaign -timeout 1h
var campaignAll = flag.Bool("campaign", false, "damage every bit, in more files")

// golden is a sound file, and what it answers.
type golden struct {
	name  string
	bytes []byte
	parts [pod.SectionCount]string // what each section holds
	model *trace.Model
	sums  [pod.SectionCount]bool // which sections have checksum tables
	plain [pod.SectionCount]bool // which are stored as they are
}

func newGolden(t testing.TB, name string, b []byte) *golden {
	t.Helper()
	g := &golden{name: name, bytes: b}
	c := openBuf(t, b)
	require.NoError(t, c.Verify(t.Context()))
	var err error
	g.model, err = c.Model()
	require.NoError(t, err)
	for _, id := range pod.Sections {
		part, err := c.ModelOf(id)
		require.NoError(t, err)
		g.parts[id] = describe(part)
		info, err := c.Info(id)
		require.NoError(t, err)
		g.plain[id] = info.Header.Method == pod.MethodNone
		g.sums[id] = info.Checksums
	}
	return g
}

// goldens are files of each codec, as this module writes them and without checksum
// tables, as others do.
func goldens(t testing.TB) (all []*golden) {
	t.Helper()
	paths, err := filepath.Glob("../testdata/golden/*.ztac")
	require.NoError(t, err)
	require.Len(t, paths, 4)
	if *campaignAll {
		for _, name := range []string{"plain", "holes", "none", "zstd", "gaps", "hash20", "blocks", "mixed", "padding", "names"} {
			paths = append(paths, filepath.Join(foreignDir, name+".ztac"))
		}
	}
	files := map[string][]byte{}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		files[strings.TrimSuffix(filepath.Base(path), ".ztac")] = b
	}
	m, err := openBuf(t, files["small"]).Model()
	require.NoError(t, err)
	var selkie bytes.Buffer
	_, err = writer.Write(&selkie, m, writer.WithOodle(pod.CompressorSelkie))
	require.NoError(t, err)
	files["small-selkie"] = selkie.Bytes()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		b := files[name]
		bare := bytes.Clone(b)
		for _, id := range pod.Sections {
			binary.LittleEndian.PutUint32(bare[entryAt(id)+4:], 0)
		}
		all = append(all, newGolden(t, name, b), newGolden(t, name+" without checksums", bare))
	}
	return all
}

// stride leaves out what a short run has no time for.
func stride() int {
	if testing.Short() && !*campaignAll {
		return 13
	}
	return 1
}

// damage is one way to damage a golden file.
type damage struct {
	what string
	b    []byte

	// section is the only one that may have errors, besides those that need it;
	// SectionNone: any.
	section pod.Section

	// wrong says whose answers may differ from those of the golden file.
	wrong func(id pod.Section) bool

	unnoticed bool // Verify may find nothing
	hostile   bool // hashes and checksums were made right
}

func never(pod.Section) bool  { return false }
func always(pod.Section) bool { return true }

// check asks a damaged file everything. It is nobody's fault that it is damaged, so
// answers are those of the golden file, or errors that callers are told about, of the
// right section, in little memory and time.
func (g *golden) check(t *testing.T, d damage) {
	start := time.Now()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	g.ask(t, d)
	runtime.ReadMemStats(&after)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<20), "%s: %s: memory", g.name, d.what)
	assert.Less(t, time.Since(start), 30*time.Second, "%s: %s: it hangs", g.name, d.what)
	if t.Failed() {
		t.FailNow()
	}
}

func (g *golden) ask(t *testing.T, d damage) {
	c, err := lazy.OpenBytes(d.b)
	if err != nil {
		assert.Nil(t, c)
		g.refused(t, d, err, pod.SectionNone)
		return
	}
	defer c.Close()
	g.askCold(t, d, c)
	for _, id := range pod.Sections {
		if err := accessors[id](c); err != nil {
			g.refused(t, d, err, id)
			continue
		}
		if part, err := c.ModelOf(id); err != nil {
			g.refused(t, d, err, id)
		} else if got := describe(part); got != g.parts[id] && !d.wrong(id) {
			assert.Equal(t, g.parts[id], got, "%s: %s: %v", g.name, d.what, id)
		}
	}
	if d.section == pod.SectionNone || !g.sums[d.section] {
		g.askHashed(t, d) // where there are checksums they come first
	}
	if d.section != pod.SectionMemory && d.section != pod.SectionCallstacks {
		g.askSymbols(t, d)
	}
	g.checkVerify(t, d, c)
}

// askHashed asks for what the hashes are compared with: no answer is wrong, checksum
// tables or not.
func (g *golden) askHashed(t *testing.T, d damage) {
	c, err := lazy.OpenBytes(d.b, lazy.WithHashCheck())
	require.NoError(t, err)
	for _, id := range pod.Sections {
		part, err := c.ModelOf(id)
		if err != nil {
			g.refused(t, d, err, id)
		} else if !d.hostile {
			assert.Equal(t, g.parts[id], describe(part), "%s: %s: %v with hashes", g.name, d.what, id)
		}
	}
}

// refused checks an error of what section id has.
func (g *golden) refused(t *testing.T, d damage, err error, id pod.Section) {
	t.Helper()
	if !assert.True(t, documented(err), "%s: %s: %v", g.name, d.what, err) {
		return
	}
	var e *pod.Error
	assert.ErrorAs(t, err, &e)
	if id == pod.SectionNone {
		assert.Equal(t, id, e.Section, "%s: %s: %v", g.name, d.what, err)
		return
	}
	needsNames := id != pod.SectionCallstacks && e.Section == pod.SectionStringTable
	assert.True(t, e.Section == id || needsNames, "%s: %s: %v has an error of another section: %v", g.name, d.what, id, err)
	if d.section != pod.SectionNone {
		assert.Equal(t, d.section, e.Section, "%s: %s: %v", g.name, d.what, err)
	}
}

// askCold looks addresses up in a cache of which nothing is decoded.
func (g *golden) askCold(t *testing.T, d damage, c *lazy.Cache) {
	l := linear{symbols: g.model.Symbols, modules: g.model.Modules}
	for i := 0; i < len(l.symbols); i += 1 + len(l.symbols)/3 {
		addr := l.symbols[i].Address
		if name, err := c.LookupExact(addr); err == nil && !d.wrong(pod.SectionSymbols) {
			want, _ := l.find(addr)
			assert.Equal(t, want.Name, name, "%s: %s", g.name, d.what)
		}
		for _, pc := range []uint64{addr, addr + 1} {
			want, reason := l.find(pc)
			got, err := c.Lookup(pc)
			switch {
			case d.wrong(pod.SectionSymbols):
				assert.True(t, err == nil || errors.Is(err, lazy.ErrNotFound) || documented(err), "%s: %s: %v", g.name, d.what, err)
			case err == nil && c.BoundsErr() != nil:
				want.Module = ""
				assert.Equal(t, want, got, "%s: %s: exact hits only", g.name, d.what)
				assert.Equal(t, pc, got.Address)
			case err == nil:
				assert.Equal(t, lazy.Found, reason, "%s: %s: a name for %#x", g.name, d.what, pc)
				assert.Equal(t, want, got, "%s: %s", g.name, d.what)
			case errors.Is(err, lazy.ErrNotFound):
				assert.True(t, reason != lazy.Found || c.BoundsErr() != nil, "%s: %s: no name for %#x: %v", g.name, d.what, pc, err)
			default:
				g.refused(t, d, err, pod.SectionSymbols)
			}
		}
	}
}

// askSymbols looks addresses up in a cache that is loaded, in batches and by the exact
// index too.
func (g *golden) askSymbols(t *testing.T, d damage) {
	c, err := lazy.OpenBytes(d.b, lazy.WithExactIndex())
	require.NoError(t, err)
	s, err := c.Symbols()
	if err != nil || d.wrong(pod.SectionSymbols) {
		return // told already, or nothing is known of the answers
	}
	l := linear{symbols: g.model.Symbols, modules: g.model.Modules}
	var pcs []uint64
	for _, sym := range l.symbols {
		pcs = append(pcs, sym.Address, sym.Address+1)
	}
	names, found := make([]string, len(pcs)), make([]lazy.Symbol, len(pcs))
	s.ResolveBatch(pcs, names)
	s.FindBatch(pcs, found)
	for i, pc := range pcs {
		want, _ := l.find(pc)
		if s.BoundsErr() != nil {
			if want.Module = ""; want.Offset != 0 {
				want = lazy.Symbol{}
			}
		}
		exact := ""
		if want.Offset == 0 {
			exact = want.Name
		}
		assert.Equal(t, want, found[i], "%s: %s", g.name, d.what)
		assert.Equal(t, exact, names[i], "%s: %s", g.name, d.what)
	}
}

func (g *golden) checkVerify(t *testing.T, d damage, c *lazy.Cache) {
	err := c.Verify(t.Context())
	if err == nil {
		assert.True(t, d.unnoticed, "%s: %s: Verify finds nothing", g.name, d.what)
		if d.section != pod.SectionNone {
			m, err := c.Model()
			assert.NoError(t, err)
			assert.Equal(t, describe(g.model), describe(m), "%s: %s: Verify finds nothing", g.name, d.what)
		}
		return
	}
	for _, finding := range err.(interface{ Unwrap() []error }).Unwrap() {
		assert.True(t, documented(finding), "%s: %s: %v", g.name, d.what, finding)
	}
}

// place says what a byte of the file belongs to: a section, or SectionNone, and where
// in the section's stored bytes it is; behind them lies its checksum table.
func (g *golden) place(off int) (id pod.Section, at int) {
	for _, id := range pod.Sections {
		start, size := stored(g.bytes, id)
		end := start + size
		if g.sums[id] {
			if info, err := mustOpen(g.bytes).Info(id); err == nil {
				end += 4 * info.Blocks
			}
		}
		if off >= start && off < end {
			return id, off - start
		}
	}
	return pod.SectionNone, off
}

func mustOpen(b []byte) *lazy.Cache {
	c, err := lazy.OpenBytes(b)
	if err != nil {
		panic(err)
	}
	return c
}

// changed is the damage of a byte at off.
func (g *golden) changed(b []byte, off int, what string) damage {
	id, at := g.place(off)
	d := damage{what: fmt.Sprintf("byte %#x (%v, %d): %s", off, id, at, what), b: b, section: id, wrong: never}
	_, size := 0, 0
	if id != pod.SectionNone {
		_, size = stored(g.bytes, id)
	}
	switch {
	case id == pod.SectionNone: // the directory, or bytes that belong to nothing
		d.unnoticed = true
	case at >= size:
		d.unnoticed = !g.sums[id] // a table that nobody looks at
	case !g.sums[id] && g.plain[id]:
		d.wrong = plainWrong(id, at-pod.BufferHeaderSize)
	case !g.sums[id]:
		// A match may be told in several ways: some bytes of a compressed block
		// can change and decode to what was written.
		d.wrong, d.unnoticed = always, at >= pod.BufferHeaderSize
	}
	return d
}

// plainWrong says whose answers a changed byte of a payload that is stored as it is may
// change: it must be a byte of a string, an offset, an address or an index itself. The
// lists of Metadata and Memory are covered by their hashes.
func plainWrong(id pod.Section, at int) func(pod.Section) bool {
	switch {
	case at < pod.CountSize: // the container, or a count
		return never
	case id == pod.SectionStringTable:
		return always
	case id == pod.SectionCallstacks,
		id == pod.SectionSymbols && (at-pod.CountSize)%pod.SymbolEntrySize < 12: // not the padding
		return func(of pod.Section) bool { return of == id }
	}
	return never
}
