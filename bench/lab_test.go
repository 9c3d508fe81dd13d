package bench

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/tracecache/internal/gen"
	"example.com/tracecache/pod"
	"example.com/tracecache/trace"
)

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

var modelOf = memo(func(tb testing.TB, s Source) *trace.Model {
	m, err := s.Model()
	if errors.Is(err, ErrNotHere) {
		tb.Skip(err)
	}
	require.NoError(tb, err)
	return m
})

type fileKey struct {
	source Source
	method pod.Method
}

var fileOf = memo(func(tb testing.TB, k fileKey) File {
	f, err := WriteFile(dir, modelOf(tb, k.source), k.method)
	require.NoError(tb, err)
	return f
})

var lookupsOf = memo(func(tb testing.TB, s Source) *Lookups {
	l, err := NewLookups(modelOf(tb, s), fileOf(tb, fileKey{s, pod.MethodLZ4}), false)
	require.NoError(tb, err)
	return l
})

// targetOf has the address of some function.
func targetOf(tb testing.TB, k fileKey) Target {
	symbols := modelOf(tb, k.source).Symbols
	i := len(symbols) / 3
	for symbols[i].Name == "" {
		i++
	}
	return Target{Path: fileOf(tb, k).Path, PC: symbols[i].Address, Name: symbols[i].Name}
}

var counts = []int{1e4, 1e5, 1e6}

// sources are what look-ups are measured on.
func sources() (all []Source) {
	for _, n := range counts {
		all = append(all, Source{N: n}, Source{N: n, Shape: gen.Uniform})
	}
	return append(all, Source{Data: "go"}, Source{Data: "libllvm"})
}

var codecs = []struct {
	name   string
	method pod.Method
}{{"none", pod.MethodNone}, {"lz4", pod.MethodLZ4}, {"zstd", pod.MethodZstd}, {"oodle", pod.MethodOodle}}
