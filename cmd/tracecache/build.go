package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"example.com/tracecache/convert"
	"example.com/tracecache/internal/container"
	"example.com/tracecache/pod"
	"example.com/tracecache/trace"
	"example.com/tracecache/writer"
)

// buildFlags are the flags of the command.
type buildFlags struct {
	out       string
	codec     string
	level     string
	source    string
	arch      string
	debugDirs []string
	quiet     bool
}

func newBuild() *cobra.Command {
	var flags buildFlags
	cmd := &cobra.Command{
		Use:   "build -o OUT INPUT...",
		Short: "Make a cache of programs and profiles",
		Long: `Build reads the inputs, joins them into one address space and writes the cache
OUT, whole or not at all: an OUT that exists stays as it is until the new one is
complete.

An input is recognised by its content:
  ELF, Mach-O and PE programs and shared libraries, Go programs also when stripped
  pprof profiles: their mappings, functions, callstacks and heap statistics
  Breakpad symbol files
  the model JSON that 'tracecache dump --json' prints
A program is moved to where a profile has a mapping of the same build id, or to
where INPUT@0xBASE says. BASE is the base that the input's first module gets: the
load address, for ELF the address at which file offset 0 would lie in the mapping
of the executable segment, which is a mapping's start less its file offset. (With
most linkers that is the load address too; with lld it is the load address plus
p_vaddr - p_offset of the code segment.)

What is no error but may not be what was wanted, such as a stripped program in
which no function was found, is told as a warning.

With --source the cache records the size and the modification time of that file,
as they are before anything is read, so that readers can tell a stale cache.`,
		Example: `  tracecache build -o go.ztac "$(go env GOROOT)/bin/go"
  tracecache build -o server.ztac --source heap.pb.gz heap.pb.gz ./server
  tracecache build -o libs.ztac --codec zstd libc.so.6@0x7f0000000000 server
  tracecache build -o app.ztac --codec oodle --level veryfast app`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return buildError(build(cmd, flags, args))
		},
	}
	cmd.Flags().StringVarP(&flags.out, "output", "o", "", "the cache `file` to write")
	cmd.Flags().StringVar(&flags.codec, "codec", pod.MethodLZ4.String(), "compress with none, lz4, zstd, oodle (its compressor Mermaid) or selkie (Oodle's fast one)")
	cmd.Flags().StringVar(&flags.level, "level", "0", "compression `level`, higher is smaller and slower; 0 is the codec's own choice;\n"+
		"lz4: 1 to 9, zstd: 1 to 22, oodle and selkie: superfast, veryfast, fast, normal or 1 to 4")
	cmd.Flags().StringVar(&flags.source, "source", "", "record that the cache is made from this `file`")
	cmd.Flags().StringVar(&flags.arch, "arch", "", "the `architecture` to take from a fat Mach-O file, such as arm64")
	cmd.Flags().StringArrayVar(&flags.debugDirs, "debug-dir", nil, "a `folder` with separate debug files, may be repeated")
	cmd.Flags().BoolVarP(&flags.quiet, "quiet", "q", false, "show no progress on a terminal")
	return cmd
}

// buildError gives an error of a build its exit code, which is not that of
// failureCode: an input that is damaged is no damaged cache.
func buildError(err error) error {
	var coded *exitError
	if err == nil || errors.As(err, &coded) {
		return err
	}
	return &exitError{code: exitFailed, err: err, noCache: true}
}

// build runs the command.
func build(cmd *cobra.Command, flags buildFlags, args []string) error {
	inputs, err := parseInputs(cmd, args)
	if err != nil {
		return err
	}
	writing, err := writeOptions(cmd, flags)
	if err != nil {
		return err
	}
	if err := checkOutput(cmd, flags, inputs); err != nil {
		return err
	}
	for _, dir := range flags.debugDirs {
		if fi, err := os.Stat(dir); err != nil || !fi.IsDir() {
			return wrongUse(cmd, "--debug-dir %s is not a folder", dir)
		}
	}
	if cmd.Flags().Changed("source") {
		// Taken now: a source that changes while it is read makes a stale cache.
		fi, err := os.Stat(flags.source)
		if err != nil {
			return fmt.Errorf("source: %w", err)
		}
		writing = append(writing, writer.WithSource(fi.Size(), fi.ModTime()))
	}
	ctx, stop := interruptible(cmd.Context())
	defer stop()
	show := newProgress(cmd.ErrOrStderr(), flags.quiet)
	defer show.close()
	model, err := convert.Build(ctx, inputs, convert.WithArch(flags.arch), convert.WithDebugDir(flags.debugDirs...),
		convert.WithProgress(show.reading), convert.WithWarning(func(text string) {
			show.close()
			fmt.Fprintf(cmd.ErrOrStderr(), "tracecache: warning: %s\n", printable(text))
		}))
	if err != nil {
		return err
	}
	writing = append(writing, writer.WithContext(ctx), writer.WithProgress(show.writing))
	if err := writer.WriteFile(flags.out, model, writing...); err != nil {
		return err
	}
	show.done(summary(flags.out, model))
	return nil
}

