package convert

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"

	"example.com/tracecache/pod"
)

// Kind is a kind of input, as it is shown to people.
type Kind string

// The kinds of input.
const (
	KindELF      Kind = "ELF"
	KindMachO    Kind = "Mach-O"
	KindPE       Kind = "PE"
	KindPprof    Kind = "pprof"
	KindBreakpad Kind = "Breakpad"
	KindJSON     Kind = "JSON"
)

// isBinary reports whether a kind is one of executables and shared libraries.
func isBinary(k Kind) bool { return k == KindELF || k == KindMachO || k == KindPE }

// detectSize is how much of a file its kind is recognised from.
const detectSize = 4096

var (
	elfMagic    = []byte("\x7fELF")
	peMagic     = []byte("MZ")
	gzipMagic   = []byte{0x1f, 0x8b}
	moduleWord  = []byte("MODULE ")
	utf8Mark    = []byte("\xef\xbb\xbf") // that some editors put before text
	machOMagics = [][]byte{
		{0xfe, 0xed, 0xfa, 0xce}, {0xce, 0xfa, 0xed, 0xfe}, // 32 bits
		{0xfe, 0xed, 0xfa, 0xcf}, {0xcf, 0xfa, 0xed, 0xfe}, // 64 bits
		{0xca, 0xfe, 0xba, 0xbe}, {0xca, 0xfe, 0xba, 0xbf}, // fat
	}

	// legacyProfile is how the text forms of older profilers begin, behind
	// empty lines and comments.
	legacyProfile = regexp.MustCompile(`\A(?:[ \t]*(?:#[^\n]*)?\r?\n)*` +
		`(?:\S+ profile: *(?:total )?[0-9]|--- *(?:heapz?|contentionz?|mutex|threadz|Thread|growthz?)\b)`)
)

// detect recognises the kind of a file by how it begins.
func detect(r io.ReaderAt, size int64) (Kind, error) {
	head := make([]byte, min(size, detectSize))
	n, err := r.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	head = head[:n]
	if k := kindOf(head); k != "" {
		return k, nil
	}
	what := fmt.Sprintf("begins with %q", head[:min(n, 8)])
	if n == 0 {
		what = "is empty"
	}
	return "", fmt.Errorf("%w: expected ELF, Mach-O, PE, pprof, Breakpad or JSON, the file %s", pod.ErrUnsupported, what)
}

func kindOf(head []byte) Kind {
	switch {
	case bytes.HasPrefix(head, elfMagic):
		return KindELF
	case isMachO(head):
		return KindMachO
	case bytes.HasPrefix(head, gzipMagic):
		return KindPprof
	case bytes.HasPrefix(head, moduleWord):
		return KindBreakpad
	case bytes.HasPrefix(bytes.TrimLeft(bytes.TrimPrefix(head, utf8Mark), " \t\r\n"), []byte("{")):
		return KindJSON
	case bytes.HasPrefix(head, peMagic):
		return KindPE
	case legacyProfile.Match(head), isLegacyCPU(head), beginsAsProto(head):
		return KindPprof
	}
	return ""
}

// isMachO tells Mach-O files. A fat one shares its magic with Java class files,
// which have a version of 45 or more where the number of architectures is.
func isMachO(head []byte) bool {
	for _, m := range machOMagics {
		if !bytes.HasPrefix(head, m) {
			continue
		}
		fat := m[0] == 0xca
		return !fat || len(head) >= 8 && head[4] == 0 && head[5] == 0 && head[6] == 0 && head[7] < 45
	}
	return false
}

// isLegacyCPU tells the binary form of older CPU profilers: the words 0, 3 and 0
// or 1, of 32 or 64 bits in either byte order.
func isLegacyCPU(head []byte) bool {
	for _, size := range []int{4, 8} {
		if len(head) < 5*size {
			continue
		}
		words := [][]byte{head[:size], head[size : 2*size], head[2*size : 3*size]}
		for _, low := range []int{0, size - 1} {
			if isWord(words[0], low, 0) && isWord(words[1], low, 3) &&
				(isWord(words[2], low, 0) || isWord(words[2], low, 1)) {
				return true
			}
		}
	}
	return false
}

// isWord reports whether a word, whose lowest byte is at low, is v.
func isWord(word []byte, low int, v byte) bool {
	for i, b := range word {
		if i == low && b != v || i != low && b != 0 {
			return false
		}
	}
	return true
}
