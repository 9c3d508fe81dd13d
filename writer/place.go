package writer

import (
	"errors"
	"fmt"
)

// ErrNUL says that a string contains a NUL byte, which ends strings in the
// format. Take it out, or use [WithCutAtNUL].
var ErrNUL = errors.New("contains a NUL byte")

// place says where in the model a string is, for errors about it. It is made for
// every string, so it is put into words only when it is needed.
type place struct {
	list  string // of the model; empty for a symbol
	index int    // in the list; negative for what is no list
	field string
	addr  uint64 // of a symbol
}

func (p place) String() string {
	switch {
	case p.list == "":
		return fmt.Sprintf("symbol %#x: name", p.addr)
	case p.index < 0:
		return p.list + "." + p.field
	}
	return fmt.Sprintf("%s[%d].%s", p.list, p.index, p.field)
}

// quote is s in quotes, cut to the surroundings of byte i where it is long.
func quote(s string, i int) string {
	const around = 40
	from, to := max(0, i-around), min(len(s), i+around)
	q := fmt.Sprintf("%q", s[from:to])
	if from > 0 {
		q = "…" + q
	}
	if to < len(s) {
		q += "…"
	}
	return q
}
