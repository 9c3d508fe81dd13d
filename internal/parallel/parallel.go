// Package parallel spreads loops over long lists among the processors.
package parallel

import (
	"runtime"
	"sync"
)

// least is how many records are worth a goroutine of their own.
const least = 1 << 13

// Each takes [0, n) apart and calls do for each part, on as many goroutines as there
// are processors, the caller's among them. It returns when all calls have.
func Each(n int, do func(lo, hi int)) {
	Parts(n, func(lo, hi int) (none struct{}) {
		do(lo, hi)
		return none
	})
}

// Parts is [Each] for what has a result: it returns those of the parts, in order.
func Parts[T any](n int, do func(lo, hi int) T) []T {
	if n <= 0 {
		return nil
	}
	parts := make([]T, max(1, min(runtime.GOMAXPROCS(0), n/least)))
	// In 64 bits: n times the number of processors may be more than an int.
	bound := func(p int) int { return int(uint64(n) * uint64(p) / uint64(len(parts))) }
	var wg sync.WaitGroup
	for p := 1; p < len(parts); p++ {
		wg.Go(func() { parts[p] = do(bound(p), bound(p+1)) })
	}
	parts[0] = do(0, bound(1))
	wg.Wait()
	return parts
}
