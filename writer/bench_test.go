package writer_test

import (
	"bytes"
	"cmp"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/pierrec/lz4/v4"
	"github.com/stretchr/testify/require"

	"example.com/tracecache/pod"
	"example.com/tracecache/trace"
	"example.com/tracecache/writer"
)

// BenchmarkWithSymbols writes a million symbols to nowhere. Each round is followed
// by the least that has to be done on one processor: sorting the symbols and
// compressing the sections made of them. x/plain is how many times as long the
// writer took, the median of all rounds.
func BenchmarkWithSymbols(b *testing.B) {
	const n = 1e6
	for _, order := range []string{"ascending", "random"} {
		b.Run("n=1e6/order="+order, func(b *testing.B) {
			m, seq := symbolsOf(n, order == "random")
			var symbols []trace.Symbol
			for addr, name := range seq {
				symbols = append(symbols, trace.Symbol{Address: addr, Name: name})
			}
			var file bytes.Buffer
			_, err := writer.Write(&file, m, writer.WithSymbols(seq))
			require.NoError(b, err)
			sections := parse(b, file.Bytes()).raw
			copied := make([]trace.Symbol, n)
			var ratios []float64
			b.ReportAllocs()
			for b.Loop() {
				start := time.Now()
				if _, err := writer.Write(io.Discard, m, writer.WithSymbols(seq)); err != nil {
					b.Fatal(err)
				}
				took := time.Since(start)
				b.StopTimer()
				copy(copied, symbols)
				start = time.Now()
				slices.SortFunc(copied, func(a, b trace.Symbol) int { return cmp.Compare(a.Address, b.Address) })
				compress(sections[pod.SectionStringTable])
				compress(sections[pod.SectionSymbols])
				ratios = append(ratios, float64(took)/float64(time.Since(start)))
				b.StartTimer()
			}
			slices.Sort(ratios)
			b.ReportMetric(ratios[len(ratios)/2], "x/plain")
		})
	}
}

// compress compresses a section as the writer does, and drops what comes out.
func compress(raw []byte) {
	var c lz4.Compressor
	stored := make([]byte, lz4.CompressBlockBound(1<<pod.DefaultBlockSizeExponent))
	for block := range slices.Chunk(raw, 1<<pod.DefaultBlockSizeExponent) {
		_, _ = c.CompressBlock(block, stored)
	}
}
