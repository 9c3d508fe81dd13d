package convert

import (
	"debug/macho"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"

	"example.com/tracecache/pod"
)

// Processors of Mach-O files.
const (
	cpu64    = 0x01000000
	cpu64_32 = 0x02000000
	cpuX86   = 7
	cpuARM   = 12
	cpuPPC   = 18
)

// Magics of fat files. Their headers are big-endian.
const (
	fatMagic   = macho.MagicFat
	fatMagic64 = macho.MagicFat + 1
)

// maxArchs bounds the architectures of a fat file.
const maxArchs = 64

// archName is the name that Apple's tools have for an architecture.
func archName(arch string) string {
	switch arch = strings.ToLower(arch); arch {
	case "amd64", "x86-64", "x64":
		return "x86_64"
	case "aarch64":
		return "arm64"
	case "386", "x86":
		return "i386"
	}
	return arch
}

// arch is the name of the file's architecture.
func (f *machoFile) arch() string { return cpuName(f.cpu, f.subCPU) }

// cpuName is the name of a processor and its variant.
func cpuName(cpu, sub uint32) string {
	sub &= 0xffffff // the rest are capabilities
	switch cpu {
	case cpuX86:
		return "i386"
	case cpuX86 | cpu64:
		if sub == 8 {
			return "x86_64h"
		}
		return "x86_64"
	case cpuARM:
		if name, ok := map[uint32]string{6: "armv6", 9: "armv7", 11: "armv7s", 12: "armv7k"}[sub]; ok {
			return name
		}
		return "arm"
	case cpuARM | cpu64:
		if sub == 2 {
			return "arm64e"
		}
		return "arm64"
	case cpuARM | cpu64_32:
		return "arm64_32"
	case cpuPPC:
		return "ppc"
	case cpuPPC | cpu64:
		return "ppc64"
	}
	return fmt.Sprintf("cpu%#x-%d", cpu, sub)
}

// pickArch returns the file of one architecture of a fat file, or the file
// itself if it is thin.
func pickArch(file binaryFile, arch string) (binaryFile, error) {
	h, err := file.read("Mach-O header", 0, 8)
	if err != nil {
		return file, err
	}
	magic, n := binary.BigEndian.Uint32(h), binary.BigEndian.Uint32(h[4:])
	if magic != fatMagic && magic != fatMagic64 {
		return file, nil
	}
	if n == 0 || n > maxArchs {
		return file, fmt.Errorf("%w: fat header: expected between 1 and %d architectures, got %d", pod.ErrCorrupt, maxArchs, n)
	}
	size := uint64(20)
	if magic == fatMagic64 {
		size = 32
	}
	b, err := file.read("fat header", 8, uint64(n)*size)
	if err != nil {
		return file, err
	}
	var names []string
	for ; len(b) > 0; b = b[size:] {
		names = append(names, cpuName(binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])))
		if arch != "" && archName(arch) != names[len(names)-1] || arch == "" && n > 1 {
			continue
		}
		off, count := uint64(binary.BigEndian.Uint32(b[8:])), uint64(binary.BigEndian.Uint32(b[12:]))
		if magic == fatMagic64 {
			off, count = binary.BigEndian.Uint64(b[8:]), binary.BigEndian.Uint64(b[16:])
		}
		if total := uint64(file.size); off > total || count > total-off {
			return file, fmt.Errorf("%w: fat header: %s: expected %d bytes at offset %#x, the file has %d",
				pod.ErrTruncated, names[len(names)-1], count, off, total)
		}
		return binaryFile{io.NewSectionReader(file.r, int64(off), int64(count)), int64(count)}, nil
	}
	slices.Sort(names)
	list := strings.Join(slices.Compact(names), ", ")
	if arch == "" {
		return file, fmt.Errorf("%w: a fat file with several architectures: choose one of %s", pod.ErrUnsupported, list)
	}
	return file, fmt.Errorf("%w: architecture %s: the file has %s", pod.ErrNotFound, archName(arch), list)
}
