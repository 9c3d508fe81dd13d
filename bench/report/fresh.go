package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"example.com/tracecache/bench"
	"example.com/tracecache/pod"
)

// measureArg makes a process do one piece of work and print a figure.
const measureArg = "measure"

// order says what a fresh process is to do, and is its argument as JSON.
type order struct {
	Impl   string
	Target bench.Target
	N      int        // symbols, for the writers
	Method pod.Method // for the writers
}

// figure is what it prints.
type figure struct {
	Ns     float64
	Bytes  uint64 // allocated by the work
	Allocs uint64
}

// fresh has a new process do o.
func fresh(o order) (figure, error) {
	arg, err := json.Marshal(o)
	if err != nil {
		return figure{}, err
	}
	self, err := os.Executable()
	if err != nil {
		return figure{}, err
	}
	var f figure
	var stderr strings.Builder
	cmd := exec.Command(self, measureArg, string(arg))
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return f, fmt.Errorf("%s: %w: %s", o.Impl, err, strings.TrimSpace(stderr.String()))
	}
	return f, json.Unmarshal(out, &f)
}

// measure is the new process.
func measure(args []string, stdout io.Writer) error {
	var o order
	if err := json.Unmarshal([]byte(strings.Join(args, " ")), &o); err != nil {
		return err
	}
	work, err := prepare(o)
	if err != nil {
		return err
	}
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	err = work()
	took := time.Since(start)
	if err != nil {
		return err
	}
	runtime.ReadMemStats(&after)
	return json.NewEncoder(stdout).Encode(figure{
		float64(took.Nanoseconds()), after.TotalAlloc - before.TotalAlloc, after.Mallocs - before.Mallocs,
	})
}

func prepare(o order) (bench.Work, error) {
	if o.Impl != "write" && o.Impl != "plainwrite" {
		return o.Target.Prepare(o.Impl)
	}
	m, err := bench.Source{N: o.N}.Model()
	if err != nil {
		return nil, err
	}
	w := bench.NewWriting(m, o.Method)
	if o.Impl == "write" {
		return func() error {
			_, err := w.Write()
			return err
		}, nil
	}
	plain, err := w.Plain(o.Target.Path)
	return func() error {
		_, err := plain.PlainWrite()
		return err
	}, err
}

// compareFresh runs the pieces of work interleaved, each in a process of its own,
// and returns their times and the last figure of each. target may differ from
// round to round.
func (r *report) compareFresh(impls []string, o func(round int) order) (map[string]series, map[string]figure, error) {
	last := map[string]figure{}
	s, err := rounds(r.rounds, impls, strings.Clone, func(impl string, round int) (float64, error) {
		order := o(round)
		order.Impl = impl
		f, err := fresh(order)
		last[impl] = f
		return f.Ns, err
	})
	return s, last, err
}
