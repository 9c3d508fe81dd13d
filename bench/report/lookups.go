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

func (r *report) lookups() error {
	fmt.Fprintf(r.out, "\n## One look-up, random order, ns, name used\n\n")
	t := &table{}
	t.row("symbols", "look-up", "tracecache", "exact index", "Go map", "sort.Search", "BinarySearchFunc", "sort.Search, Go strings",
		"tracecache / Go map", "tracecache / sort.Search", "exact index / Go map")
	index := &table{}
	index.row("bytes per symbol", "tracecache", "exact index", "Go map", "Go strings")
	err := r.eachSource(func(name string, l *bench.Lookups) error {
		for _, op := range []struct {
			name       string
			contenders []bench.Contender
			queries    []uint64
		}{{"exact", l.Resolvers, l.Exact.Random}, {"floor", l.Finders, l.Floor.Random}, {"exact, miss", l.Resolvers, l.Miss}, {"floor, miss", l.Finders, l.Outside}} {
			s, err := r.interleave(op.contenders, func(bench.Contender) []uint64 { return op.queries })
			if err != nil {
				return err
			}
			own := s["tracecache"]
			t.row(name, op.name, own.ns(), s["exactindex"].ns(), s["gomap"].ns(), s["sortsearch"].ns(), s["binarysearchfunc"].ns(), s["sortslice"].ns(),
				ratio(own, s["gomap"]), ratio(own, s["sortsearch"]), ratio(s["exactindex"], s["gomap"]))
		}
		bytes := map[string]string{}
		for _, c := range l.Resolvers {
			bytes[c.Impl] = fmt.Sprintf("%.1f", c.Index)
		}
		index.row(name, bytes["tracecache"], bytes["exactindex"], bytes["gomap"], bytes["sortslice"])
		return nil
	})
	fmt.Fprintf(r.out, "%s\nMemory beside the decoded sections, for the Go map and the Go strings all but the\nnames' bytes:\n\n%s", t, index)
	return err
}

func (r *report) batches() error {
	fmt.Fprintf(r.out, "\n## Many look-ups in one call, ns for each address\n\n")
	t := &table{}
	t.row("symbols", "order", "Resolve", "ResolveBatch", "Find", "FindBatch", "exact index", "its batch",
		"ResolveBatch / Resolve, random", "FindBatch / Find, random", "exact batch / single, random")
	err := r.eachSource(func(name string, l *bench.Lookups) error {
		type ordered struct {
			bench.Contender
			sorted bool
		}
		var all []ordered
		for _, c := range l.Batches {
			all = append(all, ordered{c, false}, ordered{c, true})
		}
		key := func(c ordered) string { return fmt.Sprint(c.Impl, c.sorted) }
		want := map[string]uint64{}
		for i, c := range l.Batches {
			single := l.Batches[i&^1]
			want[c.Impl] = single.Sweep(l.QueriesOf(single).Random)
		}
		s, err := rounds(r.rounds, all, key, func(c ordered, _ int) (float64, error) {
			addrs := l.QueriesOf(c.Contender).Random
			if c.sorted {
				addrs = l.QueriesOf(c.Contender).Sorted
			}
			return sweep(c.Contender, addrs, want[c.Impl])
		})
		if err != nil {
			return err
		}
		for _, order := range []struct {
			name   string
			sorted bool
		}{{"random", false}, {"sorted", true}} {
			of := func(impl string) series { return s[fmt.Sprint(impl, order.sorted)] }
			single := func(impl string) series { return s[fmt.Sprint(impl, false)] }
			t.row(name, order.name, of("resolve").ns(), of("resolvebatch").ns(), of("find").ns(), of("findbatch").ns(),
				of("exactindex").ns(), of("exactindexbatch").ns(), ratio(of("resolvebatch"), single("resolve")),
				ratio(of("findbatch"), single("find")), ratio(of("exactindexbatch"), single("exactindex")))
		}
		return nil
	})
	fmt.Fprint(r.out, t)
	return err
}

// interleave times the contenders on what of gives each, and compares the sums.
func (r *report) interleave(contenders []bench.Contender, of func(bench.Contender) []uint64) (map[string]series, error) {
	want := contenders[0].Sweep(of(contenders[0]))
	name := func(c bench.Contender) string { return c.Impl }
	return rounds(r.rounds, contenders, name, func(c bench.Contender, _ int) (float64, error) {
		return sweep(c, of(c), want)
	})
}

// sweep is ns for each address. The sum has to be want.
func sweep(c bench.Contender, addrs []uint64, want uint64) (float64, error) {
	start := time.Now()
	sum := c.Sweep(addrs)
	took := time.Since(start)
	if sum != want {
		return 0, fmt.Errorf("sum of answers %d, expected %d", sum, want)
	}
	return float64(took.Nanoseconds()) / float64(len(addrs)), nil
}
