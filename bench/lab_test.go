package bench

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

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

func modelOf(tb testing.TB, s Source) *trace.Model {
	m, err := s.Model()
	if errors.Is(err, ErrNotHere) {
		tb.Skip(err)
	}
	require.NoError(tb, err)
	return m
}

type fileKey struct {
	source Source
	method pod.Method
}

// cacheFile is a cache and the address of some function in it.
type cacheFile struct {
	File
	Target
}

// Models are not kept: the collector runs before every benchmark, over all that
// is alive.
var fileOf = memo(func(tb testing.TB, k fileKey) cacheFile {
	m := modelOf(tb, k.source)
	f, err := WriteFile(dir, m, k.method)
	require.NoError(tb, err)
	t := NewTarget(f, m, len(m.Symbols)/3)
	t.Name = strings.Clone(t.Name)
	return cacheFile{f, t}
})

var lookupsOf = memo(func(tb testing.TB, s Source) *Lookups {
	m := modelOf(tb, s)
	f, err := WriteFile(tb.TempDir(), m, pod.MethodLZ4)
	require.NoError(tb, err)
	l, err := NewLookups(m, f, false)
	require.NoError(tb, err)
	return l
})

var counts = []int{1e4, 1e5, 1e6}

// binaries are the real programs that look-ups are measured on.
var binaries = []string{"go", "libllvm"}

var codecs = []struct {
	name   string
	method pod.Method
}{{"none", pod.MethodNone}, {"lz4", pod.MethodLZ4}, {"zstd", pod.MethodZstd}, {"oodle", pod.MethodOodle}}
