package convert

import (
	"bytes"
	"compress/gzip"
	"debug/gosym"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/tracecache/pod"
)

// tableMaker writes function tables as the linkers of Go releases do.
type tableMaker struct {
	magic uint32
	order binary.AppendByteOrder
	ptr   int
	text  uint64
	fns   []judged // ascending; with a gap behind each
}

func (m tableMaker) word(b []byte, v uint64) []byte {
	if m.ptr == 4 {
		return m.order.AppendUint32(b, uint32(v))
	}
	return m.order.AppendUint64(b, v)
}

// make returns the table; start is what a 1.18 header has for the text start.
func (m tableMaker) make(start uint64) []byte {
	var names, pctab, functab, records []byte
	relative := m.magic == pclntab118 || m.magic == pclntab120
	field := func(b []byte, v uint64) []byte {
		if relative {
			return m.order.AppendUint32(b, uint32(v))
		}
		return m.word(b, v)
	}
	pc := func(addr uint64) uint64 {
		if relative {
			return addr - m.text
		}
		return addr
	}
	fieldSize, words := m.ptr, 7
	switch {
	case relative:
		fieldSize, words = 4, 8
	case m.magic == pclntab12:
		words = 1
	}
	header := 8 + words*m.ptr
	functabSize := (2*len(m.fns) + 1) * fieldSize

	names = append(names, 0)
	pctab = append(pctab, 0)
	// In Go 1.2's version everything counts from the header, and the records
	// come first; names and pctab follow them.
	const recordSize = 64
	nameBase, pcBase, recordBase := 0, 0, functabSize
	if m.magic == pclntab12 {
		nameBase = header + functabSize + recordSize*len(m.fns)
		pcBase = nameBase + 4096
		recordBase = header + functabSize
	}
	for _, f := range m.fns {
		functab = field(functab, pc(f.addr))
		functab = field(functab, uint64(recordBase+len(records)))
		rec := field(nil, pc(f.addr))
		for _, v := range []int{nameBase + len(names), 0, 0, pcBase + len(pctab), 0, 0} {
			rec = m.order.AppendUint32(rec, uint32(v))
		}
		records = append(records, append(rec, make([]byte, recordSize-len(rec))...)...)
		names = append(append(names, f.name...), 0)
		half := f.size / 2
		pctab = append(pctab, 2, byte(half), 16, byte(f.size-half), 0) // depth 0, then 8
	}
	last := m.fns[len(m.fns)-1]
	functab = field(functab, pc(last.addr+last.size))

	h := m.order.AppendUint32(nil, m.magic)
	h = append(h, 0, 0, 1, byte(m.ptr))
	h = m.word(h, uint64(len(m.fns)))
	if m.magic == pclntab12 {
		h = append(append(h, functab...), records...)
		h = append(append(h, names...), make([]byte, 4096-len(names))...)
		return append(h, pctab...)
	}
	h = m.word(h, 0) // files
	if relative {
		h = m.word(h, start)
	}
	at := uint64(header)
	for _, part := range [][]byte{names, nil, nil, pctab, append(functab, records...)} {
		h = m.word(h, at)
		at += uint64(len(part))
	}
	h = append(append(h, names...), pctab...)
	return append(append(h, functab...), records...)
}

// moduleData returns module data for a table at addr. sections are text
// sections; they are put behind it.
func (m tableMaker) moduleData(addr, table uint64, sections []textSection) []byte {
	var b []byte
	at := func(i int, v ...uint64) {
		for len(b) < i*m.ptr {
			b = append(b, 0)
		}
		for _, v := range v {
			b = m.word(b, v)
		}
	}
	names := uint64(8 + 8*m.ptr)
	at(0, table, table+names, 5, 5)
	at(16, table+1, uint64(len(m.fns)+1), uint64(len(m.fns)+1))
	end := m.fns[len(m.fns)-1]
	at(20, m.fns[0].addr, end.addr+end.size, m.text, end.addr+end.size)
	n := uint64(len(sections))
	at(42, addr+60*uint64(m.ptr), n, n)
	at(60)
	for _, s := range sections {
		at(len(b)/m.ptr, s.start, s.end, s.base)
	}
	return b
}

// madeImage is a binary of code at 0x1000, a table at 0x100000 and module data at
// 0x200000.
func madeImage(m tableMaker, table, data []byte) *image {
	code := bytes.Repeat([]byte{0x90}, 0x1000)
	file := slices.Concat(code, table, data)
	img := &image{
		file: binaryFile{bytes.NewReader(file), int64(len(file))},
		ptr:  m.ptr,
		segs: []segment{
			{addr: 0x1000, filesz: 0x1000, memsz: 0x1000, exec: true},
			{addr: 0x100000, off: 0x1000, filesz: uint64(len(table)), memsz: uint64(len(table))},
			{addr: 0x200000, off: uint64(0x1000 + len(table)), filesz: uint64(len(data)), memsz: uint64(len(data))},
		},
	}
	img.order = binary.LittleEndian
	if m.order.String() == binary.BigEndian.String() {
		img.order = binary.BigEndian
	}
	img.sortSegments()
	return img
}

