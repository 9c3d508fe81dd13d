package convert

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"example.com/tracecache/trace"
)

// function is a named piece of code as a symbol table tells of it.
type function struct {
	addr uint64
	size uint64 // bytes; 0: not known
	name string // empty: something begins here, and nobody says what
	rank int    // lower names come first among those of one address
}

// span is the addresses [start, end) of one code section.
type span struct {
	start, end uint64
}

// layout turns functions into symbols with holes, ascending by address, so that
// a floor look-up among them answers with the innermost function that an address
// lies in, or with a hole.
//
// Names of one address stay together, by rank and then in the order given; one
// that comes twice there is kept once. A function without a size takes the size
// of its largest alias; one without such an alias reaches to the next function,
// to the end of the function around it, or to the end of its code section. Where
// an inner function ends before the one around it does, the outer name comes
// again. Functions outside of every code section are left out, and what reaches
// over the end of one is cut there; no sections at all set no bounds. A function
// without a name ends the unsized function before it and is a hole, unless it
// lies in a sized one.
//
// fns and code are reordered. The cost is that of sorting them.
func layout(fns []function, code []span) []trace.Symbol {
	slices.SortFunc(code, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	if len(code) > 0 {
		fns = slices.DeleteFunc(fns, func(f function) bool {
			_, ok := findSpan(code, f.addr)
			return !ok
		})
	}
	slices.SortStableFunc(fns, func(a, b function) int {
		return cmp.Or(cmp.Compare(a.addr, b.addr), cmp.Compare(a.rank, b.rank))
	})

	s := sweep{out: make([]trace.Symbol, 0, len(fns)+len(fns)/2)}
	for i := 0; i < len(fns); {
		n := i + 1
		for n < len(fns) && fns[n].addr == fns[i].addr {
			n++
		}
		limit := uint64(math.MaxUint64)
		if c, ok := findSpan(code, fns[i].addr); ok {
			limit = c.end
		}
		next := limit
		if n < len(fns) {
			next = min(next, fns[n].addr)
		}
		s.begin(fns[i:n], next, limit)
		i = n
	}
	s.endBefore(math.MaxUint64)
	return s.out
}

// findSpan is the section that addr lies in. code is ascending by start; of
// sections that overlap only the one with the highest start counts.
func findSpan(code []span, addr uint64) (span, bool) {
	i := sort.Search(len(code), func(i int) bool { return code[i].start > addr })
	if i == 0 || addr >= code[i-1].end {
		return span{}, false
	}
	return code[i-1], true
}

// sweep walks over functions in ascending order.
type sweep struct {
	out []trace.Symbol
	now string // what a look-up behind the last of out answers

	// open holds the functions around the present address, the innermost
	// last. Those below the last may have ended already; they are dropped when
	// they come to the top, so that each is pushed and popped once.
	open []extent
}

// extent is a function that has begun, and where it ends.
type extent struct {
	end  uint64
	name string
}

// begin enters the functions of one address. An unsized function ends at next
// or before, any function at limit.
func (s *sweep) begin(group []function, next, limit uint64) {
	addr := group[0].addr
	s.endBefore(addr)

	var size uint64 // of the largest
	for _, f := range group {
		size = max(size, f.size)
	}
	if size == 0 {
		if n := len(s.open); n > 0 {
			next = min(next, s.open[n-1].end)
		}
		size = next - addr
	}

	named := namesOnce(group)
	if len(named) == 0 {
		s.turn(addr)
		return
	}
	s.now = named[0].name
	for _, f := range named {
		s.out = append(s.out, trace.Symbol{Address: addr, Name: f.name})
	}
	for _, f := range slices.Backward(named) {
		n := f.size
		if n == 0 {
			n = size
		}
		s.open = append(s.open, extent{end: addr + min(n, limit-addr), name: f.name})
	}
}

// endBefore ends the functions that end at addr or before. An end before addr
// becomes a symbol: the function around it, or a hole. At addr itself another
// function begins, which is end enough.
func (s *sweep) endBefore(addr uint64) {
	for len(s.open) > 0 {
		end := s.open[len(s.open)-1].end
		if end > addr {
			return
		}
		for n := len(s.open); n > 0 && s.open[n-1].end <= end; n-- {
			s.open = s.open[:n-1]
		}
		if end < addr {
			s.turn(end)
		}
	}
}

// turn makes the innermost open function, or a hole where there is none, the
// answer from addr on, if it is not already.
func (s *sweep) turn(addr uint64) {
	name := ""
	if n := len(s.open); n > 0 {
		name = s.open[n-1].name
	}
	if name != s.now {
		s.out = append(s.out, trace.Symbol{Address: addr, Name: name})
		s.now = name
	}
}

// namesOnce is group, which it changes, without repeated and empty names.
func namesOnce(group []function) []function {
	if len(group) == 1 && group[0].name != "" {
		return group
	}
	seen := make(map[string]struct{}, len(group))
	return slices.DeleteFunc(group, func(f function) bool {
		if _, ok := seen[f.name]; ok || f.name == "" {
			return true
		}
		seen[f.name] = struct{}{}
		return false
	})
}

// sizedSpans is where the functions of a known size lie.
func sizedSpans(fns []function) []span {
	var sized []span
	for _, f := range fns {
		if f.size > 0 {
			sized = append(sized, span{f.addr, f.addr + min(f.size, math.MaxUint64-f.addr)})
		}
	}
	return sized
}

// outside are those of labels, which it changes, that do not lie inside a
// function; one at its start is a name of it. sized is reordered and changed.
func outside(labels []function, sized []span) []function {
	slices.SortFunc(sized, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	for i := 1; i < len(sized); i++ {
		sized[i].end = max(sized[i].end, sized[i-1].end) // the furthest so far
	}
	return slices.DeleteFunc(labels, func(l function) bool {
		i := sort.Search(len(sized), func(i int) bool { return sized[i].start >= l.addr })
		return i > 0 && l.addr < sized[i-1].end
	})
}
