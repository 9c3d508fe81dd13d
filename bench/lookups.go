package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"example.com/tracecache/lazy"
	"example.com/tracecache/pod"
	"example.com/tracecache/trace"
)

// Contender answers look-ups.
type Contender struct {
	Impl  string
	Sweep func(addrs []uint64) (sum uint64) // looks all of them up
	Index float64                           // bytes per symbol, see the package comment

	resolve func(addr uint64) (string, bool)
	find    func(pc uint64) (lazy.Symbol, bool)
}

// Lookups are the contenders for the symbols of one source, and what they look up.
type Lookups struct {
	N       int      // symbols
	Exact   Queries  // hits
	Floor   Queries  // hits
	Miss    []uint64 // addresses in functions, where none starts
	Outside []uint64 // addresses in holes and outside every module, half of each

	Resolvers []Contender // exact look-ups
	Finders   []Contender // floor look-ups
	Batches   []Contender // the batch calls beside the single ones
}

// NewLookups makes the contenders for the model m, of which file is a cache, and
// compares their answers; an error says where they differ. few leaves out all but
// tracecache and sortsearch, to save memory.
func NewLookups(m *trace.Model, file File, few bool) (*Lookups, error) {
	symbols, mods := once(m.Symbols), newModules(m)
	l := &Lookups{N: len(m.Symbols)}
	heap := newHeap(l.N)
	raw := float64(file.DecodedOf(pod.SectionStringTable, pod.SectionSymbols)) / float64(l.N)
	single, err := load(file.Path)
	if err != nil {
		return nil, err
	}
	l.addSymbols("tracecache", single, heap.grown()-raw)
	l.Finders = append(l.Finders, Contender{
		Impl: "tracecache", find: single.Find, Index: l.Resolvers[0].Index,
		Sweep: func(pcs []uint64) uint64 { return sweepFind(single, pcs) },
	})
	l.addBatches("resolve", single)
	l.addFindBatches(single)
	if !few {
		exact, err := load(file.Path, lazy.WithExactIndex())
		if err != nil {
			return nil, err
		}
		l.addSymbols("exactindex", exact, heap.grown()-raw)
		l.addBatches("exactindex", exact)
		byAddress := newGoMap(symbols)
		l.addResolver("gomap", byAddress.resolve, byAddress.sweepResolve, heap.grown())
	}
	recs := newRecords(symbols, mods)
	heap.grown()
	l.addResolver("sortsearch", recs.resolve, recs.sweepResolve, 0)
	l.addFinder("sortsearch", recs.find, recs.sweepFind, 0)
	if !few {
		other := binarySearch{recs}
		l.addResolver("binarysearchfunc", other.resolve, other.sweepResolve, 0)
		l.addFinder("binarysearchfunc", other.find, other.sweepFind, 0)
		s := slice{slices.Clone(symbols), mods}
		index := heap.grown()
		l.addResolver("sortslice", s.resolve, s.sweepResolve, index)
		l.addFinder("sortslice", s.find, s.sweepFind, index)
	}
	l.draw(symbols, recs)
	return l, l.check(single)
}

func (l *Lookups) addResolver(impl string, resolve func(uint64) (string, bool), sweep func([]uint64) uint64, index float64) {
	l.Resolvers = append(l.Resolvers, Contender{Impl: impl, Sweep: sweep, Index: index, resolve: resolve})
}

func (l *Lookups) addFinder(impl string, find func(uint64) (lazy.Symbol, bool), sweep func([]uint64) uint64, index float64) {
	l.Finders = append(l.Finders, Contender{Impl: impl, Sweep: sweep, Index: index, find: find})
}

func (l *Lookups) addSymbols(impl string, s *lazy.Symbols, index float64) {
	l.addResolver(impl, s.Resolve, func(addrs []uint64) uint64 { return sweepResolve(s, addrs) }, index)
}

// batch is the number of addresses of one batch call.
const batch = 1024

func (l *Lookups) addBatches(impl string, s *lazy.Symbols) {
	dst := make([]string, batch)
	l.Batches = append(l.Batches,
		Contender{Impl: impl, Sweep: func(addrs []uint64) uint64 { return sweepResolve(s, addrs) }},
		Contender{Impl: impl + "batch", Sweep: func(addrs []uint64) uint64 { return sweepResolveBatch(s, addrs, dst) }})
}

