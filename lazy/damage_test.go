package lazy_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io/fs"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zeebo/blake3"

	"example.com/tracecache/lazy"
	"example.com/tracecache/pod"
)

// accessors are the ways into a cache, by the section that each is of.
var accessors = map[pod.Section]func(*lazy.Cache) error{
	pod.SectionStringTable: func(c *lazy.Cache) error { _, err := c.Strings(); return err },
	pod.SectionMetadata:    func(c *lazy.Cache) error { _, err := c.Metadata(); return err },
	pod.SectionMemory:      func(c *lazy.Cache) error { _, err := c.Memory(); return err },
	pod.SectionCallstacks:  func(c *lazy.Cache) error { _, err := c.Callstacks(); return err },
	pod.SectionSymbols:     func(c *lazy.Cache) error { _, err := c.Symbols(); return err },
}

// entryAt is where the directory entry of a section starts in the file.
func entryAt(id pod.Section) int { return 24 + 24*int(id) }

// stored returns where a section lies in the file b.
func stored(b []byte, id pod.Section) (off, size int) {
	e := b[entryAt(id):]
	return int(binary.LittleEndian.Uint64(e[8:])), int(binary.LittleEndian.Uint64(e[16:]))
}

// setPlace writes a section's place into the directory of b.
func setPlace(b []byte, id pod.Section, off, size uint64) {
	e := b[entryAt(id):]
	binary.LittleEndian.PutUint64(e[8:], off)
	binary.LittleEndian.PutUint64(e[16:], size)
}

// One broken section leaves the others usable, but for those that need it.
func TestOneBrokenSection(t *testing.T) {
	good := readForeign(t, "plain")
	for _, id := range pod.Sections {
		off, size := stored(good, id)
		damages := map[string]struct {
			damage func(b []byte)
			want   error
			at     int64
		}{
			"no bytes":           {func(b []byte) { setPlace(b, id, uint64(off), 0) }, pod.ErrCorrupt, int64(entryAt(id) + 16)},
			"in the directory":   {func(b []byte) { setPlace(b, id, 143, uint64(size)) }, pod.ErrCorrupt, int64(entryAt(id) + 8)},
			"behind the end":     {func(b []byte) { setPlace(b, id, uint64(len(b)), 64) }, pod.ErrTruncated, int64(len(good))},
			"over the end":       {func(b []byte) { setPlace(b, id, uint64(off), uint64(len(b)-off+1)) }, pod.ErrTruncated, int64(off)},
			"size that wraps":    {func(b []byte) { setPlace(b, id, uint64(off), math.MaxUint64-uint64(off)+11) }, pod.ErrTruncated, int64(off)},
			"offset that wraps":  {func(b []byte) { setPlace(b, id, math.MaxUint64-10, uint64(size)) }, pod.ErrTruncated, math.MaxInt64},
			"magic":              {func(b []byte) { b[off]++ }, pod.ErrCorrupt, int64(off)},
			"header CRC":         {func(b []byte) { b[off+4]++ }, pod.ErrChecksum, int64(off + 4)},
			"a stored byte":      {func(b []byte) { b[off+size-1]++ }, pod.ErrChecksum, int64(off + 64 + 4)},
			"checksum table":     {func(b []byte) { b[off+size]++ }, pod.ErrChecksum, int64(off + size)},
			"table's checksum":   {func(b []byte) { b[entryAt(id)+4] ^= 0x80 }, pod.ErrChecksum, int64(off + size)},
			"shorter than it is": {func(b []byte) { setPlace(b, id, uint64(off), uint64(size-1)) }, nil, 0},
		}
		for name, d := range damages {
			t.Run(id.String()+"/"+name, func(t *testing.T) {
				b := bytes.Clone(good)
				d.damage(b)
				checkOneBroken(t, b, id, d.want, d.at)
			})
		}
	}
}

