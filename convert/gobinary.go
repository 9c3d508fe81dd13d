package convert

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"example.com/tracecache/pod"
)

// goRank puts the names of the Go function table behind those of symbol tables.
const goRank = 100

// goTable is where the headers of a binary say that its Go tables are.
type goTable struct {
	pclntab    uint64 // 0: they do not say
	moduledata uint64 // 0: they do not say
	code       []span

	// symbol is how the linker writes a name in this format's symbol table,
	// nil for as it is. Functions are called so whether the binary is
	// stripped or not.
	symbol func(name string) string
}

// Limits on what is tried where nothing says where a table is. Real binaries
// have one candidate, or a few where they carry others.
const (
	maxPclntabs   = 8
	maxModuleData = 256
)

// goFunctions returns the functions of the Go function table of m, none if it
// has no such table. fixups reads the pointers that m keeps apart; it may be nil.
func goFunctions(m *image, t goTable, fixups func() ([]fixup, error)) ([]function, error) {
	addrs := []uint64{t.pclntab}
	if !m.hasPclntab(t.pclntab) {
		var err error
		if addrs, err = m.findPclntabs(); err != nil {
			return nil, err
		}
	}
	if len(addrs) == 0 {
		return nil, nil
	}
	if fixups != nil && m.fixups == nil {
		var err error
		if m.fixups, err = fixups(); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(t.code, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	for _, addr := range addrs {
		fns, err := m.goFunctionsAt(addr, t)
		if err == nil {
			for i := range fns {
				if t.symbol != nil {
					fns[i].name = t.symbol(fns[i].name)
				}
			}
			return fns, nil
		}
		if addr == t.pclntab {
			return nil, fmt.Errorf("at address %#x: %w", addr, err)
		}
		// Bytes that only looked like a table are no fault of the file.
	}
	return nil, nil
}

// hasPclntab reports whether a function table begins at addr.
func (m *image) hasPclntab(addr uint64) bool {
	if addr == 0 {
		return false
	}
	b, err := m.read("Go function table", addr, 8)
	return err == nil && len(findPclntabs(b, m.order, m.ptr)) == 1
}

// goFunctionsAt reads the function table at addr.
func (m *image) goFunctionsAt(addr uint64, t goTable) ([]function, error) {
	_, n := m.stored(addr)
	data, err := m.read("Go function table", addr, n)
	if err != nil {
		return nil, err
	}
	tab, err := parsePclntab(data, m.order)
	if err != nil {
		return nil, err
	}
	if !tab.relative() {
		// Before Go 1.18 pcs are pointers.
		return tab.functions(m, func(pc uint64) (uint64, bool) {
			if m.pointer != nil {
				pc = m.pointer(pc)
			}
			return pc, true
		}, t.code)
	}
	text, err := m.textSections(tab, addr, t.moduledata)
	if err != nil {
		return nil, err
	}
	if text == nil {
		// Up to Go 1.25 the header has the text start too. It is not the
		// first choice, as linkers may leave it for the loader to fill in.
		start := m.address(data[8+2*tab.ptr:])
		if _, ok := findSpan(t.code, start); !ok {
			return nil, fmt.Errorf("%w: expected module data that points to it, found none", pod.ErrCorrupt)
		}
		text = textSections{{end: ^uint64(0), base: start}}
	}
	return tab.functions(m, text.address, t.code)
}

// findPclntabs looks through the whole image for function tables.
func (m *image) findPclntabs() ([]uint64, error) {
	var addrs []uint64
	err := m.scan(7, func(at uint64, b []byte) bool {
		for _, i := range findPclntabs(b, m.order, m.ptr) {
			addrs = append(addrs, at+uint64(i))
			if len(addrs) == maxPclntabs {
				return false
			}
		}
		return true
	})
	return addrs, err
}

// addGo joins the functions of symbol tables with those of the Go function
// table. Where both know a function, the symbol table has its full name and the
// function table, in formats whose symbols have none, its size.
func addGo(fns, gofns []function) []function {
	if len(gofns) == 0 {
		return fns
	}
	sizes := make(map[uint64]uint64, len(gofns))
	for _, f := range gofns {
		sizes[f.addr] = f.size
	}
	known := make(map[uint64]struct{}, len(fns))
	for i, f := range fns {
		known[f.addr] = struct{}{}
		if f.size == 0 {
			fns[i].size = sizes[f.addr]
		}
	}
	for _, f := range gofns {
		if _, ok := known[f.addr]; !ok {
			fns = append(fns, f)
		}
	}
	return fns
}

// noMiddleDot is a name as ELF and Mach-O files have it: the linker writes a dot
// for the middle dot, which sets apart names that no source can have.
func noMiddleDot(name string) string { return strings.ReplaceAll(name, "·", ".") }

// isGoMarker reports whether a symbol only marks where the Go linker's text, or
// a part of it, begins or ends.
func isGoMarker(name string) bool {
	name = strings.TrimPrefix(name, "_")      // Mach-O
	name = strings.TrimPrefix(name, "local.") // shared libraries and plugins
	switch name {
	case "runtime.text", "runtime.etext", "go:textfipsstart", "go:textfipsend":
		return true
	}
	for _, prefix := range []string{"runtime.text.", "runtime.etext."} {
		if n, ok := strings.CutPrefix(name, prefix); ok && strings.Trim(n, "0123456789") == "" {
			return true
		}
	}
	return false
}

// goBuildID finds the build id that the Go linker writes at the start of the
// text where a format has no notes, nil if there is none.
func goBuildID(head []byte) []byte {
	_, id, ok := bytes.Cut(head, []byte("\xff Go build ID: \""))
	if !ok {
		return nil
	}
	id, _, ok = bytes.Cut(id, []byte("\"\n \xff"))
	if !ok || len(id) == 0 || len(id) > maxBuildID {
		return nil
	}
	return bytes.Clone(id)
}

// goBuildID finds the build id at the start of the code.
func (m *image) goBuildID(code []span) []byte {
	const head = 64 << 10
	for _, c := range code {
		b, err := m.read("code", c.start, min(c.end-c.start, head))
		if err != nil {
			continue
		}
		if id := goBuildID(b); id != nil {
			return id
		}
	}
	return nil
}
