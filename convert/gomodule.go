package convert

import "bytes"

// textSections maps pcs of a function table, which count from the text start, to
// addresses. Large programs have several sections, between which a linker may
// have put other code.
type textSections []textSection

type textSection struct {
	start, end uint64 // pcs
	base       uint64 // address of start
}

// address is the address of a pc.
func (t textSections) address(pc uint64) (uint64, bool) {
	for _, s := range t {
		if s.start <= pc && pc < s.end {
			return s.base + (pc - s.start), true
		}
	}
	return 0, false
}

// Words of the runtime's module data, from Go 1.16 on.
const (
	modPclntab = 0
	modNames   = 1  // slice
	modFunctab = 16 // slice
	modMinPC   = 20
	modText    = 22
	modEText   = 23
	modLeast   = 24 // words that every release has

	// The slice of text sections follows some ten pointers that came with
	// one release or another.
	modSections, modSectionsEnd = 34, 48
	modMost                     = modSectionsEnd + 2
)

// textSections finds the text start of the table at addr in the module data that
// points to it, first at hint. It is nil if there is no module data.
func (m *image) textSections(tab *pclntab, addr, hint uint64) (textSections, error) {
	if hint != 0 {
		if text := m.moduleData(hint, tab, addr); text != nil {
			return text, nil
		}
	}
	tries := 0
	for _, f := range m.fixups {
		if f.value != addr {
			continue
		}
		if text := m.moduleData(f.addr, tab, addr); text != nil {
			return text, nil
		}
		if tries++; tries == maxModuleData {
			break
		}
	}
	var text textSections
	tries = 0
	err := m.scan(m.ptr-1, func(at uint64, b []byte) bool {
		for _, i := range m.findPointers(b, at, addr) {
			if text = m.moduleData(at+uint64(i), tab, addr); text != nil {
				return false
			}
			if tries++; tries == maxModuleData {
				return false
			}
		}
		return true
	})
	return text, err
}

// findPointers returns the offsets in b, which lies at address at, of aligned
// pointers to target.
func (m *image) findPointers(b []byte, at, target uint64) []int {
	var found []int
	aligned := func(i int) bool { return (at+uint64(i))%uint64(m.ptr) == 0 }
	if m.pointer != nil {
		i := 0
		for ; !aligned(i); i++ {
		}
		for ; i+m.ptr <= len(b); i += m.ptr {
			if m.address(b[i:]) == target && len(found) < maxModuleData {
				found = append(found, i)
			}
		}
		return found
	}
	pattern := make([]byte, m.ptr)
	if m.ptr == 4 {
		m.order.PutUint32(pattern, uint32(target))
	} else {
		m.order.PutUint64(pattern, target)
	}
	for i := 0; len(found) < maxModuleData; i++ {
		n := bytes.Index(b[i:], pattern)
		if n < 0 {
			break
		}
		if i += n; aligned(i) {
			found = append(found, i)
		}
	}
	return found
}

// moduleData returns the text sections of the module data at addr, nil if there
// is none that belongs to tab at pclntab.
func (m *image) moduleData(addr uint64, tab *pclntab, pclntab uint64) textSections {
	_, n := m.stored(addr)
	words := min(n/uint64(m.ptr), modMost)
	if words < modLeast {
		return nil
	}
	b, err := m.read("Go module data", addr, words*uint64(m.ptr))
	if err != nil {
		return nil
	}
	at := func(i int) uint64 { return m.address(b[i*m.ptr:]) }
	number := func(i int) uint64 { return m.uint(b[i*m.ptr:]) }
	text := at(modText)
	if at(modPclntab) != pclntab || at(modNames) != pclntab+tab.nameOff ||
		number(modFunctab+1) != uint64(tab.nfunc)+1 ||
		text > at(modEText) || at(modMinPC) != text+tab.pc(0) {
		return nil
	}
	if s, ok := m.segment(text); !ok || !s.exec {
		return nil
	}
	for i := modSections; i < modSectionsEnd && i+2 < int(words); i++ {
		if number(i+1) != number(i+2) {
			continue
		}
		if s := m.sectionMap(at(i), number(i+1), text); s != nil {
			return s
		}
	}
	return textSections{{end: ^uint64(0), base: text}}
}

// sectionMap reads n text sections at addr. It is nil if there are no such.
func (m *image) sectionMap(addr, n, text uint64) textSections {
	const maxSections = 1 << 8
	if n == 0 || n > maxSections {
		return nil
	}
	size := 3 * uint64(m.ptr)
	b, err := m.read("Go text sections", addr, n*size)
	if err != nil {
		return nil
	}
	secs := make(textSections, n)
	for i := range secs {
		r := b[i*int(size):]
		s := textSection{start: m.uint(r), end: m.uint(r[m.ptr:]), base: m.address(r[2*m.ptr:])}
		if s.end <= s.start || i == 0 && (s.start != 0 || s.base != text) || i > 0 && s.start < secs[i-1].end {
			return nil
		}
		secs[i] = s
	}
	return secs
}
