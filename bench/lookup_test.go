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
	orders(b, func(l *Lookups) ([]Contender, Queries) { return l.Resolvers, l.Exact })
}

// BenchmarkFind is the floor look-up of addresses anywhere in functions.
func BenchmarkFind(b *testing.B) {
	orders(b, func(l *Lookups) ([]Contender, Queries) { return l.Finders, l.Floor })
}

// BenchmarkMiss is look-ups without an answer: op=resolve of addresses inside
// functions, op=find of addresses in holes and outside every module.
func BenchmarkMiss(b *testing.B) {
	eachGroup(b, func(b *testing.B, group []Source) {
		b.Run("op=resolve", func(b *testing.B) {
			compare(b, group, func(l *Lookups) []stream { return streams(l.Resolvers, l.Miss) })
		})
		b.Run("op=find", func(b *testing.B) {
			compare(b, group, func(l *Lookups) []stream { return streams(l.Finders, l.Outside) })
		})
	})
}

// BenchmarkBatch is the calls for many addresses, 1024 at a time, beside those for
// one.
func BenchmarkBatch(b *testing.B) {
	batches := func(of func(Queries) []uint64) func(l *Lookups) []stream {
		return func(l *Lookups) (all []stream) {
			for _, c := range l.Batches {
				all = append(all, stream{c, of(l.QueriesOf(c))})
			}
			return all
		}
	}
	eachGroup(b, func(b *testing.B, group []Source) {
		b.Run("order=random", func(b *testing.B) {
			compare(b, group, batches(func(q Queries) []uint64 { return q.Random }))
		})
		b.Run("order=sorted", func(b *testing.B) {
			compare(b, group, batches(func(q Queries) []uint64 { return q.Sorted }))
		})
	})
}

// eachGroup runs bench for the sources of each number of symbols, and for each real
// program.
func eachGroup(b *testing.B, bench func(b *testing.B, group []Source)) {
	for _, n := range counts {
		b.Run("n="+Count(n), func(b *testing.B) { bench(b, []Source{{N: n}, {N: n, Shape: gen.Uniform}}) })
	}
	for _, data := range binaries {
		b.Run("data="+data, func(b *testing.B) { bench(b, []Source{{Data: data}}) })
	}
}

func orders(b *testing.B, of func(l *Lookups) ([]Contender, Queries)) {
	eachGroup(b, func(b *testing.B, group []Source) {
		b.Run("order=random", func(b *testing.B) {
			compare(b, group, func(l *Lookups) []stream { c, q := of(l); return streams(c, q.Random) })
		})
		b.Run("order=sorted", func(b *testing.B) {
			compare(b, group, func(l *Lookups) []stream { c, q := of(l); return streams(c, q.Sorted) })
		})
	})
}

// stream is a contender and the addresses that it looks up.
type stream struct {
	Contender
	addrs []uint64
}

func streams(contenders []Contender, addrs []uint64) (all []stream) {
	for _, c := range contenders {
		all = append(all, stream{c, addrs})
	}
	return all
}

// compare times the contenders on each source of a group, which has the same of
// them in the same order. The shape comes last in a name, so that a pattern may
// leave it out.
func compare(b *testing.B, group []Source, of func(l *Lookups) []stream) {
	for i, c := range of(lookupsOf(b, group[0])) {
		b.Run("impl="+c.Impl, func(b *testing.B) {
			if len(group) == 1 {
				sweep(b, c)
				return
			}
			for _, s := range group {
				b.Run("shape="+s.ShapeName(), func(b *testing.B) { sweep(b, of(lookupsOf(b, s))[i]) })
			}
		})
	}
}

// sweep times a contender. One iteration is a batch of look-ups, which go on where
// the last one ended; the time of one is in ns/lookup.
func sweep(b *testing.B, s stream) {
	b.ReportAllocs()
	at := 0
	for b.Loop() {
		sink += s.Sweep(s.addrs[at : at+batch])
		if at += batch; at == len(s.addrs) {
			at = 0
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/batch, "ns/lookup")
	if s.Index > 0 {
		b.ReportMetric(s.Index, "index-B/symbol")
	}
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