func checkOneBroken(t *testing.T, b []byte, broken pod.Section, want error, at int64) {
	c, err := lazy.OpenBytes(b)
	require.NoError(t, err)
	for id, get := range accessors {
		err := get(c)
		needs := id == broken || id == pod.SectionSymbols && broken == pod.SectionStringTable
		if !needs {
			assert.NoError(t, err, "%v", id)
			continue
		}
		require.Error(t, err, "%v", id)
		assert.True(t, pod.Damaged(err))
		assert.Equal(t, err, get(c), "damage is final")
		var e *pod.Error
		require.ErrorAs(t, err, &e)
		assert.Equal(t, broken, e.Section)
		if want != nil {
			assert.ErrorIs(t, err, want)
			assert.Equal(t, at, e.Off)
		}
	}
	if broken == pod.SectionStringTable {
		md, err := c.Metadata()
		require.NoError(t, err)
		assert.NotEmpty(t, md.Threads())
		_, err = md.Names()
		assert.True(t, pod.Damaged(err))
		_, err = md.Session()
		assert.True(t, pod.Damaged(err))
	}
	_, err = c.Model()
	assert.Error(t, err)
	assert.Error(t, c.Verify(t.Context()))
}

// Where Metadata is damaged, exact hits answer and nothing else does.
func TestSymbolsWithoutMetadata(t *testing.T) {
	b := readForeign(t, "plain")
	off, size := stored(b, pod.SectionMetadata)
	b[off+size-1]++
	c, err := lazy.OpenBytes(b)
	require.NoError(t, err)
	s, err := c.Symbols()
	require.NoError(t, err)
	assert.ErrorIs(t, s.BoundsErr(), lazy.ErrChecksum)
	found := 0
	for addr, name := range s.All() {
		if name == "" {
			continue
		}
		got, ok := s.Resolve(addr)
		require.True(t, ok)
		sym, ok := s.Find(addr)
		require.True(t, ok)
		assert.Equal(t, lazy.Symbol{Name: got, Address: addr}, sym)
		if _, exact := s.Resolve(addr + 1); !exact {
			_, ok = s.Find(addr + 1)
			assert.False(t, ok)
			assert.Equal(t, lazy.UnknownModules, s.Explain(addr+1))
			found++
		}
	}
	assert.NotZero(t, found)
}

// Two sections that overlap fail both; one that points into another one's bytes
// leaves the rest alone.
func TestOverlap(t *testing.T) {
	b := readForeign(t, "plain")
	off, size := stored(b, pod.SectionMemory)
	setPlace(b, pod.SectionCallstacks, uint64(off+size-1), 64)
	c, err := lazy.OpenBytes(b)
	require.NoError(t, err)
	for id, get := range accessors {
		if id == pod.SectionMemory || id == pod.SectionCallstacks {
			assert.ErrorIs(t, get(c), lazy.ErrCorrupt)
		} else {
			assert.NoError(t, get(c))
		}
	}
}

// repack makes a file with one section replaced by a sound container around
// payload, as a hostile writer would: every checksum is right.
func repack(t testing.TB, name string, id pod.Section, payload []byte) []byte {
	t.Helper()
	b := readForeign(t, name)
	head := make([]byte, 64)
	be := binary.BigEndian
	be.PutUint32(head[0:], 0xB7756362)
	be.PutUint32(head[12:], 1)
	be.PutUint64(head[16:], uint64(len(payload)))
	be.PutUint64(head[24:], uint64(len(payload)+64))
	hash := blake3.Sum256(payload)
	copy(head[32:], hash[:])
	be.PutUint32(head[4:], crc32.ChecksumIEEE(head[8:]))
	setPlace(b, id, uint64(len(b)), uint64(64+len(payload)))
	binary.LittleEndian.PutUint32(b[entryAt(id)+4:], 0)
	return append(append(b, head...), payload...)
}

