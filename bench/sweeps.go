package bench

import "example.com/tracecache/lazy"

// The loops that are timed, one for each contender, so that calls are direct and
// may be inlined. Each returns the sum of use over the names found.

// use reads of a name what a caller at least reads.
func use(name string) uint64 { return uint64(len(name)) + uint64(name[0]) }

func sweepResolve(s *lazy.Symbols, addrs []uint64) (sum uint64) {
	for _, addr := range addrs {
		if name, ok := s.Resolve(addr); ok {
			sum += use(name)
		}
	}
	return sum
}

func sweepFind(s *lazy.Symbols, pcs []uint64) (sum uint64) {
	for _, pc := range pcs {
		if sym, ok := s.Find(pc); ok {
			sum += use(sym.Name)
		}
	}
	return sum
}

func sweepResolveBatch(s *lazy.Symbols, addrs []uint64, dst []string) (sum uint64) {
	for len(addrs) > 0 {
		n := min(len(addrs), len(dst))
		s.ResolveBatch(addrs[:n], dst)
		addrs = addrs[n:]
		for _, name := range dst[:n] {
			if name != "" {
				sum += use(name)
			}
		}
	}
	return sum
}

func sweepFindBatch(s *lazy.Symbols, pcs []uint64, dst []lazy.Symbol) (sum uint64) {
	for len(pcs) > 0 {
		n := min(len(pcs), len(dst))
		s.FindBatch(pcs[:n], dst)
		pcs = pcs[n:]
		for i := range dst[:n] {
			if name := dst[i].Name; name != "" {
				sum += use(name)
			}
		}
	}
	return sum
}

func (g goMap) sweepResolve(addrs []uint64) (sum uint64) {
	for _, addr := range addrs {
		if name, ok := g.resolve(addr); ok {
			sum += use(name)
		}
	}
	return sum
}

func (s slice) sweepResolve(addrs []uint64) (sum uint64) {
	for _, addr := range addrs {
		if name, ok := s.resolve(addr); ok {
			sum += use(name)
		}
	}
	return sum
}

func (s slice) sweepFind(pcs []uint64) (sum uint64) {
	for _, pc := range pcs {
		if sym, ok := s.find(pc); ok {
			sum += use(sym.Name)
		}
	}
	return sum
}

func (r *records) sweepResolve(addrs []uint64) (sum uint64) {
	for _, addr := range addrs {
		if name, ok := r.resolve(addr); ok {
			sum += use(name)
		}
	}
	return sum
}

func (r *records) sweepFind(pcs []uint64) (sum uint64) {
	for _, pc := range pcs {
		if sym, ok := r.find(pc); ok {
			sum += use(sym.Name)
		}
	}
	return sum
}

func (r binarySearch) sweepResolve(addrs []uint64) (sum uint64) {
	for _, addr := range addrs {
		if name, ok := r.resolve(addr); ok {
			sum += use(name)
		}
	}
	return sum
}

func (r binarySearch) sweepFind(pcs []uint64) (sum uint64) {
	for _, pc := range pcs {
		if sym, ok := r.find(pc); ok {
			sum += use(sym.Name)
		}
	}
	return sum
}
