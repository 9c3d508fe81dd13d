package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"example.com/tracecache/bench"
	"example.com/tracecache/pod"
)

// columns are what grows: a name for growth.csv, a heading for growth.md, and
// whether it is a time of milliseconds.
var columns = []struct {
	name, heading string
	ms            bool
}{
	{"first", "first answer, ms", true},
	{"load", "load, ms", true},
	{"plainloop", "plain loop, ms", true},
	{"write", "write, ms", true},
	{"resolve", "Resolve, ns", false},
	{"resolvebatch", "ResolveBatch, ns", false},
	{"sortsearch", "sort.Search, ns", false},
}

// growth measures n = 1e3 to ten times -n, 1e7, and writes growth.csv (nanoseconds) and growth.md.
func (r *report) growth(dir string) error {
	debug.SetGCPercent(25) // 6 GB are to do
	head := []string{"n"}
	md := &table{}
	heading := []string{"n"}
	for _, c := range columns {
		head = append(head, c.name)
		heading = append(heading, c.heading)
	}
	md.row(heading...)
	lines := [][]string{head}
	for n := 1000; n <= 10*r.n; n *= 10 {
		all, err := r.grown(n)
		if err != nil {
			return err
		}
		line, row := []string{strconv.Itoa(n)}, []string{bench.Count(n)}
		for _, c := range columns {
			s := all[c.name]
			line = append(line, strconv.FormatFloat(s.median(), 'f', 1, 64))
			if c.ms {
				row = append(row, s.ms())
			} else {
				row = append(row, s.ns())
			}
		}
		lines = append(lines, line)
		md.row(row...)
		fmt.Fprintln(r.out, strings.Join(row, "  "))
	}
	text := fmt.Sprintf("# How cost grows\n\nWritten by `go run ./bench/report -growth bench`. %s. Medians of %d rounds; n symbols of\n"+
		"package gen, clustered, LZ4. First answer, load (strings and symbols), plain loop and\n"+
		"write each from a fresh process; look-ups in random order, name used.\n\n%s\n![plot](growth.svg)\n", machine(), r.rounds, md)
	if err := os.WriteFile(filepath.Join(dir, "growth.md"), []byte(text), 0o644); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(dir, "growth.csv"))
	if err != nil {
		return err
	}
	return errors.Join(csv.NewWriter(f).WriteAll(lines), f.Close())
}

// grown measures one n.
func (r *report) grown(n int) (map[string]series, error) {
	m, err := bench.Source{N: n}.Model()
	if err != nil {
		return nil, err
	}
	f, err := bench.WriteFile(r.dir, m, pod.MethodLZ4)
	if err != nil {
		return nil, err
	}
	var targets []bench.Target
	for round := range r.rounds {
		targets = append(targets, bench.NewTarget(f, m, (round+1)*n/(r.rounds+2)))
	}
	l, err := bench.NewLookups(m, f, true)
	if err != nil {
		return nil, err
	}
	var sweeps []stream
	for _, c := range append(l.Batches[:2:2], l.Resolvers[len(l.Resolvers)-1]) { // resolve, resolvebatch, sortsearch
		sweeps = append(sweeps, stream{c.Impl, c, l.Exact.Random})
	}
	all, err := r.interleave(sweeps)
	if err != nil {
		return nil, err
	}
	m, l, sweeps = nil, nil, nil
	debug.FreeOSMemory()
	runtime.GC()
	files, _, err := r.compareFresh([]string{"lookup", "loadsections", "plainloop", "write"}, func(round int) order {
		return order{Target: targets[round], N: n, Method: pod.MethodLZ4}
	})
	if err != nil {
		return nil, err
	}
	all["first"], all["load"], all["plainloop"], all["write"] = files["lookup"], files["loadsections"], files["plainloop"], files["write"]
	return all, os.Remove(f.Path)
}
