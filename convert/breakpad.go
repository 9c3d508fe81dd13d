package convert

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"

	"example.com/tracecache/pod"
	"example.com/tracecache/trace"
)

// maxBreakpadLine bounds a line: names of templates are long, but not so long.
const maxBreakpadLine = 4 << 20

// breakpadFile is what a Breakpad file says of a module whose base is 0.
type breakpadFile struct {
	os, id  string // of the MODULE line
	name    string
	codeID  string
	funcs   []function
	publics []function
	end     uint64 // of all code that has a size
}

// readBreakpad reads a Breakpad symbol file. Functions have sizes; public symbols
// reach to the next entry, the last one to the end of the code that the stack
// records tell of, and where these tell of none at it, it names one address.
//
// Addresses count from where the module is loaded: of an ELF file, from p_vaddr of
// its first segment. That is a profile's module base for most linkers; where, as
// with lld, the executable segment has another p_vaddr - p_offset than the first
// segment, the two differ. Only the binary tells by how much, so the file goes to
// the right place in a profile if the binary is merged too, and otherwise its
// names are too high by the difference.
func readBreakpad(r io.ReaderAt, size int64, path string, _ *options) (*Part, error) {
	var f breakpadFile
	in := bufio.NewReaderSize(source(r, size), 64<<10)
	for line := 1; ; line++ {
		text, err := readLine(in)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		if len(text) > 0 && !isLineRecord(text) {
			if err := f.record(string(text), line == 1); err != nil {
				return nil, fmt.Errorf("line %d: %w", line, err)
			}
		}
		if err != nil {
			break
		}
	}
	return &Part{Path: path, Kind: KindBreakpad, Model: f.model(), movable: true, noCodeID: f.lacksCodeID()}, nil
}

// readLine is the next line without its end; the last one comes with io.EOF. It
// is valid until the next call.
func readLine(in *bufio.Reader) ([]byte, error) {
	line, err := in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		long := slices.Clone(line)
		for errors.Is(err, bufio.ErrBufferFull) {
			line, err = in.ReadSlice('\n')
			if len(long)+len(line) > maxBreakpadLine {
				return nil, fmt.Errorf("%w: the line has more than %d bytes", pod.ErrTooLarge, maxBreakpadLine)
			}
			long = append(long, line...)
		}
		line = long
	}
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")), err
}

// isLineRecord tells the lines that most of a file consists of: address, size,
// line and file number of a piece of code, beginning with a number in hex.
func isLineRecord(line []byte) bool {
	n := 0
	for n < len(line) && (line[n] >= '0' && line[n] <= '9' || line[n] >= 'a' && line[n] <= 'f' || line[n] >= 'A' && line[n] <= 'F') {
		n++
	}
	return n > 0 && n < len(line) && line[n] == ' '
}

// record reads any other line, which is not empty.
func (f *breakpadFile) record(text string, first bool) error {
	kind, rest := cutWord(text)
	if first != (kind == "MODULE") {
		return fmt.Errorf("%w: expected one MODULE record, at the start of the file, got %q", pod.ErrCorrupt, clip(text))
	}
	var err error
	switch kind {
	case "MODULE":
		err = f.module(rest)
	case "INFO":
		if what, id := cutWord(rest); what == "CODE_ID" {
			f.codeID, _ = cutWord(id)
		}
	case "FUNC":
		err = f.function(rest)
	case "PUBLIC":
		err = f.public(rest)
	case "STACK":
		err = f.stack(rest)
	case "FILE", "INLINE", "INLINE_ORIGIN":
	default:
		err = fmt.Errorf("expected a Breakpad record, got %q", clip(text))
	}
	if err != nil {
		return fmt.Errorf("%w: %w", pod.ErrCorrupt, err)
	}
	return nil
}

// module reads: operating system, architecture, id, name.
func (f *breakpadFile) module(rest string) error {
	var arch string
	f.os, rest = cutWord(rest)
	arch, rest = cutWord(rest)
	f.id, f.name = cutWord(rest)
	if arch == "" || f.id == "" || f.name == "" {
		return errors.New("expected MODULE with operating system, architecture, id and name")
	}
	return nil
}

// function reads: [m] address size parameter-size name.
func (f *breakpadFile) function(rest string) error {
	addr, rest, err := hexWord("the address of FUNC", cutMultiple(rest))
	if err != nil {
		return err
	}
	size, rest, err := hexWord("the size of FUNC", rest)
	if err != nil {
		return err
	}
	_, name, err := hexWord("the parameter size of FUNC", rest)
	switch {
	case err != nil:
		return err
	case name == "":
		return fmt.Errorf("expected a name of FUNC %x", addr)
	}
	f.funcs = append(f.funcs, function{addr: addr, size: size, name: strings.Clone(name)})
	return f.extend(addr, size)
}

// public reads: [m] address parameter-size name.
func (f *breakpadFile) public(rest string) error {
	addr, rest, err := hexWord("the address of PUBLIC", cutMultiple(rest))
	if err != nil {
		return err
	}
	_, name, err := hexWord("the parameter size of PUBLIC", rest)
	switch {
	case err != nil:
		return err
	case name == "":
		return fmt.Errorf("expected a name of PUBLIC %x", addr)
	}
	f.publics = append(f.publics, function{addr: addr, name: strings.Clone(name), rank: 1})
	return nil
}

