package convert

import (
	"bytes"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"example.com/tracecache/pod"
)

// giveRight is what to do about a debug file of another binary.
const giveRight = "give the --debug-dir that has the debug file of this very binary"

// maxDebugLink bounds the section that names the debug file.
const maxDebugLink = 4096

// debugFile is where a separate debug file may be and how it is known.
type debugFile struct {
	path string
	crc  *uint32 // of the whole file; nil: not recorded
}

// debugSymbols adds the symbols of the binary's separate debug file, if one of
// dirs has it. id is the build id of the binary at path, nil if it has none. A
// file that is there under the right name and belongs to another binary is an
// error unless the right one is found too.
func (f *elfFile) debugSymbols(out *elfSymbols, opd *opdSection, path string, id []byte, dirs []string) error {
	link, err := f.debugLink()
	if err != nil {
		return err
	}
	var refused error
	for _, c := range debugFiles(path, id, link, dirs) {
		err := f.readDebugFile(out, opd, c, id)
		if err == nil {
			return nil
		}
		if !errors.Is(err, fs.ErrNotExist) && refused == nil {
			refused = fmt.Errorf("debug file %s: %w", c.path, err)
		}
	}
	return refused
}

// debugFiles lists where the debug file may be, the surest places first.
func debugFiles(path string, id []byte, link *debugFile, dirs []string) []debugFile {
	var files []debugFile
	for _, dir := range dirs {
		if len(id) >= 2 && len(id) <= maxBuildID {
			name := hex.EncodeToString(id)
			files = append(files, debugFile{path: filepath.Join(dir, ".build-id", name[:2], name[2:]+".debug")})
		}
	}
	if link == nil {
		return files
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		abs = path
	}
	beside := filepath.Dir(abs)
	beside = beside[len(filepath.VolumeName(beside)):]
	for _, dir := range dirs {
		files = append(files,
			debugFile{path: filepath.Join(dir, beside, link.path), crc: link.crc},
			debugFile{path: filepath.Join(dir, link.path), crc: link.crc})
	}
	return files
}

// debugLink reads the debug file's name and checksum from the binary, nil if it
// has none.
func (f *elfFile) debugLink() (*debugFile, error) {
	for i := range f.sections {
		s := &f.sections[i]
		if s.name != ".gnu_debuglink" || elf.SectionType(s.Type) == elf.SHT_NOBITS {
			continue
		}
		b, err := f.read("debug link", s.Off, min(s.Size, maxDebugLink))
		if err != nil {
			return nil, err
		}
		n := bytes.IndexByte(b, 0)
		crc := (n + 4) &^ 3
		if n <= 0 || crc+4 > len(b) {
			return nil, fmt.Errorf("%w: debug link at offset %#x: expected a name and a checksum, got %d bytes", pod.ErrCorrupt, s.Off, len(b))
		}
		name := string(b[:n])
		if !filepath.IsLocal(name) || filepath.Base(name) != name {
			return nil, fmt.Errorf("%w: debug link at offset %#x: expected the name of a file, got %q", pod.ErrCorrupt, s.Off, name)
		}
		sum := f.order.Uint32(b[crc:])
		return &debugFile{path: name, crc: &sum}, nil
	}
	return nil, nil
}

// readDebugFile adds the symbols of one debug file, or says why it is not the
// binary's.
func (f *elfFile) readDebugFile(out *elfSymbols, opd *opdSection, c debugFile, id []byte) error {
	info, err := os.Stat(c.path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() { // to open a pipe would wait for its writer
		return fmt.Errorf("%w: expected a regular file, got %s", pod.ErrUnsupported, info.Mode().Type())
	}
	file, err := os.Open(c.path)
	if err != nil {
		return err
	}
	defer file.Close()
	d, err := parseELF(binaryFile{file, info.Size()})
	if err != nil {
		return err
	}
	if d.machine != f.machine || d.is64 != f.is64 || d.order != f.order {
		return fmt.Errorf("it is for %v and the binary for %v: %s", d.machine, f.machine, giveRight)
	}
	d.progs = nil // they tell of the binary's bytes, which are not in this file
	ids, err := d.buildIDs()
	if err != nil {
		return err
	}
	if !bytes.Equal(ids.gnu, id) && (ids.gnu != nil || c.crc == nil) {
		return fmt.Errorf("its build id is %s and that of the binary %s: %s", shownID(ids.gnu), shownID(id), giveRight)
	}
	if c.crc != nil {
		sum := crc32.NewIEEE()
		if _, err := io.Copy(sum, file); err != nil {
			return fmt.Errorf("%w: %w", pod.ErrIO, err)
		}
		if sum.Sum32() != *c.crc {
			return fmt.Errorf("%w: expected CRC-32 %#08x, got %#08x", pod.ErrChecksum, *c.crc, sum.Sum32())
		}
	}
	var syms elfSymbols
	if err := d.symbols(&syms, opd); err != nil {
		return err
	}
	out.fns = append(out.fns, syms.fns...)
	out.labels = append(out.labels, syms.labels...)
	for name, addr := range syms.markers {
		if out.markers == nil {
			out.markers = make(map[string]uint64)
		}
		if _, ok := out.markers[name]; !ok {
			out.markers[name] = addr
		}
	}
	return nil
}

// shownID is a build id as it is shown to people.
func shownID(id []byte) string {
	if len(id) == 0 {
		return "none"
	}
	return hex.EncodeToString(id)
}
