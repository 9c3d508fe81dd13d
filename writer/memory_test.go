package writer_test

import (
	"io"
	"math/rand/v2"
	"runtime"
	"runtime/metrics"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/tracecache/internal/gen"
	"example.com/tracecache/pod"
	"example.com/tracecache/trace"
	"example.com/tracecache/writer"
)

// symbolsOf is a model without symbols and a sequence of n of them.
func symbolsOf(n int, shuffle bool) (*trace.Model, func(func(uint64, string) bool)) {
	m := gen.Model(gen.Config{Seed: 1, Symbols: n})
	symbols := m.Symbols
	m.Symbols = nil
	if shuffle {
		rand.New(rand.NewPCG(1, 2)).Shuffle(n, func(i, k int) { symbols[i], symbols[k] = symbols[k], symbols[i] })
	}
	return m, func(yield func(uint64, string) bool) {
		for i := range symbols {
			if !yield(symbols[i].Address, symbols[i].Name) {
				return
			}
		}
	}
}

// liveHeap collects garbage and returns what is left, in bytes.
func liveHeap() uint64 {
	runtime.GC()
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// peakLiveHeap returns how far the live heap rises above where it was while f
// runs. It collects garbage all the time, which slows f down many times.
func peakLiveHeap(f func()) uint64 {
	before := liveHeap()
	peak := before
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			peak = max(peak, liveHeap())
			select {
			case <-done:
				return
			default:
			}
		}
	})
	f()
	close(done)
	wg.Wait()
	return peak - before
}

// TestMemory holds the writer to the raw and the compressed bytes and 64 bytes
// for each symbol.
func TestMemory(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector has memory of its own")
	}
	const n = 200_000
	for _, method := range []pod.Method{pod.MethodNone, pod.MethodLZ4} {
		for _, shuffle := range []bool{false, true} {
			m, symbols := symbolsOf(n, shuffle)
			var raw, compressed int64
			peak := peakLiveHeap(func() {
				var err error
				compressed, err = writer.Write(io.Discard, m, writer.WithSymbols(symbols), writer.WithCodec(method),
					writer.WithProgress(func(_, total int64) { raw = total }))
				require.NoError(t, err)
			})
			t.Logf("%v, shuffled %v: %d raw bytes, %d compressed, %d of memory", method, shuffle, raw, compressed, peak)
			assert.LessOrEqual(t, int64(peak), raw+compressed+64*n+4<<20)
		}
	}
}

// TestWriteAllocatesLittle: what is allocated is large, whatever the number of
// strings.
func TestWriteAllocatesLittle(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector drops pooled memory")
	}
	allocs := func(n int) float64 {
		m, symbols := symbolsOf(n, true)
		return testing.AllocsPerRun(2, func() {
			_, err := writer.Write(io.Discard, m, writer.WithSymbols(symbols))
			require.NoError(t, err)
		})
	}
	few, many := allocs(1000), allocs(201_000)
	t.Logf("%v allocations, %v for 200000 symbols more", few, many-few)
	assert.LessOrEqual(t, many-few, 200.0)
}
