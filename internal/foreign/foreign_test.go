package foreign

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the files of testdata")

const dir = "../../testdata/foreign"

// build makes the file of a variant and the payloads in it.
func (v variant) build() ([]byte, payloads) {
	st := v.style
	if st.table == nil {
		st = packed()
	}
	p := encode(v.want, st)
	if v.edit != nil {
		v.edit(&p)
	}
	var bufs, sums [5][]byte
	for id, b := range p {
		pk := v.packing
		if v.each != nil {
			v.each(id, &pk)
		}
		bufs[id], sums[id] = pack(b, pk)
	}
	return file(v.layout, bufs, sums), p
}

// The files checked in are what the writer of this package makes, and the
// reader, which shares nothing with it but the description of the format, finds
// in them what their JSON says.
func TestFiles(t *testing.T) {
	for _, v := range variants() {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			built, sections := v.build()
			path := filepath.Join(dir, v.name)
			want := printModel(v.want)
			if *update {
				require.NoError(t, os.WriteFile(path+".ztac", built, 0o644))
				require.NoError(t, os.WriteFile(path+".json", []byte(want), 0o644))
			}
			b, err := os.ReadFile(path + ".ztac")
			require.NoError(t, err)
			text, err := os.ReadFile(path + ".json")
			require.NoError(t, err)
			assert.Equal(t, want, string(text))

			p := parse(b)
			for id, s := range p.sections {
				if !s.undecodable {
					assert.Equal(t, sections[id], s.payload, names[id])
				}
			}
			if v.packing.method != zstdFrames { // whose bytes are up to a library
				assert.Equal(t, built, b, "run with -update, or undo what changed the writer")
			}

			var doc any
			dec := json.NewDecoder(strings.NewReader(want))
			dec.UseNumber()
			require.NoError(t, dec.Decode(&doc))
			assert.Equal(t, doc, any(p.content.model()))
			annotate(b)
		})
	}
}

// Each file is what it is there for; a change of the samples must not turn, say,
// a compressed section into a stored one unseen.
func TestFilesShowWhatTheySay(t *testing.T) {
	files := map[string]*parsed{}
	for _, v := range variants() {
		b, _ := v.build()
		limit := 20_000
		if v.name == "blocks" {
			limit = 100_000
		}
		assert.Less(t, len(b), limit, v.name)
		files[v.name] = parse(b)
	}
	methods := func(name string) (ms []byte) {
		for _, s := range files[name].sections {
			ms = append(ms, s.method)
		}
		return ms
	}
	assert.Equal(t, []byte{lz4, lz4, lz4, lz4, lz4}, methods("plain"))
	assert.Equal(t, []byte{lz4, lz4, lz4, lz4, lz4}, methods("trailing"))
	assert.Equal(t, []byte{lz4, lz4, lz4, lz4, lz4}, methods("gaps"))
	assert.Equal(t, []byte{lz4, lz4, lz4, lz4, lz4}, methods("hash20"))
	assert.Equal(t, []byte{zstdFrames, zstdFrames, zstdFrames, zstdFrames, zstdFrames}, methods("zstd"))
	assert.Equal(t, []byte{none, none, none, none, none}, methods("none"))
	assert.Equal(t, []byte{none, none, none, none, none}, methods("empty"))
	assert.Equal(t, []byte{lz4, lz4, lz4, oodle, lz4}, methods("oodle"))
	assert.Equal(t, []byte{lz4, lz4, lz4, unknown, lz4}, methods("unknown"))
	assert.Equal(t, uint32(1), files["sumzero"].sections[2].reserved)
	for id := range names {
		assert.NotZero(t, files["plain"].sections[id].reserved)
		assert.Zero(t, files["nosums"].sections[id].reserved)
		assert.True(t, files["hash20"].sections[id].hash20)
		assert.Greater(t, len(files["blocks"].sections[id].blocks), 2, names[id])

		s := files["mixed"].sections[id]
		require.Greater(t, len(s.blocks), 1, names[id])
		assert.Less(t, s.blocks[0], 1024, names[id])
		assert.Equal(t, min(1024, len(s.payload)-1024), s.blocks[1], names[id])
	}
}

// The index says what each file shows.
func TestIndex(t *testing.T) {
	var b strings.Builder
	b.WriteString(`# Files of a second writer

Made by the tests of internal/foreign, which know the format's description alone
and share no code with the module's writer:

    go test ./internal/foreign -update

Beside each NAME.ztac, NAME.json is the content that a reader must find in it:
the model's JSON, every list present, in file order. A string that is not UTF-8
is {"base64":"…"}; a float that is not finite is "NaN", "+Inf" or "-Inf".

| file | what it shows |
|---|---|
`)
	for _, v := range variants() {
		fmt.Fprintf(&b, "| %s | %s |\n", v.name, v.shows)
	}
	path := filepath.Join(dir, "README.md")
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o644))
	}
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, b.String(), string(got))

	found, err := filepath.Glob(filepath.Join(dir, "*.ztac"))
	require.NoError(t, err)
	assert.Len(t, found, len(variants()), "a file that no variant makes")
}

// A golden dump is worth as much as the reader behind it is strict: it refuses
// every single-byte change of a file with checksum tables, but for those that no
// rule of the format covers, the two fields that tell the source.
func TestReaderIsStrict(t *testing.T) {
	good, err := os.ReadFile(filepath.Join(dir, "holes.ztac"))
	require.NoError(t, err)
	for i := range good {
		bad := slices.Clone(good)
		bad[i] ^= 0x10
		if 8 <= i && i < 24 {
			assert.NotPanics(t, func() { parse(bad) }, "byte %#x", i)
		} else {
			assert.Panics(t, func() { parse(bad) }, "byte %#x", i)
		}
	}
}
