// Package convert turns what other tools leave behind into the model of package
// trace: executables and shared libraries, profiles, symbol text and the model's
// own JSON.
//
// [Build] does all of it: it recognises each input by its content, reads it, and
// joins everything into one address space. [ReadFile] and [Merge] are its two
// halves.
//
// # Inputs
//
//   - ELF, Mach-O (thin and fat) and PE: a module record with the build id, and
//     the functions with a hole behind each.
//   - pprof: gzipped or plain protobuf, or one of the older text and binary forms
//     that github.com/google/pprof/profile reads. Mappings become modules,
//     samples callstacks, heap values allocation stats.
//   - Breakpad .sym text: a module at base 0 and its functions.
//   - JSON: the model, as [WriteJSON] writes it.
//
// # One address space
//
// A profile and a JSON model say where things were; a binary, or a Breakpad
// file, only says where they want to be. So a binary is moved to the module of
// equal build id that a profile or a JSON model has, or to where INPUT@0xBASE
// says. Modules of different inputs that still overlap are an error.
//
// BASE is the Base that the input's first module record gets. For ELF that is the
// address at which file offset 0 would lie in the executable segment's mapping: a
// mapping's start less its file offset, as profiles have them. With most linkers
// it is the load address, with lld the load address plus p_vaddr - p_offset of the
// code segment.
//
// The addresses of a Breakpad file count from the load address, which is p_vaddr
// of the first segment. Where the ELF binary of its build id is an input too, the
// names go where that binary has the code. Without the binary nobody knows its
// p_vaddr - p_offset: the Breakpad file goes to the profile's module, and the
// names are too high by that difference for files of lld.
//
// A sampled address is a point, not a function: as a symbol it is followed by a
// hole at address + 1, and it is left out where another input's symbols name
// the address.
//
// # Security
//
// Inputs are not trusted: any bytes give a model or an error that names the file
// and the place, never a panic. Memory is bounded by a multiple of the file's
// size; a gzipped profile may unpack to a limited size only.
//
// # Concurrency
//
// Functions of this package may run side by side. A [Part] is not safe for
// concurrent use while [Part.Place] runs.
package convert

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"example.com/tracecache/pod"
	"example.com/tracecache/trace"
)

// Input is one file for [Build].
type Input struct {
	Path string

	// Base is the Base that the input's first module record gets, if Placed.
	// For ELF that is the address at which file offset 0 would lie if the
	// mapping of the executable segment went on down to it: the load address
	// with most linkers, the load address plus the code segment's p_vaddr -
	// p_offset with lld. For Mach-O, PE and Breakpad it is the load address.
	Base   uint64
	Placed bool // Base was given
}

// ParseInput reads an input as the command line has it: PATH or PATH@0xBASE.
// The suffix counts only where no file has the whole name.
func ParseInput(arg string) (Input, error) {
	if arg == "" {
		return Input{}, errors.New("empty input name")
	}
	at := strings.LastIndex(arg, "@0x")
	if at < 0 {
		return Input{Path: arg}, nil
	}
	if _, err := os.Stat(arg); err == nil {
		return Input{Path: arg}, nil
	}
	path, digits := arg[:at], arg[at+len("@0x"):]
	base, err := strconv.ParseUint(digits, 16, 64)
	if err != nil {
		return Input{}, fmt.Errorf("input %q: expected INPUT@0xBASE with a base of up to 64 bits in hex, got 0x%s", arg, digits)
	}
	if path == "" {
		return Input{}, fmt.Errorf("input %q: no file name before @", arg)
	}
	return Input{Path: path, Base: base, Placed: true}, nil
}

// Option changes how inputs are read.
type Option func(*options)

// options are the settings of one call.
type options struct {
	ctx       context.Context // of the call; nil: never done
	debugDirs []string
	arch      string
	progress  func(path string, done, total int64)
	warning   func(text string)
}

// WithDebugDir names folders in which separate debug files are looked up, by
// build id and by debug link.
func WithDebugDir(dirs ...string) Option {
	return func(o *options) { o.debugDirs = append(o.debugDirs, dirs...) }
}

// WithArch picks the architecture to take from a fat Mach-O file, such as
// "arm64" or "amd64".
func WithArch(arch string) Option {
	return func(o *options) { o.arch = arch }
}

// WithProgress has f called as files are read, with the bytes read of path and
// its size. The calls for one file come from one goroutine at a time, done never
// decreases, and the last call of a file that was read has done equal to total.
func WithProgress(f func(path string, done, total int64)) Option {
	return func(o *options) { o.progress = f }
}

// WithWarning has f called with a line of text that names the input, for what is
// no error and may not be what was wanted: a binary in which no function was
// found; and, of [Build] only, a binary that keeps its own addresses although a
// module of its name is elsewhere in another input, under another build id or
// none, and a Breakpad file that a profile has no module for. The calls come from
// the goroutine that reads or builds.
func WithWarning(f func(text string)) Option {
	return func(o *options) { o.warning = f }
}

// Build reads every input and joins them into one model; [ReadFile] and [Merge]
// say how. Errors name the input. It stops soon after ctx is done, with an error
// that wraps the context's.
func Build(ctx context.Context, inputs []Input, opts ...Option) (*trace.Model, error) {
	o := newOptions(ctx, opts)
	parts := make([]*Part, 0, len(inputs))
	for _, in := range inputs {
		p, err := readFile(in.Path, o)
		if err != nil {
			return nil, err
		}
		if in.Placed {
			if err := p.Place(in.Base); err != nil {
				return nil, err
			}
		}
		parts = append(parts, p)
	}
	return merge(o, parts)
}

// ReadFile reads one input, whose kind is recognised by its content. The file
// must be a regular one. Errors name the file and the place in it; they match
// the sentinels of package pod: [pod.ErrUnsupported] for a kind that is not
// known, [pod.ErrCorrupt] and [pod.ErrTruncated] for bytes that break the rules
// of the kind, [pod.ErrTooLarge] for a bound; a missing file is fs.ErrNotExist.
func ReadFile(path string, opts ...Option) (*Part, error) {
	return readFile(path, newOptions(context.Background(), opts))
}

func newOptions(ctx context.Context, opts []Option) *options {
	o := &options{ctx: ctx}
	for _, opt := range opts {
		opt(o)
	}
	return o
}

// done is the context's error once the call is to stop.
func (o *options) done() error {
	if o.ctx == nil {
		return nil
	}
	return o.ctx.Err()
}

// readers are the importers. Each takes the whole of the file through r, and
// does not name it in errors unless it is about another one.
var readers = map[Kind]func(r io.ReaderAt, size int64, path string, o *options) (*Part, error){
	KindELF:      readELF,
	KindMachO:    readMachO,
	KindPE:       readPE,
	KindPprof:    readPprof,
	KindBreakpad: readBreakpad,
	KindJSON:     readJSONPart,
}

func readFile(path string, o *options) (*Part, error) {
	if err := o.done(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: %w: not a regular file", path, pod.ErrUnsupported)
	}

	r := &fileReader{o: o, f: f, path: path, size: info.Size()}
	kind, err := detect(r, r.size)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	p, err := readers[kind](r, r.size, path, o)
	if err == nil {
		// A kind that is read to the end in one go may not have noticed.
		err = o.done()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", path, kind, err)
	}
	if kind != KindJSON {
		p.Model.FileSize = uint64(r.size)
	}
	r.finish()
	o.warnOfNothing(p)
	return p, nil
}