var madeCode = []span{{0x1000, 0x2000}}

func TestPclntabVersions(t *testing.T) {
	fns := []judged{{0x1010, 20, "main.a"}, {0x1030, 33, "main.b[...]"}, {0x1060, 7, "type:.eq.main.c"}}
	want := []function{
		{0x1010, 20, "main.a", goRank}, {0x1030, 33, "main.b[...]", goRank}, {0x1060, 7, "type:.eq.main.c", goRank}}
	for _, magic := range []uint32{pclntab12, pclntab116, pclntab118, pclntab120} {
		for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
			for _, ptr := range []int{4, 8} {
				t.Run(fmt.Sprintf("%#x/%v/%d", magic, order, 8*ptr), func(t *testing.T) {
					m := tableMaker{magic, order, ptr, 0x1000, fns}
					data := m.moduleData(0x200000, 0x100000, nil)
					got, err := goFunctions(madeImage(m, m.make(0), data), goTable{code: madeCode}, nil)
					require.NoError(t, err)
					assert.Equal(t, want, got, "found by its magic")

					got, err = goFunctions(madeImage(m, m.make(0), data),
						goTable{pclntab: 0x100000, moduledata: 0x200000, code: madeCode}, nil)
					require.NoError(t, err)
					assert.Equal(t, want, got, "named by the binary")
				})
			}
		}
	}
}

func TestPclntabTextStart(t *testing.T) {
	fns := []judged{{0x1010, 20, "main.a"}, {0x1030, 16, "main.b"}, {0x1040, 7, "main.c"}}
	m := tableMaker{pclntab120, binary.LittleEndian, 8, 0x1000, fns}
	names := func(t *testing.T, img *image, table goTable, fixups func() ([]fixup, error)) map[uint64]string {
		t.Helper()
		table.code = madeCode
		got, err := goFunctions(img, table, fixups)
		require.NoError(t, err)
		out := map[uint64]string{}
		for _, f := range got {
			out[f.addr] = f.name
		}
		return out
	}
	want := map[uint64]string{0x1010: "main.a", 0x1030: "main.b", 0x1040: "main.c"}

	t.Run("in the header", func(t *testing.T) {
		assert.Equal(t, want, names(t, madeImage(m, m.make(0x1000), nil), goTable{}, nil))
	})
	t.Run("nowhere", func(t *testing.T) {
		_, err := goFunctions(madeImage(m, m.make(0), nil), goTable{pclntab: 0x100000, code: madeCode}, nil)
		assert.ErrorIs(t, err, pod.ErrCorrupt)
		assert.ErrorContains(t, err, "0x100000")
		assert.Empty(t, names(t, madeImage(m, m.make(0), nil), goTable{}, nil), "bytes that look like a table")
	})
	t.Run("module data of another table", func(t *testing.T) {
		data := m.moduleData(0x200000, 0x100000, nil)
		data[17*8]++ // the number of functions
		_, err := goFunctions(madeImage(m, m.make(0), data), goTable{pclntab: 0x100000, code: madeCode}, nil)
		assert.ErrorIs(t, err, pod.ErrCorrupt)
	})
	t.Run("several text sections", func(t *testing.T) {
		data := m.moduleData(0x200000, 0x100000, []textSection{{0, 0x30, 0x1000}, {0x30, 0x50, 0x1200}})
		assert.Equal(t, map[uint64]string{0x1010: "main.a", 0x1200: "main.b", 0x1210: "main.c"},
			names(t, madeImage(m, m.make(0), data), goTable{}, nil))
	})
	t.Run("pointers in relocations", func(t *testing.T) {
		data := m.moduleData(0x200000, 0x100000, nil)
		var fixups []fixup
		for _, i := range []int{0, 1, 16, 20, 21, 22, 23} {
			fixups = append(fixups, fixup{0x200000 + uint64(8*i), binary.LittleEndian.Uint64(data[8*i:])})
			clear(data[8*i : 8*i+8])
		}
		img := madeImage(m, m.make(0), data)
		assert.Equal(t, want, names(t, img, goTable{}, func() ([]fixup, error) { return fixups, nil }))
	})
	t.Run("pointers with more in them", func(t *testing.T) {
		data := m.moduleData(0x200000, 0x100000, nil)
		for _, i := range []int{0, 1, 16, 20, 21, 22, 23} {
			data[8*i+6] = 0x20 // the distance to the next
		}
		img := madeImage(m, m.make(0), data)
		img.pointer = func(v uint64) uint64 { return v & (1<<36 - 1) }
		assert.Equal(t, want, names(t, img, goTable{}, nil))
	})
}

