package bench

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/tracecache/lazy"
	"example.com/tracecache/pod"
)

// BenchmarkOpen opens and closes a file. It reads header and directory only, so
// the size of the file should not show.
func BenchmarkOpen(b *testing.B) {
	for _, size := range []struct {
		name  string
		bytes int64
	}{{"1MB", 1e6}, {"100MB", 1e8}, {"1GB", 1e9}} {
		b.Run("size="+size.name, func(b *testing.B) {
			f, err := HugeFile(b.TempDir(), size.bytes)
			require.NoError(b, err)
			require.Equal(b, size.bytes, f.Size)
			work(b, Target{Path: f.Path}, "open")
		})
	}
}

// BenchmarkFirstLookup is what a program waits for that starts, opens a cache and
// needs one name.
func BenchmarkFirstLookup(b *testing.B) {
	for _, n := range counts {
		b.Run("n="+Count(n), func(b *testing.B) {
			t := fileOf(b, fileKey{Source{N: n}, pod.MethodLZ4}).Target
			for _, impl := range []string{"lookup", "load", "plainloop", "eagermap"} {
				b.Run("impl="+impl, func(b *testing.B) { work(b, t, impl) })
			}
		})
	}
}

// BenchmarkLoad opens a cache and loads strings and symbols. The rate is that of
// decompressed bytes, here and below.
func BenchmarkLoad(b *testing.B) {
	for _, n := range counts {
		for _, codec := range codecs {
			b.Run("n="+Count(n)+"/codec="+codec.name, func(b *testing.B) {
				k := fileKey{Source{N: n}, codec.method}
				f := fileOf(b, k)
				for _, impl := range []struct{ name, work string }{{"tracecache", "loadsections"}, {"plainloop", "plainloop"}} {
					b.Run("impl="+impl.name, func(b *testing.B) {
						b.SetBytes(f.DecodedOf(pod.SectionStringTable, pod.SectionSymbols))
						work(b, fileOf(b, k).Target, impl.work)
						b.ReportMetric(float64(f.Size)/float64(n), "B/symbol")
					})
				}
			})
		}
	}
}

// full has many callstacks.
var full = Source{N: 1e6, Callstacks: 1e5}

// BenchmarkModel opens a cache and makes the whole model of it, beside loading
// every section.
func BenchmarkModel(b *testing.B) {
	k := fileKey{full, pod.MethodLZ4}
	for _, impl := range []struct{ name, work string }{{"model", "model"}, {"load", "loadall"}} {
		b.Run("n=1e6/callstacks=1e5/impl="+impl.name, func(b *testing.B) {
			b.SetBytes(fileOf(b, k).DecodedOf())
			work(b, fileOf(b, k).Target, impl.work)
		})
	}
}

// BenchmarkVerify opens a cache and checks all of it.
func BenchmarkVerify(b *testing.B) {
	for _, codec := range codecs {
		b.Run("n=1e6/codec="+codec.name, func(b *testing.B) {
			k := fileKey{Source{N: 1e6}, codec.method}
			b.SetBytes(fileOf(b, k).DecodedOf())
			work(b, fileOf(b, k).Target, "verify")
		})
	}
}

// work times a piece of work.
func work(b *testing.B, t Target, impl string) {
	do, err := t.Prepare(impl)
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		if err := do(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWrite writes symbols, which come from an iterator in random order, to
// nowhere. impl=plain sorts them and compresses the finished sections, on one core.
func BenchmarkWrite(b *testing.B) {
	s := Source{N: 1e6}
	m := modelOf(b, s)
	for _, codec := range codecs {
		b.Run("codec="+codec.name+"/n=1e6", func(b *testing.B) {
			f := fileOf(b, fileKey{s, codec.method}).File
			w := NewWriting(m, codec.method)
			b.Run("impl=tracecache", func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(f.DecodedOf())
				for b.Loop() {
					if _, err := w.Write(); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(f.Size)/float64(s.N), "B/symbol")
			})
			b.Run("impl=plain", func(b *testing.B) {
				plain, err := w.Plain(f.Path)
				require.NoError(b, err)
				b.ReportAllocs()
				b.SetBytes(f.DecodedOf())
				for b.Loop() {
					if _, err := plain.PlainWrite(); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}

// Every piece of work gives the right answer at a small size.
func TestWork(t *testing.T) {
	for _, codec := range codecs {
		t.Run(codec.name, func(t *testing.T) {
			k := fileKey{Source{N: 1e4, Callstacks: 100}, codec.method}
			target := fileOf(t, k).Target
			for impl := range loads {
				do, err := target.Prepare(impl)
				require.NoError(t, err, impl)
				require.NoError(t, do(), impl)
			}
			wrong := target
			wrong.Name += "x"
			for _, impl := range []string{"lookup", "load", "eagermap"} {
				do, err := wrong.Prepare(impl)
				require.NoError(t, err, impl)
				require.ErrorContains(t, do(), "expected", impl)
			}
			w := NewWriting(modelOf(t, k.source), codec.method)
			size, err := w.Write()
			require.NoError(t, err)
			require.Equal(t, fileOf(t, k).File.Size, size, "the order of symbols does not show in the file")
			plain, err := w.Plain(target.Path)
			require.NoError(t, err)
			_, err = plain.PlainWrite()
			require.NoError(t, err)
		})
	}
	_, err := Target{}.Prepare("nothing")
	require.ErrorContains(t, err, "nothing")
}

// The map of the eager reader is that of the model.
func TestEagerMap(t *testing.T) {
	k := fileKey{Source{N: 1e4}, pod.MethodLZ4}
	s, err := ReadStored(fileOf(t, k).Target.Path)
	require.NoError(t, err)
	names, err := s.EagerMap()
	require.NoError(t, err)
	require.Equal(t, map[uint64]string(newGoMap(modelOf(t, k.source).Symbols)), names)
}

func TestHugeFile(t *testing.T) {
	f, err := HugeFile(t.TempDir(), 1e9)
	require.NoError(t, err)
	c, err := lazy.Open(f.Path)
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	require.EqualValues(t, 1e9, c.Size())
	info, err := c.Info(pod.SectionMemory)
	require.NoError(t, err)
	require.Greater(t, info.Header.TotalRawSize, uint64(999e6))
	symbols, err := c.Symbols()
	require.NoError(t, err)
	require.Equal(t, 700, symbols.Len())
	_, err = Binary("nothing")
	require.True(t, errors.Is(err, ErrNotHere))
}
