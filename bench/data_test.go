// Package bench measures tracecache beside the two things a Go program would use
// in its place. It holds benchmarks only:
//
//	go test -bench . ./bench
//
// takes a few minutes and less than 1 GB of memory. Names are key=value, so
// benchstat can lay out a table by any of them:
//
//	go test -bench 'Resolve|Find' -count 10 ./bench | benchstat -col /impl -
//
// The contenders, by the key impl, answer from the same symbols, a quarter of
// which are holes:
//
//   - tracecache is a lazy.Symbols of a cache in a file.
//   - gomap is a map[uint64]string of the symbols that have names. It gives exact
//     answers only.
//   - sortsearch is sort.Search over a slice of address and name, holes included,
//     in ascending order; a floor look-up searches the modules as well, for the
//     same bounds and the same module name.
//
// The symbols are those of package gen with a fixed seed, in clusters as a linker
// lays them. What is looked up, and in which random order, is made beforehand.
// Before a look-up is timed all contenders have given the same answer to all of
// it. A name counts as found when its length and first byte have been read. Files
// are read from the page cache.
package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/tracecache/internal/gen"
	"example.com/tracecache/lazy"
	"example.com/tracecache/pod"
	"example.com/tracecache/trace"
	"example.com/tracecache/writer"
)

// counts are the numbers of symbols, by the names that benchmarks have.
var counts = []struct {
	name string
	n    int
}{{"1e4", 1e4}, {"1e5", 1e5}, {"1e6", 1e6}}

var codecs = []struct {
	name   string
	method pod.Method
}{{"none", pod.MethodNone}, {"lz4", pod.MethodLZ4}, {"zstd", pod.MethodZstd}, {"oodle", pod.MethodOodle}}

// dir holds the files of one run.
var dir string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	var err error
	if dir, err = os.MkdirTemp("", "tracecache-bench-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	return m.Run()
}

// memo makes the value of each key once. Benchmarks run one after the other, so
// it takes no lock.
func memo[K comparable, V any](create func(testing.TB, K) V) func(testing.TB, K) V {
	values := map[K]V{}
	return func(tb testing.TB, k K) V {
		tb.Helper()
		v, ok := values[k]
		if !ok {
			v = create(tb, k)
			values[k] = v
		}
		return v
	}
}

// model has n symbols, a quarter of them holes, and a callstack for each hundred.
var model = memo(func(_ testing.TB, n int) *trace.Model {
	return gen.Model(gen.Config{Seed: 1, Symbols: n, Holes: n / 4, Callstacks: n / 100})
})

// cacheFile is a cache of model(n).
type cacheFile struct {
	path    string
	size    int64
	decoded int64 // bytes of all sections, decompressed
}

type fileKey struct {
	n      int
	method pod.Method
}

var file = memo(func(tb testing.TB, k fileKey) cacheFile {
	f := cacheFile{path: filepath.Join(dir, fmt.Sprintf("%d-%v.ztac", k.n, k.method))}
	require.NoError(tb, writer.WriteFile(f.path, model(tb, k.n), writer.WithCodec(k.method)))
	c, err := lazy.Open(f.path)
	require.NoError(tb, err)
	defer func() { require.NoError(tb, c.Close()) }()
	f.size = c.Size()
	for _, id := range pod.Sections {
		info, err := c.Info(id)
		require.NoError(tb, err)
		f.decoded += int64(info.Header.TotalRawSize)
	}
	return f
})