// stack reads the extents: CFI INIT address size …, WIN type address size ….
func (f *breakpadFile) stack(rest string) error {
	kind, rest := cutWord(rest)
	switch kind {
	case "CFI":
		var ok bool
		if rest, ok = strings.CutPrefix(rest, "INIT "); !ok {
			return nil // a change within the range of the INIT before
		}
	case "WIN":
		_, rest = cutWord(rest)
	default:
		return fmt.Errorf("expected STACK CFI or STACK WIN, got %q", clip(kind))
	}
	addr, rest, err := hexWord("the address of STACK", rest)
	if err != nil {
		return err
	}
	size, _, err := hexWord("the size of STACK", rest)
	if err != nil {
		return err
	}
	return f.extend(addr, size)
}

// extend notes code at addr.
func (f *breakpadFile) extend(addr, size uint64) error {
	if size > math.MaxUint64-addr {
		return fmt.Errorf("expected a range within 64 bits, got %#x bytes at %#x", size, addr)
	}
	f.end = max(f.end, addr+size)
	return nil
}

// model is the file as a model with one module.
func (f *breakpadFile) model() *trace.Model {
	fns := append(f.outside(), f.funcs...)
	end := f.end
	for _, fn := range fns {
		if fn.addr < math.MaxUint64 {
			end = max(end, fn.addr+1)
		}
	}
	m := &trace.Model{Modules: []trace.Module{{
		Name: baseName(f.name), FullPath: f.name, Size: end, ImageID: f.imageID(),
	}}}
	if len(fns) > 0 {
		m.Symbols = layout(fns, []span{{0, end}})
	}
	return m
}

// outside are the public symbols that do not lie inside a function.
func (f *breakpadFile) outside() []function {
	fns := slices.Clone(f.funcs)
	slices.SortFunc(fns, func(a, b function) int { return cmp.Compare(a.addr, b.addr) })
	ends := make([]uint64, len(fns)) // the furthest end up to each function
	last := uint64(0)
	for i, fn := range fns {
		last = max(last, fn.addr+fn.size)
		ends[i] = last
	}
	var out []function
	for _, p := range f.publics {
		// Those that start before p; one at p has it as an alias.
		n := sort.Search(len(fns), func(i int) bool { return fns[i].addr >= p.addr })
		starts := n < len(fns) && fns[n].addr == p.addr
		if starts || n == 0 || ends[n-1] <= p.addr {
			out = append(out, p)
		}
	}
	return out
}

// imageID is the build id that other tools find in the module. On Windows that is
// the id of the MODULE record, a GUID and an age, for the code id there is made of
// time and size of the image. Elsewhere it is the code id; without one, the UUID
// in the MODULE record, which has an age of 0 behind it.
func (f *breakpadFile) imageID() []byte {
	windows := strings.EqualFold(f.os, "windows")
	if id, err := hex.DecodeString(f.codeID); err == nil && len(id) > 0 && !windows {
		return id
	}
	if len(f.id) <= 32 {
		return imageID(f.id)
	}
	id, err := hex.DecodeString(f.id[:32])
	age, ageErr := strconv.ParseUint(f.id[32:], 16, 32)
	switch {
	case err != nil || ageErr != nil:
		return imageID(f.id)
	case strings.EqualFold(f.os, "mac") || strings.EqualFold(f.os, "ios"):
		return id
	}
	// The record prints a GUID as numbers, whose bytes are the other way round
	// in the file.
	slices.Reverse(id[0:4])
	slices.Reverse(id[4:6])
	slices.Reverse(id[6:8])
	if windows {
		id = binary.LittleEndian.AppendUint32(id, uint32(age))
	}
	return id
}

// lacksCodeID reports whether the build id that other tools find in the module is
// not in the file: the MODULE record has only the first 16 bytes of an ELF file's.
func (f *breakpadFile) lacksCodeID() bool {
	for _, system := range []string{"windows", "mac", "ios"} {
		if strings.EqualFold(f.os, system) {
			return false
		}
	}
	id, err := hex.DecodeString(f.codeID)
	return err != nil || len(id) == 0
}

// cutWord is the first word and what follows the blanks behind it.
func cutWord(s string) (word, rest string) {
	word, rest, _ = strings.Cut(s, " ")
	return word, strings.TrimLeft(rest, " ")
}

// cutMultiple cuts off the mark of a symbol whose code others share.
func cutMultiple(s string) string {
	return strings.TrimPrefix(s, "m ")
}

// hexWord reads the first word as a number in hex.
func hexWord(what, s string) (v uint64, rest string, err error) {
	word, rest := cutWord(s)
	v, err = strconv.ParseUint(word, 16, 64)
	if err != nil {
		return 0, "", fmt.Errorf("expected %s in hex, got %q", what, clip(word))
	}
	return v, rest, nil
}

// clip keeps the text of an error short.
func clip(s string) string {
	const most = 60
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}
