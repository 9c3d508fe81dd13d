package bench

import "testing"

// batch is the number of look-ups of one iteration.
const batch = 1000

// BenchmarkResolve is the exact look-up of addresses that have a name.
func BenchmarkResolve(b *testing.B) {
	eachCount(b, func(b *testing.B, l *lookups) { compare(b, l.exactly(), l.exact) })
}

// BenchmarkFind is the floor look-up of addresses anywhere in functions.
func BenchmarkFind(b *testing.B) {
	eachCount(b, func(b *testing.B, l *lookups) { compare(b, l.floored(), l.floor) })
}

// BenchmarkMiss is the exact look-up of addresses close behind the start of a
// function, which have no name.
func BenchmarkMiss(b *testing.B) {
	eachCount(b, func(b *testing.B, l *lookups) { compare(b, l.exactly(), l.miss) })
}

func eachCount(b *testing.B, bench func(b *testing.B, l *lookups)) {
	for _, c := range counts {
		b.Run("n="+c.name, func(b *testing.B) { bench(b, lookupsOf(b, c.n)) })
	}
}

// compare times each contender. One iteration is batch look-ups of addrs, which
// go on where the last one ended; the time of one is in ns/lookup.
func compare(b *testing.B, contenders []contender, addrs []uint64) {
	for _, c := range contenders {
		b.Run("impl="+c.impl, func(b *testing.B) {
			b.ReportAllocs()
			at := 0
			for b.Loop() {
				sink += c.sweep(addrs[at : at+batch])
				if at += batch; at == len(addrs) {
					at = 0
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/batch, "ns/lookup")
		})
	}
}
