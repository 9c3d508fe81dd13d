package container

import (
	"context"
	"sync"
)

// Gate limits how much work runs at once, across all the calls of [Encode] that
// share it.
type Gate struct{ slots chan struct{} }

// NewGate returns a gate that lets n pieces of work run at once, n > 0.
func NewGate(n int) *Gate { return &Gate{slots: make(chan struct{}, n)} }

// do runs f when a slot is free. It does not run f, and returns the context's
// error, once ctx is done.
func (g *Gate) do(ctx context.Context, f func()) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case g.slots <- struct{}{}:
	}
	defer func() { <-g.slots }()
	if err := ctx.Err(); err != nil { // Both may have been ready.
		return err
	}
	f()
	return nil
}

// each runs f(0) to f(n-1), in any order and as far as the gate allows at once.
// It returns when all that was begun has ended, with the context's error if
// some were left out.
func (g *Gate) each(ctx context.Context, n int, f func(i int)) error {
	var (
		mu   sync.Mutex
		next int
		err  error
		wg   sync.WaitGroup
	)
	take := func() (int, bool) {
		mu.Lock()
		defer mu.Unlock()
		if next == n || err != nil {
			return 0, false
		}
		next++
		return next - 1, true
	}
	for range min(n, cap(g.slots)) {
		wg.Go(func() {
			for i, ok := take(); ok; i, ok = take() {
				if e := g.do(ctx, func() { f(i) }); e != nil {
					mu.Lock()
					err = e
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	return err
}
