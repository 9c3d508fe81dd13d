package bench

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/tracecache/internal/gen"
)

// sink keeps the sums alive.
var sink uint64

// BenchmarkResolve is the exact look-up of addresses that have a name.
func BenchmarkResolve(b *testing.B) {
	eachSource(b, func(b *testing.B, l *Lookups) { orders(b, l.Resolvers, l.Exact) })
}

// BenchmarkFind is the floor look-up of addresses anywhere in functions.
func BenchmarkFind(b *testing.B) {
	eachSource(b, func(b *testing.B, l *Lookups) { orders(b, l.Finders, l.Floor) })
}

// BenchmarkMiss is look-ups without an answer: op=resolve of addresses inside
// functions, op=find of addresses in holes and outside every module.
func BenchmarkMiss(b *testing.B) {
	eachSource(b, func(b *testing.B, l *Lookups) {
		b.Run("op=resolve", func(b *testing.B) { each(b, l.Resolvers, l.Miss) })
		b.Run("op=find", func(b *testing.B) { each(b, l.Finders, l.Outside) })
	})
}

// BenchmarkBatch is the calls for many addresses, 1024 at a time, beside those for
// one.
func BenchmarkBatch(b *testing.B) {
	eachSource(b, func(b *testing.B, l *Lookups) {
		b.Run("order=random", func(b *testing.B) {
			for _, c := range l.Batches {
				compare(b, c, l.QueriesOf(c).Random)
			}
		})
		b.Run("order=sorted", func(b *testing.B) {
			for _, c := range l.Batches {
				compare(b, c, l.QueriesOf(c).Sorted)
			}
		})
	})
}

func eachSource(b *testing.B, bench func(b *testing.B, l *Lookups)) {
	for _, s := range sources() {
		b.Run(s.Key(), func(b *testing.B) { bench(b, lookupsOf(b, s)) })
	}
}

func orders(b *testing.B, contenders []Contender, q Queries) {
	b.Run("order=random", func(b *testing.B) { each(b, contenders, q.Random) })
	b.Run("order=sorted", func(b *testing.B) { each(b, contenders, q.Sorted) })
}

func each(b *testing.B, contenders []Contender, addrs []uint64) {
	for _, c := range contenders {
		compare(b, c, addrs)
	}
}

// compare times a contender. One iteration is a batch of look-ups of addrs, which
// go on where the last one ended; the time of one is in ns/lookup.
func compare(b *testing.B, c Contender, addrs []uint64) {
	b.Run("impl="+c.Impl, func(b *testing.B) {
		b.ReportAllocs()
		at := 0
		for b.Loop() {
			sink += c.Sweep(addrs[at : at+batch])
			if at += batch; at == len(addrs) {
				at = 0
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/batch, "ns/lookup")
		if c.Index > 0 {
			b.ReportMetric(c.Index, "index-B/symbol")
		}
	})
}

// The contenders agree at the sizes that are made in no time, without -bench as
// well.
func TestContendersAgree(t *testing.T) {
	for _, s := range []Source{{N: 1e4}, {N: 1e4, Shape: gen.Uniform}, {Data: "go"}} {
		t.Run(s.Key(), func(t *testing.T) {
			l := lookupsOf(t, s)
			for _, tc := range []struct {
				contenders []Contender
				queries    []uint64
				hits       bool
			}{{l.Resolvers, l.Exact.Random, true}, {l.Resolvers, l.Miss, false}, {l.Finders, l.Floor.Random, true}, {l.Finders, l.Outside, false}} {
				some := tc.queries[:checked]
				want := tc.contenders[0].Sweep(some)
				require.Equal(t, tc.hits, want > 0)
				for _, c := range tc.contenders {
					require.Equal(t, want, c.Sweep(some), c.Impl)
				}
			}
			for i, c := range l.Batches {
				some := l.QueriesOf(c).Random[:checked]
				require.Equal(t, l.Batches[i&^1].Sweep(some), c.Sweep(some), c.Impl)
			}
		})
	}
}
