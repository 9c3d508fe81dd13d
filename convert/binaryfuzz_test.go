package convert

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/tracecache/pod"
)

// reader is an importer of binaries.
type reader func(r io.ReaderAt, size int64, path string, o *options) (*Part, error)

// tryBytes reads b and checks what holds of any result.
func tryBytes(t *testing.T, read reader, b []byte, arch string) {
	t.Helper()
	part, err := read(bytes.NewReader(b), int64(len(b)), "file", &options{arch: arch})
	if err != nil {
		require.Nil(t, part)
		return
	}
	require.NotEmpty(t, part.Model.Modules)
	if len(part.Model.Symbols) > 0 {
		checkAscending(t, part.Model.Symbols)
		require.NotEmpty(t, part.Model.Symbols[0].Name, "a hole before the first function")
	}
	for _, m := range part.Model.Modules {
		require.GreaterOrEqual(t, m.Base+m.Size, m.Base)
	}
}

// seedELF are small ELF files of all kinds.
func seedELF(tb testing.TB) [][]byte {
	saved, err := os.ReadFile(filepath.Join(binDir, "lld.so"))
	require.NoError(tb, err)
	bare := slices.Clone(saved)
	clear(bare[40:48])
	clear(bare[60:64])
	seeds := [][]byte{saved, bare}
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		for _, is64 := range []bool{false, true} {
			seeds = append(seeds, elfMaker{
				is64: is64, order: order, machine: elf.EM_PPC64, typ: elf.ET_DYN, opd: make([]byte, 24), far: is64,
				symbols: []madeSymbol{
					{"a", symInfo(elf.STB_GLOBAL, elf.STT_FUNC), 1, 0x1010, 6},
					{"b@@V", symInfo(elf.STB_WEAK, elf.STT_NOTYPE), 1, 0x1018, 0},
					{"c", symInfo(elf.STB_LOCAL, elf.STT_FUNC), 4, 0x3000, 8},
				},
			}.make())
		}
	}
	return seeds
}

// seedMachO are small Mach-O files.
func seedMachO() [][]byte {
	file := madeMachO(
		loadCommand(0x26, 0x1000, 4),
		loadCommand(2, 0x1008, 1, 0x1018, 4),
		loadCommand(0x80000034, 0x101c, 16),
		loadCommand(0x1b, 1, 2, 3, 4))
	file = append(file, 0x80, 0x10, 0x20, 0, 0, 0, 0, 0)
	file = append(file, 1, 0, 0, 0, 0x0f, 1, 0, 0, 0x10, 8, 0, 0, 1, 0, 0, 0)
	file = append(file, "\x00_a\x00\x00\x00\x00\x00\x08\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"...)
	fat := binary.BigEndian.AppendUint32([]byte{0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 1, 1, 0, 0, 7, 0, 0, 0, 3, 0, 0, 0, 64}, uint32(len(file)))
	fat = append(append(fat, make([]byte, 64-len(fat))...), file...)
	return [][]byte{file, fat}
}

// seedPE are small PE files.
func seedPE(tb testing.TB) [][]byte {
	var seeds [][]byte
	for _, name := range []string{"mingw.exe", "mingw.dll"} {
		b, err := os.ReadFile(filepath.Join(binDir, name))
		require.NoError(tb, err)
		seeds = append(seeds, b)
	}
	return seeds
}

func FuzzELF(f *testing.F) {
	for _, b := range seedELF(f) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) { tryBytes(t, readELF, b, "") })
}

func FuzzMachO(f *testing.F) {
	for _, b := range seedMachO() {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) { tryBytes(t, readMachO, b, "") })
}

func FuzzPE(f *testing.F) {
	for _, b := range seedPE(f) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) { tryBytes(t, readPE, b, "") })
}

// TestDamagedBinaries flips every byte of the headers and tables of a file, and
// cuts it everywhere.
func TestDamagedBinaries(t *testing.T) {
	for _, kind := range []struct {
		name  string
		read  reader
		seeds [][]byte
	}{{"ELF", readELF, seedELF(t)}, {"Mach-O", readMachO, seedMachO()}, {"PE", readPE, seedPE(t)}} {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			for _, good := range kind.seeds {
				part, err := kind.read(bytes.NewReader(good), int64(len(good)), "file", &options{})
				require.NoError(t, err)
				require.NotEmpty(t, part.Model.Symbols)
				for n := range good {
					if n > 0 && n < len(good)-1 && good[n-1] == 0 && good[n] == 0 && good[n+1] == 0 && n%8 != 0 {
						continue // most of a file is zeros
					}
					tryBytes(t, kind.read, good[:n], "")
					for _, v := range []byte{0xff, 0x7f, 0} {
						bad := slices.Clone(good)
						bad[n] = v
						tryBytes(t, kind.read, bad, "")
					}
				}
			}
		})
	}
}

// allocated is how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestOverlappingNames(t *testing.T) {
	// The names of the symbols are all the suffixes of one long name.
	const n = 1 << 15
	long := bytes.Repeat([]byte{'x'}, n)
	m := elfMaker{is64: true, order: binary.LittleEndian, machine: elf.EM_X86_64, typ: elf.ET_DYN}
	for range n {
		m.symbols = append(m.symbols, madeSymbol{"", symInfo(elf.STB_GLOBAL, elf.STT_FUNC), 1, 0x1000, 1})
	}
	m.symbols = append(m.symbols, madeSymbol{string(long), 0, 0, 0, 0})
	b := m.make()
	f, err := parseELF(binaryFile{bytes.NewReader(b), int64(len(b))})
	require.NoError(t, err)
	off := int(f.sections[5].Off)
	for i := range n {
		binary.LittleEndian.PutUint32(b[off+(i+1)*elf.Sym64Size:], uint32(i+1))
	}
	bytes := allocated(func() {
		_, err = readELF(bytes.NewReader(b), int64(len(b)), "made", &options{})
	})
	assert.ErrorIs(t, err, pod.ErrTooLarge)
	assert.Less(t, bytes, uint64(32<<20))
}

func TestLyingSizes(t *testing.T) {
	good := elfMaker{is64: true, order: binary.LittleEndian, machine: elf.EM_X86_64, typ: elf.ET_DYN, symbols: []madeSymbol{
		{"a", symInfo(elf.STB_GLOBAL, elf.STT_FUNC), 1, 0x1000, 1}}}.make()
	f, err := parseELF(binaryFile{bytes.NewReader(good), int64(len(good))})
	require.NoError(t, err)
	shoff := binary.LittleEndian.Uint64(good[40:])
	for _, size := range []uint64{1 << 20, 1 << 40, 1<<63 - 1, 1 << 63, 1<<64 - 1} {
		for i := range f.sections {
			for _, field := range []uint64{24, 32} { // offset, size
				b := slices.Clone(good)
				binary.LittleEndian.PutUint64(b[shoff+uint64(i)*64+field:], size)
				n := allocated(func() { tryBytes(t, readELF, b, "") })
				assert.Less(t, n, uint64(4<<20), "section %d, size %#x", i, size)
			}
		}
	}
}
