package foreign

import (
	"fmt"
	"strconv"
	"strings"
)

// annotate is the file with every byte explained, then the decompressed bytes
// of each section. It panics when a byte is left out or told twice.
func annotate(b []byte) string {
	p := parse(b)
	var out strings.Builder
	out.WriteString("# Offsets are hexadecimal, the end is exclusive. What begins with a section's\n")
	out.WriteString("# name and a plus counts in that section's decompressed bytes.\n\n")
	lines(&out, "", p.leaves, len(b))
	for id, leaves := range p.payloads {
		fmt.Fprintf(&out, "\n# %s, %d decompressed bytes\n", names[id], len(p.sections[id].payload))
		lines(&out, names[id]+"+", leaves, len(p.sections[id].payload))
	}
	return out.String()
}

// lines prints leaves that must cover size bytes, 16 bytes a line.
func lines(out *strings.Builder, prefix string, leaves []leaf, size int) {
	off := 0
	for _, l := range leaves {
		check(l.off == off, fmt.Sprintf("%s%#x follows %#x", prefix, l.off, off))
		comment := " # " + l.comment()
		for len(l.bytes) > 0 {
			n := min(16, len(l.bytes))
			fmt.Fprintf(out, "%s%04x-%04x: x %x%s\n", prefix, off, off+n, l.bytes[:n], comment)
			l.bytes, off, comment = l.bytes[n:], off+n, ""
		}
	}
	check(off == size, fmt.Sprintf("%sthe end is told at %#x, and is at %#x", prefix, off, size))
}

func (l leaf) comment() string {
	s := l.what
	switch v := l.value.(type) {
	case nil:
	case string:
		s += " " + strconv.QuoteToASCII(v)
	default:
		s += " " + fmt.Sprint(v)
	}
	if l.note != "" {
		s += ", " + l.note
	}
	return s
}