// u32s lays out numbers as a payload.
func u32s(vs ...uint32) []byte {
	var b []byte
	for _, v := range vs {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return b
}

// Payloads that lie about themselves, in containers that are sound.
func TestLyingPayloads(t *testing.T) {
	const huge = math.MaxUint32
	meta := make([]byte, 72)
	for _, tc := range []struct {
		name    string
		id      pod.Section
		payload []byte
		off     int64
	}{
		{"strings: empty", pod.SectionStringTable, nil, 0},
		{"strings: half a count", pod.SectionStringTable, []byte{1, 0}, 0},
		{"strings: count", pod.SectionStringTable, u32s(3, 0, 0), 4},
		{"strings: huge count", pod.SectionStringTable, u32s(huge, 0), 4},
		{"metadata: empty", pod.SectionMetadata, nil, 0},
		{"metadata: short record", pod.SectionMetadata, meta[:71], 0},
		{"metadata: no lists", pod.SectionMetadata, meta, 72},
		{"metadata: thread count", pod.SectionMetadata, append(bytes.Clone(meta), u32s(1)...), 76},
		{"metadata: huge channel count", pod.SectionMetadata, append(bytes.Clone(meta), u32s(0, huge)...), 80},
		{"metadata: image id beyond the end", pod.SectionMetadata, append(bytes.Clone(meta), u32s(0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0)...), 116},
		{"metadata: image id that wraps", pod.SectionMetadata, append(bytes.Clone(meta), u32s(0, 0, 1, 0, 0, 0, 0, 0, 0, huge, huge, 0, 0)...), 116},
		{"metadata: no scope stats", pod.SectionMetadata, append(bytes.Clone(meta), u32s(0, 0, 0, 0)...), 88},
		{"memory: short record", pod.SectionMemory, meta[:8], 0},
		{"memory: heaps", pod.SectionMemory, append(bytes.Clone(meta), u32s(2, 0, 0, 0, 0)...), 76},
		{"memory: no churn stats", pod.SectionMemory, append(bytes.Clone(meta), u32s(0, 0, 0)...), 84},
		{"callstacks: empty", pod.SectionCallstacks, nil, 0},
		{"callstacks: count", pod.SectionCallstacks, u32s(2, 0, 0, 0), 4},
		{"callstacks: frames beyond the end", pod.SectionCallstacks, u32s(1, 9, 1, 1, 0, 0, 0, 0), 4},
		{"callstacks: second one beyond the end", pod.SectionCallstacks, u32s(2, 9, 1, 0, 8, 2, 0, 0, 0, 0, 0), 16},
		{"callstacks: range that wraps", pod.SectionCallstacks, u32s(1, 9, huge, 2, 0, 0, 0, 0), 4},
		{"callstacks: none of its frames exist", pod.SectionCallstacks, u32s(1, 9, 0, huge), 4},
		{"symbols: empty", pod.SectionSymbols, nil, 0},
		{"symbols: count", pod.SectionSymbols, u32s(2, 0, 0, 0, 0), 4},
		{"symbols: huge count", pod.SectionSymbols, u32s(huge, 0, 0, 0, 0), 4},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, err := lazy.OpenBytes(repack(t, "plain", tc.id, tc.payload))
			require.NoError(t, err)
			var e *pod.Error
			require.ErrorAs(t, accessors[tc.id](c), &e)
			assert.ErrorIs(t, e, lazy.ErrCorrupt)
			assert.Equal(t, tc.id, e.Section)
			assert.True(t, e.Decoded)
			assert.Equal(t, tc.off, e.Off)
			assert.ErrorIs(t, c.Verify(t.Context()), lazy.ErrCorrupt)
		})
	}
}

