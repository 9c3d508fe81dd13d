// Peers compares tracecache with other symbolizers that Go programs can use, on the
// toolchain's own go binary:
//
//	go -C bench/peers run .
//
// Each gives the function of the same 100,000 random addresses inside functions.
// Answers are compared first, with those of tracecache, and differences counted:
// a peer may cut names or know functions that the symbol table does not have. Then
// they are timed, interleaved; a name counts as used when its length and first byte
// have been read. Loading is from the file to the first answer; memory is the live
// heap that stays.
//
//   - debug/gosym, of the standard library, on the binary's pclntab.
//   - delve's pkg/proc, which loads the binary as a debugger does.
//   - debug/elf with sort.Search on the symbol table, sorted: the plain way.
//   - github.com/google/pprof: its search in the output of nm is internal and is
//     reached by its driver only, which symbolizes a whole profile. Its figures are
//     those of a run with all addresses less one with a single address.
package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"example.com/tracecache/bench"
	"example.com/tracecache/convert"
	"example.com/tracecache/lazy"
	"example.com/tracecache/pod"
	"example.com/tracecache/trace"
	"example.com/tracecache/writer"
)

const (
	queries = 100_000
	rounds  = 5
)

// peer loads a binary, or its cache, and then names addresses.
type peer struct {
	name string
	load func() (symbolizer, error)
}

// symbolizer names addresses: empty where there is no function. It is called with
// many addresses, so that the calls inside are direct.
type symbolizer func(pcs []uint64, names []string)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run() error {
	dir, err := os.MkdirTemp("", "tracecache-peers-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary, err := bench.Binary("go")
	if err != nil {
		return err
	}
	start := time.Now()
	m, err := convert.Build(context.Background(), []convert.Input{{Path: binary}})
	if err != nil {
		return err
	}
	cache := filepath.Join(dir, "go.ztac")
	if err := writer.WriteFile(cache, m, writer.WithCodec(pod.MethodLZ4)); err != nil {
		return err
	}
	fmt.Printf("%s/%s, %d cores, %s, the go binary, %d symbols, cache made in %d ms. Medians of %d interleaved rounds.\n\n",
		runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0), runtime.Version(), len(m.Symbols), time.Since(start).Milliseconds(), rounds)
	pcs := draw(m.Symbols)
	peers := []peer{
		{"tracecache", func() (symbolizer, error) { return loadCache(cache) }},
		{"debug/elf, sort.Search", func() (symbolizer, error) { return loadELF(binary) }},
		{"debug/gosym", func() (symbolizer, error) { return loadGosym(binary) }},
		{"delve pkg/proc", func() (symbolizer, error) { return loadDelve(binary) }},
	}
	return compare(peers, pcs, binary)
}

// draw is addresses inside functions.
func draw(symbols []trace.Symbol) (pcs []uint64) {
	rng := rand.New(rand.NewPCG(1, 1))
	for len(pcs) < queries {
		i := rng.IntN(len(symbols) - 1)
		if room := symbols[i+1].Address - symbols[i].Address; symbols[i].Name != "" && room > 0 && room < 1<<20 {
			pcs = append(pcs, symbols[i].Address+rng.Uint64N(room))
		}
	}
	return pcs
}

func loadCache(path string) (symbolizer, error) {
	c, err := lazy.Open(path)
	if err != nil {
		return nil, err
	}
	symbols, err := c.Symbols()
	if err != nil {
		return nil, err
	}
	return func(pcs []uint64, names []string) {
		for i, pc := range pcs {
			sym, _ := symbols.Find(pc)
			names[i] = sym.Name
		}
	}, c.Close()
}

// result is what is known of a peer.
type result struct {
	lookup  []float64 // ns
	load    []float64 // ms
	heap    float64   // MB
	differs int
	missing int
}

func compare(peers []peer, pcs []uint64, binary string) error {
	results := map[string]*result{}
	loaded := map[string]symbolizer{}
	want, names := make([]string, len(pcs)), make([]string, len(pcs))
	for _, p := range peers {
		before := heap()
		s, err := p.load()
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		r := &result{heap: (heap() - before) / 1e6}
		results[p.name], loaded[p.name] = r, s
		s(pcs, names)
		if p.name == "tracecache" {
			copy(want, names)
		}
		r.count(want, names)
	}
	for range rounds {
		for _, p := range peers {
			r := results[p.name]
			start := time.Now()
			s, err := p.load()
			if err != nil {
				return err
			}
			s(pcs[:1], names[:1])
			r.load = append(r.load, float64(time.Since(start).Nanoseconds())/1e6)
			start = time.Now()
			loaded[p.name](pcs, names)
			for _, name := range names {
				if name != "" {
					sink += uint64(len(name)) + uint64(name[0])
				}
			}
			r.lookup = append(r.lookup, float64(time.Since(start).Nanoseconds())/float64(len(pcs)))
		}
	}
	order := []string{}
	for _, p := range peers {
		order = append(order, p.name)
	}
	const pprof = "google/pprof, driver"
	if r, err := viaPprof(binary, pcs, want); err != nil {
		fmt.Printf("google/pprof: not measured: %v\n\n", err)
	} else {
		results[pprof] = r
		order = append(order, pprof)
	}
	fmt.Println("| | ns a look-up | / tracecache | first answer, ms | live heap, MB | other name | no name |")
	fmt.Println("|---|--:|--:|--:|--:|--:|--:|")
	for _, name := range order {
		r := results[name]
		kept := "–"
		if r.heap > 0 {
			kept = fmt.Sprintf("%.1f", r.heap)
		}
		fmt.Printf("| %s | %.0f | %.1f | %.1f | %s | %d | %d |\n", name, median(r.lookup),
			median(r.lookup)/median(results["tracecache"].lookup), median(r.load), kept, r.differs, r.missing)
	}
	return nil
}

// sink keeps the sums alive.
var sink uint64

// count counts the names that differ from those wanted, or are missing.
func (r *result) count(want, names []string) {
	for i := range want {
		switch {
		case names[i] == want[i]:
		case names[i] == "":
			r.missing++
		case strings.TrimSuffix(names[i], ".abi0") != strings.TrimSuffix(want[i], ".abi0"):
			r.differs++
		}
	}
}

func median(v []float64) float64 { return slices.Sorted(slices.Values(v))[len(v)/2] }

func heap() float64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc)
}
