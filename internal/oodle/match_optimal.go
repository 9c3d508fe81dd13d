package oodle

import (
	"math"
	"slices"
)

const (
	unreached = math.MaxInt32

	// optimalDepth is how many candidates of a chain are tried.
	optimalDepth = 24

	// longMatch is a match so long that what starts inside it is not tried.
	longMatch = 64

	// switchPrice is about the price of a distance: a way that is dearer than
	// another one by more cannot win.
	switchPrice = 32 * priceBit
)

// optimalParser looks for the cheapest parse of a sub-chunk. What a byte of an
// array takes it knows from an earlier parse.
type optimalParser struct {
	m      *matcher
	prices prices
	steps  []step
	path   []placedMatch // of the cheapest parse, from the last match on
	found  []match       // at one position
}

// placedMatch is a match and where it starts.
type placedMatch struct {
	match
	at int
}

// step is the cheapest way known to a position.
type step struct {
	price  int32
	recent int32 // the last distance there
	n      int32 // bytes of the match that ends there, 0 for a literal
	lits   int16 // literals since the last match, as far as their number matters
	from   int16 // the kind of step that the match started from
}

// Each position has two steps: the cheapest way there, and, in records, the
// cheapest of those whose last distance is the size of the records. The second one
// may be the dearer one so far, but what follows will be cheaper after it.
const (
	anyStep = iota
	strideStep
	stepKinds
)

// parse parses the sub-chunk that t stands at the start of, in the way that is
// cheapest by o.prices, but for ways that it loses because a cheaper one, with another
// last distance, meets them.
func (o *optimalParser) parse(t *chunkTables, end int) {
	o.m.startSubChunk(t, end)
	start := t.next
	if start >= end {
		return
	}
	o.steps = grown(o.steps, stepKinds*(end-start+1))
	for i := range o.steps {
		o.steps[i].price = unreached
	}
	o.steps[o.kind(t.recent)] = step{recent: int32(t.recent)}
	for i := start; i < end; {
		i += o.advance(i, i-start)
	}
	o.replay(t, start, end)
}

// kind is the kind of a step with a last distance.
func (o *optimalParser) kind(recent int) int {
	if recent == o.m.stride {
		return strideStep
	}
	return anyStep
}

// advance goes on from position i, the step number at, by a literal and by every
// match. It returns how far to go to the next position worth a look.
func (o *optimalParser) advance(i, at int) int {
	here := o.steps[stepKinds*at:][:stepKinds]
	best := min(here[anyStep].price, here[strideStep].price)
	longest := 1
	searched := false
	for kind := range here {
		s := here[kind]
		if s.price == unreached || s.price > best+switchPrice {
			continue
		}
		o.literal(at, i, kind, &s)
		if i+4 > o.m.limit {
			continue
		}
		n := o.m.repeat(i, int(s.recent), load32(o.m.src, i)).n
		o.lengths(at, kind, &s, int(s.recent), 1, n)
		longest = max(longest, n)
		if n >= longMatch {
			continue
		}
		if !searched {
			o.search(i)
			searched = true
		}
		known := minNear - 1
		for _, f := range o.found {
			if f.distance != int(s.recent) {
				o.lengths(at, kind, &s, f.distance, max(known+1, shortest(f.distance)), f.n)
			}
			known = f.n
			longest = max(longest, f.n)
		}
	}
	if longest >= longMatch {
		return longest
	}
	return 1
}

// shortest is the shortest match worth a distance that is not the last one.
func shortest(d int) int {
	if d > maxNear {
		return worthFar
	}
	return minNear
}

// literal goes on by one literal.
func (o *optimalParser) literal(at, i, kind int, s *step) {
	v := o.m.src[i]
	if o.prices.deltas {
		v -= o.m.src[i-int(s.recent)]
	}
	price := s.price + o.prices.lit[v]
	if s.lits > 0 && s.lits%maxCommandLiterals == 0 && s.lits < minLongLiterals {
		price += o.prices.cmd[commandRepeat|maxCommandLiterals]
	}
	if next := &o.steps[stepKinds*(at+1)+kind]; price < next.price {
		*next = step{price: price, recent: s.recent, lits: min(s.lits+1, minLongLiterals)}
	}
}

// search lists the matches of position i, each longer and farther than the one
// before it.
func (o *optimalParser) search(i int) {
	o.found = o.found[:0]
	o.m.enter(i)
	known := minNear
	if o.m.stride != 0 {
		if n := o.m.lenAt(i, o.m.stride); n > known {
			o.found = append(o.found, match{n: n, distance: o.m.stride})
			known = n
		}
	}
	c := int(o.m.chain[i])
	for range optimalDepth {
		d := i - c
		if d < minDistance && d > 0 {
			d *= (minDistance + d - 1) / d
		}
		if d > 0 && d <= i && i+known < o.m.limit && load32(o.m.src, i+known-3) == load32(o.m.src, i+known-3-d) {
			if n := o.m.lenAt(i, d); n > known && n >= shortest(d) {
				o.found = append(o.found, match{n: n, distance: d})
				known = n
			}
		}
		if c == 0 || known >= longMatch {
			return
		}
		c = int(o.m.chain[c])
	}
}

// lengths goes on by matches of first to last bytes at distance d, or by the
// longest alone where that is long.
func (o *optimalParser) lengths(at, kind int, s *step, d, first, last int) {
	if last >= longMatch {
		first = last
	}
	lits := int(s.lits)
	switch {
	case lits >= minLongLiterals:
		lits = 0
	case lits > 0:
		lits = (lits-1)%maxCommandLiterals + 1
	}
	repeat := d == int(s.recent)
	to := o.kind(d)
	for n := first; n <= last; n++ {
		price := s.price
		switch {
		case n < minLongNear && repeat:
			price += o.prices.cmd[commandRepeat|min(n, maxCommandMatch)<<3|lits] + o.prices.more[n]
		case n < minLongNear && d <= maxNear:
			price += o.prices.cmd[min(n, maxCommandMatch)<<3|lits] + o.prices.more[n] + o.prices.high[d>>8] + o.prices.low[d&255]
		default:
			if lits > 0 {
				price += o.prices.cmd[commandRepeat|lits]
			}
			switch {
			case d <= maxNear:
				price += o.prices.cmd[commandLongNear] + 8*priceBit + o.prices.high[d>>8] + o.prices.low[d&255]
			case n < minLongFar:
				price += o.prices.cmd[n-farBias] + 24*priceBit
			default:
				price += o.prices.cmd[commandLongFar] + 32*priceBit
			}
		}
		if next := &o.steps[stepKinds*(at+n)+to]; price < next.price {
			*next = step{price: price, recent: int32(d), n: int32(n), from: int16(kind)}
		}
	}
}

// replay adds to t the matches of the cheapest way to end.
func (o *optimalParser) replay(t *chunkTables, start, end int) {
	o.path = o.path[:0]
	kind := anyStep
	if last := o.steps[len(o.steps)-stepKinds:]; last[strideStep].price < last[anyStep].price {
		kind = strideStep
	}
	for i := end; i > start; {
		s := &o.steps[stepKinds*(i-start)+kind]
		if s.n == 0 {
			i--
			continue
		}
		o.path = append(o.path, placedMatch{match{n: int(s.n), distance: int(s.recent)}, i - int(s.n)})
		i -= int(s.n)
		kind = int(s.from)
	}
	for _, s := range slices.Backward(o.path) {
		t.match(s.at, s.n, s.distance)
	}
}
