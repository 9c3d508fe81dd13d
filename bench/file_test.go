package bench

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/tracecache/lazy"
	"example.com/tracecache/pod"
	"example.com/tracecache/writer"
)

// BenchmarkOpen opens and closes a file. It reads header and directory only, so
// the size of the file should not show.
func BenchmarkOpen(b *testing.B) {
	for _, size := range []struct {
		name  string
		n     int
		bytes int64 // as near as the counts come
	}{{"100KB", 700, 100e3}, {"1MB", 1e4, 1e6}, {"100MB", 1e6, 100e6}} {
		b.Run("size="+size.name, func(b *testing.B) {
			f := file(b, fileKey{size.n, pod.MethodNone})
			require.InEpsilon(b, size.bytes, f.size, 0.2)
			b.ReportAllocs()
			for b.Loop() {
				c, err := lazy.Open(f.path)
				if err != nil {
					b.Fatal(err)
				}
				if err := c.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkFirstLookup is what a program waits for that starts, opens a cache and
// needs one name. impl=gomap loads the whole file and puts its symbols in a map
// first, as a reader without an index does.
func BenchmarkFirstLookup(b *testing.B) {
	for _, count := range counts {
		for _, reader := range []struct {
			impl   string
			lookup func(c *lazy.Cache, addr uint64) (string, error)
		}{{"tracecache", firstFind}, {"gomap", loadAndResolve}} {
			b.Run("n="+count.name+"/impl="+reader.impl, func(b *testing.B) {
				f := file(b, fileKey{count.n, pod.MethodLZ4})
				symbols := model(b, count.n).Symbols
				want := symbols[len(symbols)/3]
				if want.Name == "" {
					want = symbols[len(symbols)/3-1]
				}
				b.ReportAllocs()
				for b.Loop() {
					name, err := openAnd(f.path, func(c *lazy.Cache) (string, error) { return reader.lookup(c, want.Address) })
					if err != nil || name != want.Name {
						b.Fatalf("%#x: expected %q, got %q, %v", want.Address, want.Name, name, err)
					}
				}
			})
		}
	}
}

func firstFind(c *lazy.Cache, addr uint64) (string, error) {
	symbols, err := c.Symbols()
	if err != nil {
		return "", err
	}
	sym, _ := symbols.Find(addr)
	return sym.Name, nil
}

func loadAndResolve(c *lazy.Cache, addr uint64) (string, error) {
	m, err := c.Model()
	if err != nil {
		return "", err
	}
	name, _ := newGomap(m).resolve(addr)
	return name, nil
}

// openAnd opens a cache, does something with it and closes it.
func openAnd[T any](path string, do func(c *lazy.Cache) (T, error)) (T, error) {
	var zero T
	c, err := lazy.Open(path)
	if err != nil {
		return zero, err
	}
	v, err := do(c)
	if err := c.Close(); err != nil {
		return zero, err
	}
	return v, err
}

// BenchmarkLoad opens a cache and loads all sections. The rate is that of
// decompressed bytes, here and below.
func BenchmarkLoad(b *testing.B) {
	for _, count := range counts {
		for _, codec := range codecs {
			b.Run("n="+count.name+"/codec="+codec.name, func(b *testing.B) {
				decode(b, fileKey{count.n, codec.method}, func(c *lazy.Cache) (any, error) {
					return nil, c.Load(b.Context())
				})
			})
		}
	}
}

// BenchmarkModel opens a cache and makes the whole model of it.
func BenchmarkModel(b *testing.B) {
	for _, count := range counts {
		b.Run("n="+count.name, func(b *testing.B) {
			decode(b, fileKey{count.n, pod.MethodLZ4}, func(c *lazy.Cache) (any, error) { return c.Model() })
		})
	}
}

// BenchmarkVerify opens a cache and checks all of it.
func BenchmarkVerify(b *testing.B) {
	for _, codec := range codecs {
		b.Run("n=1e5/codec="+codec.name, func(b *testing.B) {
			decode(b, fileKey{1e5, codec.method}, func(c *lazy.Cache) (any, error) {
				return nil, c.Verify(b.Context())
			})
		})
	}
}

func decode(b *testing.B, k fileKey, do func(c *lazy.Cache) (any, error)) {
	f := file(b, k)
	b.SetBytes(f.decoded)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := openAnd(f.path, do); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWrite makes a cache of a model in memory and writes it to nowhere.
func BenchmarkWrite(b *testing.B) {
	const n = 1e5
	for _, codec := range codecs {
		b.Run("n=1e5/codec="+codec.name, func(b *testing.B) {
			m := model(b, n)
			b.ReportAllocs()
			var size int64
			for b.Loop() {
				var err error
				if size, err = writer.Write(io.Discard, m, writer.WithCodec(codec.method)); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(size)/n, "B/symbol")
		})
	}
}
