package convert

import (
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/tracecache/trace"
)

// breakpadOf is a Breakpad file of an ELF binary as dump_syms writes it: the
// functions of nm, counted from the first segment. Its names have a prefix.
func breakpadOf(t *testing.T, path string, fns []judged) string {
	t.Helper()
	f, err := elf.Open(path)
	require.NoError(t, err)
	defer f.Close()
	note, err := f.Section(".note.gnu.build-id").Data()
	require.NoError(t, err)
	var load uint64
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD {
			load = p.Vaddr
			break
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "MODULE Linux x86_64 0 %s\nINFO CODE_ID %X\n", filepath.Base(path), note[16:])
	for _, fn := range fns {
		if fn.size > 0 {
			fmt.Fprintf(&b, "FUNC %x %x 0 sym:%s\n", fn.addr-load, fn.size, fn.name)
		}
	}
	return writeFile(t, "app.sym", []byte(b.String()))
}

// checkBeside checks that both binary and Breakpad file name each function, which
// lies bias from where nm has it.
func checkBeside(t *testing.T, m *trace.Model, fns []judged, bias uint64) {
	t.Helper()
	names := map[uint64][]string{}
	for _, s := range m.Symbols {
		names[s.Address] = append(names[s.Address], s.Name)
	}
	found := 0
	for _, fn := range fns {
		if fn.size > 0 {
			found++
			assert.Contains(t, names[fn.addr+bias], "sym:"+fn.name, "%#x", fn.addr+bias)
			assert.Contains(t, names[fn.addr+bias], fn.name, "%#x", fn.addr+bias)
		}
	}
	require.Positive(t, found)
}

func TestBreakpadBesideELF(t *testing.T) {
	saved := func(name string) func(*testing.T) string {
		return func(*testing.T) string { return filepath.Join(binDir, name) }
	}
	for _, tt := range []struct {
		name string
		path func(t *testing.T) string
	}{
		{"lld", saved("lld.so")},
		{"two executable segments", saved("bolt.elf")},
		{"not at 0", func(t *testing.T) string { return linkShapes(t, "shapes-gnu-static", "-DSTART", "-static") }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			need(t, "gcc", "nm")
			path := tt.path(t)
			fns := elfNM(t, path)
			sym := breakpadOf(t, path, fns)
			bin := readBinary(t, path, options{})
			own := bin.Model.Modules

			m, err := Build(t.Context(), []Input{{Path: path}, {Path: sym}})
			require.NoError(t, err)
			assert.Equal(t, own, m.Modules, "the binary's, of its size")
			checkBeside(t, m, fns, 0)

			const bias = 0x7f0000000000
			m, err = Build(t.Context(), []Input{{Path: sym}, {Path: path, Base: own[0].Base + bias, Placed: true}})
			require.NoError(t, err)
			require.Len(t, m.Modules, len(own))
			checkBeside(t, m, fns, bias)

			// The mapping of the first executable segment, as a profiler sees it.
			prof := &profile.Profile{
				SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}},
				Mapping: []*profile.Mapping{{
					ID: 1, Start: own[0].Base + bias, Limit: own[0].Base + bias + own[0].Size,
					File: "/run/" + filepath.Base(path), BuildID: hex.EncodeToString(own[0].ImageID),
				}},
			}
			pb := writeFile(t, "cpu.pb.gz", encode(t, prof))
			for _, inputs := range [][]Input{
				{{Path: sym}, {Path: path}, {Path: pb}},
				{{Path: pb}, {Path: path}, {Path: sym}},
			} {
				var warnings []string
				m, err = Build(t.Context(), inputs, WithWarning(func(text string) { warnings = append(warnings, text) }))
				require.NoError(t, err)
				require.Len(t, m.Modules, len(own))
				assert.Equal(t, own[0].Base+bias, m.Modules[0].Base)
				assert.Equal(t, own[0].Size, m.Modules[0].Size)
				checkBeside(t, m, fns, bias)
				assert.Empty(t, warnings)
			}
		})
	}
}