func parseInputs(cmd *cobra.Command, args []string) ([]convert.Input, error) {
	inputs := make([]convert.Input, len(args))
	for i, arg := range args {
		in, err := convert.ParseInput(arg)
		if err != nil {
			return nil, wrongUse(cmd, "%w", err)
		}
		inputs[i] = in
	}
	return inputs, nil
}

// writeOptions are the writer's options that the flags name.
func writeOptions(cmd *cobra.Command, flags buildFlags) ([]writer.Option, error) {
	opts, ok := buildCodecs[flags.codec]
	if !ok {
		return nil, wrongUse(cmd, "unknown codec %q, expected none, lz4, zstd, oodle or selkie", flags.codec)
	}
	c, err := opts.Codec()
	if err != nil {
		return nil, wrongUse(cmd, "%w", err)
	}
	level, err := parseLevel(opts.Method, flags.level)
	if err == nil {
		err = c.CheckLevel(level)
	}
	if err != nil {
		return nil, wrongUse(cmd, "%w", err)
	}
	how := writer.WithCodec(opts.Method)
	if opts.Method == pod.MethodOodle {
		how = writer.WithOodle(opts.Compressor)
	}
	return []writer.Option{how, writer.WithLevel(level)}, nil
}

// buildCodecs are the codecs by the names that the flag takes.
var buildCodecs = map[string]container.Options{
	pod.MethodNone.String():  {Method: pod.MethodNone},
	pod.MethodLZ4.String():   {Method: pod.MethodLZ4},
	pod.MethodZstd.String():  {Method: pod.MethodZstd},
	pod.MethodOodle.String(): {Method: pod.MethodOodle, Compressor: pod.CompressorMermaid},
	"selkie":                 {Method: pod.MethodOodle, Compressor: pod.CompressorSelkie},
}

// parseLevel reads a level, which for Oodle may be a name.
func parseLevel(m pod.Method, text string) (int, error) {
	level, err := strconv.Atoi(text)
	if err == nil {
		return level, nil
	}
	if m != pod.MethodOodle {
		return 0, fmt.Errorf("compression level: expected a number for %v, got %q", m, text)
	}
	for l := pod.LevelSuperFast; l <= pod.LevelNormal; l++ {
		if strings.EqualFold(text, l.String()) {
			return int(l), nil
		}
	}
	return 0, fmt.Errorf("compression level: expected a number, superfast, veryfast, fast or normal, got %q", text)
}

// checkOutput refuses, before any work is done, an output that would replace an
// input or that cannot be written.
func checkOutput(cmd *cobra.Command, flags buildFlags, inputs []convert.Input) error {
	if flags.out == "" {
		return wrongUse(cmd, "no output given, expected -o OUT")
	}
	for _, in := range inputs {
		if sameFile(flags.out, in.Path) {
			return wrongUse(cmd, "the output %s is an input, expected another file", flags.out)
		}
	}
	if flags.source != "" && sameFile(flags.out, flags.source) {
		return wrongUse(cmd, "the output %s is the source, expected another file", flags.out)
	}
	return checkPlace(cmd, flags.out)
}

// checkPlace sees that a file can be at out.
func checkPlace(cmd *cobra.Command, out string) error {
	switch fi, err := os.Stat(out); {
	case err == nil && fi.IsDir():
		return wrongUse(cmd, "the output %s is a folder, expected a file", out)
	case err == nil && !fi.Mode().IsRegular():
		return wrongUse(cmd, "the output %s is not a regular file", out)
	}
	if _, err := os.Stat(filepath.Dir(out)); err != nil {
		return fmt.Errorf("folder of the output: %w", err)
	}
	return nil
}

// sameFile reports whether two names are of one file, which need not exist.
func sameFile(a, b string) bool {
	if filepath.Clean(a) == filepath.Clean(b) {
		return true
	}
	fa, err := os.Stat(a)
	if err != nil {
		return false
	}
	fb, err := os.Stat(b)
	return err == nil && os.SameFile(fa, fb)
}

// summary says in one line what a cache holds.
func summary(path string, m *trace.Model) string {
	names := 0
	for i := range m.Symbols {
		if m.Symbols[i].Name != "" {
			names++
		}
	}
	size := ""
	if fi, err := os.Stat(path); err == nil {
		size = fmt.Sprintf(", %d bytes", fi.Size())
	}
	return fmt.Sprintf("%s: %s, %s, %s%s", printable(path), counted(names, "symbol"),
		counted(len(m.Modules), "module"), counted(len(m.Callstacks), "callstack"), size)
}
