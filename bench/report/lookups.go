package main

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"example.com/tracecache/bench"
	"example.com/tracecache/internal/gen"
	"example.com/tracecache/pod"
)

// sources are what look-ups are measured on: three sizes in two shapes, and what
// real binaries there are.
func (r *report) sources() (all []bench.Source) {
	for n := max(r.n/100, 1000); n <= r.n; n *= 10 {
		all = append(all, bench.Source{N: n}, bench.Source{N: n, Shape: gen.Uniform})
	}
	return append(all, bench.Source{Data: "go"}, bench.Source{Data: "libllvm"})
}

// eachSource makes the contenders of each source and lets go of them afterwards.
func (r *report) eachSource(f func(name string, l *bench.Lookups) error) error {
	for _, s := range r.sources() {
		m, err := s.Model()
		if errors.Is(err, bench.ErrNotHere) {
			continue
		}
		if err != nil {
			return err
		}
		file, err := bench.WriteFile(r.dir, m, pod.MethodLZ4)
		if err != nil {
			return err
		}
		l, err := bench.NewLookups(m, file, false)
		if err != nil {
			return err
		}
		name := s.Data
		if name == "" {
			name = s.ShapeName()
		}
		m = nil
		runtime.GC()
		if err := f(fmt.Sprintf("%s, %s", bench.Count(l.N), name), l); err != nil {
			return err
		}
	}
	return nil
}

// lookups prints the tables of single look-ups, of memory and of batches.
func (r *report) lookups() error {
	single, index, batches := &table{}, &table{}, &table{}
	single.row("symbols", "look-up", "tracecache", "exact index", "Go map", "sort.Search", "BinarySearchFunc", "sort.Search, Go strings",
		"tracecache / Go map", "tracecache / sort.Search", "exact index / Go map")
	index.row("symbols", "tracecache", "exact index", "Go map", "Go strings")
	batches.row("symbols", "order", "Resolve", "ResolveBatch", "Find", "FindBatch", "exact index", "its batch",
		"ResolveBatch / Resolve, random", "FindBatch / Find, random", "exact batch / single, random")
	err := r.eachSource(func(name string, l *bench.Lookups) error {
		if err := r.single(single, name, l); err != nil {
			return err
		}
		bytes := map[string]string{}
		for _, c := range l.Resolvers {
			bytes[c.Impl] = fmt.Sprintf("%.1f", c.Index)
		}
		index.row(name, bytes["tracecache"], bytes["exactindex"], bytes["gomap"], bytes["sortslice"])
		return r.batch(batches, name, l)
	})
	fmt.Fprintf(r.out, "\n## One look-up, random order, ns, name used\n\n%s", single)
	fmt.Fprintf(r.out, "\n## Memory, bytes per symbol\n\nBeside the decoded sections; for the Go map and the Go strings all but the names' bytes.\n\n%s", index)
	fmt.Fprintf(r.out, "\n## Many look-ups in one call, ns for each address\n\n%s", batches)
	return err
}

// single adds the rows of one source to the table of look-ups.
func (r *report) single(t *table, name string, l *bench.Lookups) error {
	for _, op := range []struct {
		name       string
		contenders []bench.Contender
		addrs      []uint64
	}{
		{"exact", l.Resolvers, l.Exact.Random}, {"floor", l.Finders, l.Floor.Random},
		{"exact, miss", l.Resolvers, l.Miss}, {"floor, miss", l.Finders, l.Outside},
	} {
		var all []stream
		for _, c := range op.contenders {
			all = append(all, stream{c.Impl, c, op.addrs})
		}
		s, err := r.interleave(all)
		if err != nil {
			return err
		}
		own := s["tracecache"]
		t.row(name, op.name, own.ns(), s["exactindex"].ns(), s["gomap"].ns(), s["sortsearch"].ns(), s["binarysearchfunc"].ns(), s["sortslice"].ns(),
			ratio(own, s["gomap"]), ratio(own, s["sortsearch"]), ratio(s["exactindex"], s["gomap"]))
	}
	return nil
}

// batch adds the rows of one source to the table of batches.
func (r *report) batch(t *table, name string, l *bench.Lookups) error {
	var all []stream
	for _, c := range l.Batches {
		q := l.QueriesOf(c)
		all = append(all, stream{"random " + c.Impl, c, q.Random}, stream{"sorted " + c.Impl, c, q.Sorted})
	}
	s, err := r.interleave(all)
	if err != nil {
		return err
	}
	for _, order := range []string{"random", "sorted"} {
		of := func(impl string) series { return s[order+" "+impl] }
		over := func(impl, single string) string { return ratio(of(impl), s["random "+single]) }
		t.row(name, order, of("resolve").ns(), of("resolvebatch").ns(), of("find").ns(), of("findbatch").ns(),
			of("exactindex").ns(), of("exactindexbatch").ns(),
			over("resolvebatch", "resolve"), over("findbatch", "find"), over("exactindexbatch", "exactindex"))
	}
	return nil
}

// stream is a contender and what it is asked.
type stream struct {
	name string
	bench.Contender
	addrs []uint64
}

// parts is how many parts a stream is cut into. Each round takes the next one, so
// that no sweep finds in a cache what the one before it has left.
const parts = 4

// interleave times the contenders, in ns for each address, and compares the sums of
// those that are asked the same.
func (r *report) interleave(streams []stream) (map[string]series, error) {
	want := map[*uint64]uint64{} // sums, by the first address of a part
	return rounds(r.rounds, streams, func(s stream) string { return s.name }, func(s stream, round int) (float64, error) {
		n := len(s.addrs) / parts
		part := s.addrs[round%parts*n:][:n]
		start := time.Now()
		sum := s.Sweep(part)
		took := time.Since(start)
		if w, ok := want[&part[0]]; ok && sum != w {
			return 0, fmt.Errorf("sum of answers %d, expected %d", sum, w)
		}
		want[&part[0]] = sum
		return float64(took.Nanoseconds()) / float64(n), nil
	})
}