func TestBreakpadBesideTwoBinaries(t *testing.T) {
	sym := &Part{Path: "prog.sym", Kind: KindBreakpad, movable: true, Model: &trace.Model{
		Modules: []trace.Module{{Name: "prog", Size: 0x1050, ImageID: buildID}},
		Symbols: []trace.Symbol{{Address: 0x1000, Name: "f()"}, {Address: 0x1020}},
	}}
	one, two := binaryPart(), binaryPart()
	two.Path = "copy"
	require.NoError(t, one.Place(0x10000))
	require.NoError(t, two.Place(0x20000))
	_, err := Merge(one, two, sym)
	require.Error(t, err)
	assert.ErrorContains(t, err, "prog.sym: build id abcdef is at 0x10000 in prog and at 0x20000 in copy")
}

func TestWarnings(t *testing.T) {
	const base = 0x555500000000
	binary := func(change func(*Part)) *Part {
		p := binaryPart()
		change(p)
		return p
	}
	breakpad := func(text string) *Part {
		p, err := readBreakpadText(text)
		require.NoError(t, err)
		return p
	}
	noID := profilePart("cpu.pb", base)
	noID.Model.Modules[1].ImageID = nil
	const sym = "MODULE Linux x86_64 33221100554477668899AABBCCDDEEFF0 app\n"
	for _, tt := range []struct {
		name  string
		parts []*Part
		want  string // "": no warning
	}{
		{"moved", []*Part{profilePart("cpu.pb", base), binaryPart()}, ""},
		{"another build id", []*Part{profilePart("cpu.pb", base), binary(func(p *Part) { p.Model.Modules[0].ImageID = []byte{1, 2} })},
			"prog: it stays at 0x0, as the module prog of cpu.pb has build id abcdef, not 0102: if they are the same, say so with prog@0x555500000000"},
		{"no build id in the profile", []*Part{noID, binaryPart()}, "has build id none, not abcdef"},
		{"placed", []*Part{noID, binary(func(p *Part) { require.NoError(t, p.Place(base)) })}, ""},
		{"not moved, but there", []*Part{noID, binary(func(p *Part) {
			p.Model.Modules[0].ImageID = nil
			p.Model, _ = moved(p, 0, base)
		})}, ""},
		{"another name", []*Part{noID, binary(func(p *Part) { p.Model.Modules[0].Name = "other" })}, ""},
		{"Breakpad without a code id", []*Part{noID, breakpad(sym)}, "x.sym: its names stay at 0x0, as it has no INFO CODE_ID to find its module by: say where with x.sym@0xBASE"},
		{"Breakpad of another build id", []*Part{noID, breakpad(sym + "INFO CODE_ID 0102\n")}, "no other input has a module of its build id 0102"},
		{"Breakpad of the build id", []*Part{profilePart("cpu.pb", base), breakpad(sym + "INFO CODE_ID ABCDEF\n")}, ""},
		{"Breakpad without a profile", []*Part{jsonPart("a.json", &trace.Model{}), breakpad(sym)}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			o := newOptions(t.Context(), []Option{WithWarning(func(text string) { got = append(got, text) })})
			_, err := merge(o, tt.parts)
			require.NoError(t, err)
			if tt.want == "" {
				assert.Empty(t, got)
				return
			}
			require.Len(t, got, 1)
			assert.Contains(t, got[0], tt.want)
		})
	}
}

func TestWarningOfNothing(t *testing.T) {
	made := elfMaker{is64: true, order: binary.LittleEndian, machine: elf.EM_X86_64, typ: elf.ET_DYN}
	stripped := writeFile(t, "stripped", made.make())
	made.symbols = []madeSymbol{{"f", symInfo(elf.STB_GLOBAL, elf.STT_FUNC), 1, 0x1000, 8}}
	full := writeFile(t, "full", made.make())
	var got []string
	warned := WithWarning(func(text string) { got = append(got, text) })
	_, err := ReadFile(full, warned)
	require.NoError(t, err)
	_, err = ReadFile(writeFile(t, "empty.json", []byte("{}")), warned)
	require.NoError(t, err)
	assert.Empty(t, got)
	_, err = ReadFile(stripped, warned)
	require.NoError(t, err)
	require.Len(t, got, 1)
	assert.Contains(t, got[0], stripped+": no function was found in it")
	_, err = ReadFile(stripped) // nobody to warn
	require.NoError(t, err)
}