func TestPclntabByGosym(t *testing.T) {
	// The table of a program of Go 1.15, which comes with Go's own tests.
	f, err := os.Open(filepath.Join(goRoot(t), "src", "debug", "gosym", "testdata", "pcln115.gz"))
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	data, err := io.ReadAll(z)
	require.NoError(t, err)

	judge, err := gosym.NewTable(nil, gosym.NewLineTable(data, 0))
	require.NoError(t, err)
	require.Greater(t, len(judge.Funcs), 1000)
	start, end := judge.Funcs[0].Entry, judge.Funcs[len(judge.Funcs)-1].End

	tab, err := parsePclntab(data, binary.LittleEndian)
	require.NoError(t, err)
	code := make([]byte, end-start)
	img := &image{
		file: binaryFile{bytes.NewReader(code), int64(len(code))}, order: binary.LittleEndian, ptr: 8,
		segs: []segment{{addr: start, filesz: end - start, memsz: end - start, exec: true}},
	}
	fns, err := tab.functions(img, func(pc uint64) (uint64, bool) { return pc, true }, []span{{start, end}})
	require.NoError(t, err)
	require.Len(t, fns, len(judge.Funcs))
	for i, f := range judge.Funcs {
		require.Equal(t, f.Entry, fns[i].addr)
		require.Equal(t, f.Name, fns[i].name)
		require.LessOrEqual(t, fns[i].size, f.End-f.Entry)
		if f.Name == "go.buildid" {
			continue // not code, and without a table
		}
		// Functions begin at multiples of 16 or 32, so what is left is padding.
		require.Less(t, f.End-f.Entry-fns[i].size, uint64(32), f.Name)
	}
}

func TestPclntabRenamedSections(t *testing.T) {
	need(t, "objcopy")
	full := goBuild(t, "go-linux-amd64", goProgram, "linux/amd64")
	path := built(t, "go-renamed", func(out string) *exec.Cmd {
		return exec.Command("objcopy", "-S", "--rename-section", ".gopclntab=.a", "--rename-section", ".go.module=.b", full, out)
	})
	checkEdges(t, readBinary(t, path, options{}).Model.Symbols, withoutABI(goNM(t, full)))
}

// addPclntabSeeds gives a fuzz target tables of every version.
func addPclntabSeeds(f *testing.F) {
	fns := []judged{{0x1010, 20, "main.a"}, {0x1030, 33, "main.b"}}
	for _, magic := range []uint32{pclntab12, pclntab116, pclntab118, pclntab120} {
		m := tableMaker{magic, binary.LittleEndian, 8, 0x1000, fns}
		f.Add(m.make(0x1000))
		m = tableMaker{magic, binary.BigEndian, 4, 0x1000, fns}
		f.Add(m.make(0x1000))
	}
}

func FuzzPclntab(f *testing.F) {
	addPclntabSeeds(f)
	f.Fuzz(func(t *testing.T, table []byte) {
		for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
			for _, ptr := range []int{4, 8} {
				m := tableMaker{order: order, ptr: ptr}
				fns, err := goFunctions(madeImage(m, table, nil), goTable{pclntab: 0x100000, code: madeCode}, nil)
				if err != nil {
					require.Empty(t, fns)
					continue
				}
				for _, fn := range fns {
					require.NotEmpty(t, fn.name)
					require.GreaterOrEqual(t, fn.addr, uint64(0x1000))
					require.LessOrEqual(t, fn.addr+fn.size, uint64(0x2000))
				}
			}
		}
	})
}

func TestDamagedPclntab(t *testing.T) {
	fns := []judged{{0x1010, 20, "main.a"}, {0x1030, 33, "main.b"}}
	for _, magic := range []uint32{pclntab12, pclntab118} {
		m := tableMaker{magic, binary.LittleEndian, 8, 0x1000, fns}
		table := m.make(0x1000)
		try := func(b []byte) {
			got, err := goFunctions(madeImage(m, b, nil), goTable{pclntab: 0x100000, code: madeCode}, nil)
			if err != nil {
				require.Empty(t, got)
			}
			require.LessOrEqual(t, len(got), len(b))
		}
		for n := range table {
			try(table[:n])
			b := slices.Clone(table)
			b[n] ^= 0xff
			try(b)
		}
	}
}
