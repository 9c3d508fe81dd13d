package lazy

import "example.com/tracecache/internal/index"

// ResolveBatch is [Symbols.Resolve] for many addresses: it sets dst[i] to the name
// of addrs[i], or to "" where there is none, and returns the number of names. It
// works on the shorter of the two lengths. The searches run side by side, which
// takes about half the time of as many calls of Resolve, less where addrs are
// sorted.
func (s *Symbols) ResolveBatch(addrs []uint64, dst []string) int {
	n := min(len(addrs), len(dst))
	addrs, dst = addrs[:n], dst[:n]
	hits := 0
	for len(addrs) >= index.BatchSize {
		hits += s.resolve((*[index.BatchSize]uint64)(addrs), (*[index.BatchSize]string)(dst))
		addrs, dst = addrs[index.BatchSize:], dst[index.BatchSize:]
	}
	for i, addr := range addrs {
		name, ok := s.Resolve(addr)
		dst[i] = name
		if ok {
			hits++
		}
	}
	return hits
}

func (s *Symbols) resolve(addrs *[index.BatchSize]uint64, dst *[index.BatchSize]string) (hits int) {
	offs, ns := s.index.Names(addrs)
	for k, n := range ns {
		dst[k] = s.name(offs[k], n)
		if n != 0 {
			hits++
		}
	}
	return hits
}

// FindBatch is [Symbols.Find] for many addresses: it sets dst[i] to the symbol at
// or before pcs[i], or to the zero Symbol where there is none, and returns the
// number of symbols. It works on the shorter of the two lengths. The searches run
// side by side, which takes about half the time of as many calls of Find, less
// where pcs are sorted.
func (s *Symbols) FindBatch(pcs []uint64, dst []Symbol) int {
	n := min(len(pcs), len(dst))
	pcs, dst = pcs[:n], dst[:n]
	hits := 0
	for len(pcs) >= index.BatchSize {
		group := (*[index.BatchSize]uint64)(pcs)
		for k, i := range s.index.Floors(group) {
			sym, reason := s.answer(group[k], i)
			dst[k] = sym
			if reason == Found {
				hits++
			}
		}
		pcs, dst = pcs[index.BatchSize:], dst[index.BatchSize:]
	}
	for i, pc := range pcs {
		sym, ok := s.Find(pc)
		dst[i] = sym
		if ok {
			hits++
		}
	}
	return hits
}
