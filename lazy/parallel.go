package lazy

import (
	"runtime"
	"sync"
)

// minChunk is how many records are worth a goroutine of their own.
const minChunk = 16 << 10

// inChunks splits [0, n) into ranges and calls f for each, on as many goroutines
// as there are processors. It returns when all calls have.
func inChunks(n int, f func(lo, hi int)) {
	workers := max(min(runtime.GOMAXPROCS(0), n/minChunk), 1)
	var wg sync.WaitGroup
	for w := 1; w < workers; w++ {
		wg.Go(func() { f(part(n, w, workers), part(n, w+1, workers)) })
	}
	if n > 0 {
		f(0, part(n, 1, workers))
	}
	wg.Wait()
}

// part is where the range w of n things in so many begins.
func part(n, w, workers int) int { return int(uint64(n) * uint64(w) / uint64(workers)) }
