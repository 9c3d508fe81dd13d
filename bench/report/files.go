package main

import (
	"fmt"
	"strings"
	"time"

	"example.com/tracecache/bench"
	"example.com/tracecache/pod"
)

// codecs are the methods that loading and writing are measured with.
var codecs = []struct {
	name   string
	method pod.Method
}{{"none", pod.MethodNone}, {"LZ4", pod.MethodLZ4}, {"Zstandard", pod.MethodZstd}, {"Oodle", pod.MethodOodle}}

// files is all that reads or writes a file.
func (r *report) files() error {
	fmt.Fprintf(r.out, "\n## First answer, load, model, write, open\n\nEach figure but those of Open from a process of its own.\n\n")
	t := &table{}
	t.row("what", "ms", "beside it", "ms", "ratio", "MB allocated", "beside it")
	defer func() { fmt.Fprint(r.out, t) }()
	line := func(what, impl, peer, peerName string, o func(round int) order) error {
		s, last, err := r.compareFresh([]string{impl, peer}, o)
		if err != nil {
			return err
		}
		t.row(what, s[impl].ms(), peerName, s[peer].ms(), ratio(s[impl], s[peer]), mb(last[impl]), mb(last[peer]))
		return nil
	}
	m, err := bench.Source{N: r.n}.Model()
	if err != nil {
		return err
	}
	n := bench.Count(r.n)
	var perSymbol string
	for _, c := range codecs {
		f, err := bench.WriteFile(r.dir, m, c.method)
		if err != nil {
			return err
		}
		perSymbol += fmt.Sprintf(" %s %.1f,", c.name, float64(f.Size)/float64(r.n))
		o := func(round int) order {
			return order{Target: bench.NewTarget(f, m, (round+1)*r.n/(r.rounds+2)), N: r.n, Method: c.method}
		}
		if c.method == pod.MethodLZ4 {
			for _, row := range [][3]string{
				{"first answer, Lookup", "lookup", "plain loop"},
				{"first answer, whole load", "load", "plain loop"},
			} {
				if err := line(row[0]+", n = "+n, row[1], "plainloop", row[2], o); err != nil {
					return err
				}
			}
			if err := line("first answer, Lookup, n = "+n, "lookup", "eagermap", "eager Go map", o); err != nil {
				return err
			}
		}
		rows := [][4]string{{"load strings and symbols", "loadsections", "plainloop", "plain loop"}}
		if c.method == pod.MethodLZ4 || c.method == pod.MethodZstd { // others take long, and show no more
			rows = append(rows, [4]string{"write", "write", "plainwrite", "sort, compress, one core"})
		}
		if c.method == pod.MethodLZ4 {
			rows = append(rows, [4]string{"verify", "verify", "loadall", "load of all"})
		}
		for _, row := range rows {
			if err := line(fmt.Sprintf("%s, n = %s, %s", row[0], n, c.name), row[1], row[2], row[3], o); err != nil {
				return err
			}
		}
	}
	if err := r.model(line); err != nil {
		return err
	}
	if err := r.open(t); err != nil {
		return err
	}
	fmt.Fprintf(r.out, "Bytes per symbol in the file:%s.\n\n", strings.TrimSuffix(perSymbol, ","))
	return nil
}

// model compares making the whole model with loading every section.
func (r *report) model(line func(what, impl, peer, peerName string, o func(int) order) error) error {
	m, err := bench.Source{N: r.n, Callstacks: r.n / 10}.Model()
	if err != nil {
		return err
	}
	f, err := bench.WriteFile(r.dir, m, pod.MethodLZ4)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("model, n = %s, %s callstacks", bench.Count(r.n), bench.Count(r.n/10))
	return line(what, "model", "loadall", "load of all", func(int) order { return order{Target: bench.NewTarget(f, m, 0)} })
}

// opens is how often a file is opened for one figure.
const opens = 200

// open compares opening a large file with opening a small one.
func (r *report) open(t *table) error {
	type sized struct {
		name string
		work bench.Work
	}
	var files []sized
	for _, size := range []struct {
		name  string
		bytes int64
	}{{"1 MB", 1e6}, {"100 MB", 1e8}, {"1 GB", 1e9}} {
		f, err := bench.HugeFile(r.dir, size.bytes)
		if err != nil {
			return err
		}
		work, err := bench.Target{Path: f.Path}.Prepare("open")
		if err != nil {
			return err
		}
		files = append(files, sized{size.name, work})
	}
	s, err := rounds(r.rounds, files, func(f sized) string { return f.name }, func(f sized, _ int) (float64, error) {
		start := time.Now()
		for range opens {
			if err := f.work(); err != nil {
				return 0, err
			}
		}
		return float64(time.Since(start).Nanoseconds()) / opens, nil
	})
	if err != nil {
		return err
	}
	for _, f := range files[1:] {
		t.row("open and close, "+f.name, s[f.name].ms(), files[0].name, s[files[0].name].ms(), ratio(s[f.name], s[files[0].name]), "", "")
	}
	return nil
}

func mb(f figure) string { return fmt.Sprintf("%.1f", float64(f.Bytes)/1e6) }
