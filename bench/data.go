package bench

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"example.com/tracecache/convert"
	"example.com/tracecache/internal/gen"
	"example.com/tracecache/lazy"
	"example.com/tracecache/pod"
	"example.com/tracecache/trace"
	"example.com/tracecache/writer"
)

// ErrNotHere says that this machine does not have some real data.
var ErrNotHere = errors.New("bench: not on this machine")

// Source is where symbols come from: a number of generated ones or a real binary.
type Source struct {
	N          int        // generated symbols, holes included; 0: Data
	Shape      gen.Spread // of the generated ones
	Callstacks int        // of Frames frames, generated
	Data       string     // "go" or "libllvm"
}

// Key is the source in a benchmark's name: "n=1e6/shape=clustered", "data=go".
func (s Source) Key() string {
	if s.Data != "" {
		return "data=" + s.Data
	}
	return "n=" + Count(s.N) + "/shape=" + s.ShapeName()
}

// ShapeName is how the generated symbols lie, in a word.
func (s Source) ShapeName() string {
	if s.Shape == gen.Uniform {
		return "uniform"
	}
	return "clustered"
}

// Count writes a power of ten as 1e6, and any other number in full.
func Count(n int) string {
	s := fmt.Sprint(n)
	if digits := strings.TrimRight(s, "0"); digits == "1" && n >= 1000 {
		return fmt.Sprintf("1e%d", len(s)-1)
	}
	return s
}

// Model makes the symbols and all that is around them, the same on every call.
// Names are parts of one string, so that the collector has little to do. It is
// [ErrNotHere] for a real binary that this machine lacks.
func (s Source) Model() (*trace.Model, error) {
	if s.Data == "" {
		m := gen.Model(gen.Config{Seed: 1, Symbols: s.N, Holes: s.N / 4, Spread: s.Shape, Callstacks: s.Callstacks})
		join(m.Symbols)
		return m, nil
	}
	path, err := Binary(s.Data)
	if err != nil {
		return nil, err
	}
	m, err := convert.Build(context.Background(), []convert.Input{{Path: path}})
	if err == nil {
		join(m.Symbols)
	}
	return m, err
}

// join puts the names of symbols into one string.
func join(symbols []trace.Symbol) {
	var all strings.Builder
	size := 0
	for _, s := range symbols {
		size += len(s.Name)
	}
	all.Grow(size)
	for _, s := range symbols {
		all.WriteString(s.Name)
	}
	rest := all.String()
	for i := range symbols {
		n := len(symbols[i].Name)
		symbols[i].Name, rest = rest[:n], rest[n:]
	}
}

// minLibrary is the least size of what counts as a big library.
const minLibrary = 50 << 20

// Binary is the path of a real binary: "go", the toolchain's command, or
// "libllvm", the first libLLVM of at least 50 MB in the usual folders. It is
// [ErrNotHere] where there is none.
func Binary(name string) (string, error) {
	var paths []string
	switch name {
	case "go":
		root, err := exec.Command("go", "env", "GOROOT").Output()
		if err != nil {
			return "", fmt.Errorf("%w: go: %w", ErrNotHere, err)
		}
		paths, _ = filepath.Glob(filepath.Join(strings.TrimSpace(string(root)), "bin", "go"))
	case "libllvm":
		for _, dir := range []string{"/usr/lib/*-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/lib/llvm-*/lib", "/usr/local/lib"} {
			found, _ := filepath.Glob(filepath.Join(dir, "libLLVM*.so*"))
			paths = append(paths, found...)
		}
		paths = slices.DeleteFunc(paths, func(path string) bool {
			info, err := os.Stat(path)
			return err != nil || info.Size() < minLibrary
		})
	}
	if len(paths) == 0 {
		return "", fmt.Errorf("%w: %s", ErrNotHere, name)
	}
	return paths[0], nil
}

// File is a cache of a source.
type File struct {
	Path    string
	Size    int64
	Decoded [pod.SectionCount]int64 // bytes of each section, decompressed
}

// DecodedOf is the bytes of some sections, decompressed, of all where none is
// named.
func (f File) DecodedOf(ids ...pod.Section) (sum int64) {
	if len(ids) == 0 {
		ids = pod.Sections[:]
	}
	for _, id := range ids {
		sum += f.Decoded[id]
	}
	return sum
}

// WriteFile writes a cache of m into the folder dir, under a name of its own, and
// makes sure that the plain loop decodes it.
func WriteFile(dir string, m *trace.Model, method pod.Method) (File, error) {
	tmp, err := os.CreateTemp(dir, "*.ztac")
	if err != nil {
		return File{}, err
	}
	if err := tmp.Close(); err != nil {
		return File{}, err
	}
	f := File{Path: tmp.Name()}
	if err := writer.WriteFile(f.Path, m, writer.WithCodec(method)); err != nil {
		return File{}, err
	}
	c, err := lazy.Open(f.Path)
	if err != nil {
		return File{}, err
	}
	f.Size = c.Size()
	for _, id := range pod.Sections {
		info, err := c.Info(id)
		if err != nil {
			return File{}, errors.Join(err, c.Close())
		}
		f.Decoded[id] = int64(info.Header.TotalRawSize)
	}
	stored, err := ReadStored(f.Path)
	if err == nil {
		err = stored.Check()
	}
	return f, errors.Join(err, c.Close())
}

// HugeFile writes into the folder dir a cache of size bytes that takes next to
// none on a disk: its Memory section is stored and reads as zeros. It opens as any
// other; the section's hash is wrong.
func HugeFile(dir string, size int64) (File, error) {
	m, err := Source{N: 700}.Model()
	if err != nil {
		return File{}, err
	}
	f, err := WriteFile(dir, m, pod.MethodNone)
	if err != nil || f.Size >= size {
		return f, err
	}
	file, err := os.OpenFile(f.Path, os.O_RDWR, 0)
	if err != nil {
		return File{}, err
	}
	err = stretch(file, f.Size, size)
	f.Size = size
	f.Decoded[pod.SectionMemory] = 0 // not to be decoded
	return f, errors.Join(err, file.Close())
}

// stretch moves the Memory section of a file to its end, and that to size.
func stretch(file *os.File, from, size int64) error {
	if err := file.Truncate(size); err != nil {
		return err
	}
	at := (from + 63) &^ 63
	header := pod.BufferHeader{
		Magic: pod.BufferMagic, Method: pod.MethodNone, BlockCount: 1,
		TotalRawSize: uint64(size - at - pod.BufferHeaderSize), TotalCompressedSize: uint64(size - at),
	}
	header.Crc32 = crc32.ChecksumIEEE(header.Append(nil)[8:])
	if _, err := file.WriteAt(header.Append(nil), at); err != nil {
		return err
	}
	b := make([]byte, pod.DataOffset-pod.FileHeaderSize)
	if _, err := file.ReadAt(b, pod.FileHeaderSize); err != nil {
		return err
	}
	directory := pod.DecodeDirectory(b)
	directory[pod.SectionMemory] = pod.DirectoryEntry{
		SectionID: pod.SectionMemory, FileOffset: uint64(at), CompressedSize: header.TotalCompressedSize,
	}
	_, err := file.WriteAt(directory.Append(nil), pod.FileHeaderSize)
	return err
}