// A section may have a block for every nine bytes. When they are all bad, Verify
// tells of the first ones and counts the rest.
func TestVerifyManyBadBlocks(t *testing.T) {
	const blocks, stored = 5000, 5
	be := binary.BigEndian
	buf := make([]byte, 64+(4+stored)*blocks)
	be.PutUint32(buf[0:], 0xB7756362)
	buf[8], buf[11] = byte(pod.MethodLZ4), 10
	be.PutUint32(buf[12:], blocks)
	be.PutUint64(buf[16:], blocks<<10)
	be.PutUint64(buf[24:], uint64(len(buf)))
	for i := range blocks {
		be.PutUint32(buf[64+4*i:], stored)
	}
	be.PutUint32(buf[4:], crc32.ChecksumIEEE(buf[8:64+4*blocks]))
	b := readForeign(t, "plain")
	setPlace(b, pod.SectionMemory, uint64(len(b)), uint64(len(buf)))
	binary.LittleEndian.PutUint32(b[entryAt(pod.SectionMemory)+4:], 0)
	c, err := lazy.OpenBytes(append(b, buf...))
	require.NoError(t, err)
	err = c.Verify(t.Context())
	require.ErrorIs(t, err, lazy.ErrCorrupt)
	findings := err.(interface{ Unwrap() []error }).Unwrap()
	require.Len(t, findings, 101)
	var e *pod.Error
	require.ErrorAs(t, findings[100], &e)
	assert.Equal(t, pod.SectionMemory, e.Section)
	assert.ErrorIs(t, e, lazy.ErrCorrupt)
	assert.Contains(t, e.Error(), "block 4999: ")
	assert.Contains(t, e.Error(), "the last of 4900 more blocks that fail")
}

// documented reports whether err is of a kind that callers are told about.
func documented(err error) bool {
	var e *pod.Error
	if !errors.As(err, &e) {
		return false
	}
	for _, kind := range []error{
		lazy.ErrFormat, lazy.ErrVersion, lazy.ErrTruncated, lazy.ErrChecksum, lazy.ErrCorrupt,
		lazy.ErrTooLarge, lazy.ErrUnsupported,
	} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// A byte that changes in the file after Open is found by its block's checksum.
func TestChangedAfterOpen(t *testing.T) {
	b := readForeign(t, "plain")
	c, err := lazy.OpenBytes(b)
	require.NoError(t, err)
	off, size := stored(b, pod.SectionSymbols)
	b[off+size-3] ^= 4
	_, err = c.Symbols()
	assert.ErrorIs(t, err, lazy.ErrChecksum)
}

// Without checksum tables the hash finds damage, where it is asked to.
func TestHashCheck(t *testing.T) {
	b := repack(t, "plain", pod.SectionSymbols, append(u32s(1), make([]byte, 16)...))
	b[len(b)-16] ^= 1
	c, err := lazy.OpenBytes(b)
	require.NoError(t, err)
	_, err = c.Symbols()
	require.NoError(t, err)
	assert.ErrorIs(t, c.Verify(t.Context()), lazy.ErrChecksum)
	c, err = lazy.OpenBytes(b, lazy.WithHashCheck())
	require.NoError(t, err)
	_, err = c.Symbols()
	assert.ErrorIs(t, err, lazy.ErrChecksum)
	assert.NotErrorIs(t, err, fs.ErrNotExist)
}

// Fields that only Oodle uses are 0 elsewhere, which matters to Verify alone.
func TestVerifyCompressorAndLevel(t *testing.T) {
	for at := 9; at <= 10; at++ {
		b := readForeign(t, "plain")
		off, _ := stored(b, pod.SectionSymbols)
		head := b[off : off+64]
		blocks := int(binary.BigEndian.Uint32(head[12:]))
		head[at] = 2
		binary.BigEndian.PutUint32(head[4:], crc32.ChecksumIEEE(b[off+8:off+64+4*blocks]))
		c, err := lazy.OpenBytes(b)
		require.NoError(t, err)
		_, err = c.Symbols()
		require.NoError(t, err)
		var e *pod.Error
		require.ErrorAs(t, c.Verify(t.Context()), &e)
		assert.ErrorIs(t, e, lazy.ErrCorrupt)
		assert.Equal(t, pod.SectionSymbols, e.Section)
		assert.Equal(t, int64(off+9), e.Off)
	}
}