func (l *Lookups) addFindBatches(s *lazy.Symbols) {
	dst := make([]lazy.Symbol, batch)
	l.Batches = append(l.Batches,
		Contender{Impl: "find", Sweep: func(pcs []uint64) uint64 { return sweepFind(s, pcs) }},
		Contender{Impl: "findbatch", Sweep: func(pcs []uint64) uint64 { return sweepFindBatch(s, pcs, dst) }})
}

// load loads the symbols of a cache. They stay valid.
func load(path string, opts ...lazy.Option) (*lazy.Symbols, error) {
	c, err := lazy.Open(path, opts...)
	if err != nil {
		return nil, err
	}
	err = c.Load(context.Background(), pod.SectionSymbols)
	var s *lazy.Symbols
	if err == nil {
		s, err = c.Symbols()
	}
	return s, errors.Join(err, c.Close())
}

// QueriesOf are the hits that a contender of Batches is to be asked.
func (l *Lookups) QueriesOf(c Contender) Queries {
	if strings.HasPrefix(c.Impl, "find") {
		return l.Floor
	}
	return l.Exact
}

// heap tells how the live heap grows, per symbol.
type heap struct {
	n    int
	last uint64
}

func newHeap(n int) *heap {
	h := &heap{n: max(n, 1)}
	h.grown()
	return h
}

// grown is the growth since the last call, in bytes per symbol.
func (h *heap) grown() float64 {
	runtime.GC()
	runtime.GC() // what pools hold goes in the second one
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	by := int64(stats.HeapAlloc) - int64(h.last)
	h.last = stats.HeapAlloc
	return float64(by) / float64(h.n)
}

// checked is how many queries of each kind are compared one by one; of all the
// others the sums are.
const checked = 1 << 15

// check makes sure that the contenders give the same answers, and that these are
// hits and misses as they should be.
func (l *Lookups) check(s *lazy.Symbols) error {
	for _, q := range []struct {
		addrs []uint64
		hit   bool
	}{{l.Exact.Random, true}, {l.Miss, false}} {
		for _, addr := range q.addrs[:checked] {
			want, ok := l.Resolvers[0].resolve(addr)
			if ok != q.hit {
				return fmt.Errorf("bench: %#x: hit is %v, expected %v", addr, ok, q.hit)
			}
			for _, c := range l.Resolvers[1:] {
				if name, ok := c.resolve(addr); ok != q.hit || name != want {
					return fmt.Errorf("bench: %#x: %q, %s %q", addr, want, c.Impl, name)
				}
			}
		}
	}
	for _, q := range []struct {
		pcs []uint64
		hit bool
	}{{l.Floor.Random, true}, {l.Outside, false}} {
		for _, pc := range q.pcs[:checked] {
			want, ok := l.Finders[0].find(pc)
			if ok != q.hit {
				return fmt.Errorf("bench: %#x: hit is %v, expected %v", pc, ok, q.hit)
			}
			for _, c := range l.Finders[1:] {
				if sym, ok := c.find(pc); ok != q.hit || sym != want {
					return fmt.Errorf("bench: %#x: %+v, %s %+v", pc, want, c.Impl, sym)
				}
			}
		}
	}
	return l.checkBatches(s)
}

// checkBatches compares the batch calls with the single ones, hits and misses
// mixed.
func (l *Lookups) checkBatches(s *lazy.Symbols) error {
	names, syms := make([]string, 2*batch), make([]lazy.Symbol, 2*batch)
	for i := 0; i < checked; i += batch {
		addrs := slices.Concat(l.Exact.Random[i:i+batch], l.Miss[i:i+batch])
		hits := s.ResolveBatch(addrs, names)
		for k, addr := range addrs {
			if name, _ := s.Resolve(addr); name != names[k] || hits != batch {
				return fmt.Errorf("bench: %#x: %q, in a batch %q, %d hits", addr, name, names[k], hits)
			}
		}
		pcs := slices.Concat(l.Floor.Random[i:i+batch], l.Outside[i:i+batch])
		hits = s.FindBatch(pcs, syms)
		for k, pc := range pcs {
			if sym, _ := s.Find(pc); sym != syms[k] || hits != batch {
				return fmt.Errorf("bench: %#x: %+v, in a batch %+v, %d hits", pc, sym, syms[k], hits)
			}
		}
	}
	return nil
}
