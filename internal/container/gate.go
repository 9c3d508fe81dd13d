package container

import (
	"context"
	"sync"
)

// Gate limits how much work runs at once, across all the calls of [Encode] that
// share it. It keeps the memory that the work is done in: for each piece of work
// that it lets run, the raw and the compressed bytes of the largest block so far.
type Gate struct{ slots chan *scratch }

// scratch is memory for one block, raw and compressed. It is made as it is
// needed, because a block may be as large as 1 GiB.
type scratch struct{ raw, stored []byte }

// resize returns b with n bytes, in new memory where b's does not suffice.
func resize(b []byte, n int) []byte {
	if cap(b) < n {
		return make([]byte, n)
	}
	return b[:n]
}

// NewGate returns a gate that lets n pieces of work run at once, n > 0.
func NewGate(n int) *Gate {
	g := &Gate{slots: make(chan *scratch, n)}
	for range n {
		g.slots <- &scratch{}
	}
	return g
}

// do runs f when a slot is free, with the slot's memory. It does not run f, and
// returns the context's error, once ctx is done.
func (g *Gate) do(ctx context.Context, f func(*scratch)) error {
	var s *scratch
	select {
	case <-ctx.Done():
		return ctx.Err()
	case s = <-g.slots:
	}
	defer func() { g.slots <- s }()
	if err := ctx.Err(); err != nil { // Both may have been ready.
		return err
	}
	f(s)
	return nil
}

// each runs f(0) to f(n-1) as far as the gate allows at once. They begin in this
// order, each with a slot of its own, so f may wait for those before it; they end
// in any order. It returns when all that was begun has ended, with an error if
// some were left out: the first that f returned, or the context's.
func (g *Gate) each(ctx context.Context, n int, f func(i int, s *scratch) error) error {
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
	fail := func(e error) {
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			err = e
		}
	}
	work := func() {
		for more := true; more; {
			done := g.do(ctx, func(s *scratch) {
				var i int
				if i, more = take(); !more {
					return
				}
				if e := f(i, s); e != nil {
					fail(e)
				}
			})
			if done != nil {
				more = false
				if _, left := take(); left {
					fail(done)
				}
			}
		}
	}
	for range min(n, cap(g.slots)) {
		wg.Go(work)
	}
	wg.Wait()
	return err
}

// turns lets pieces of work that run side by side do a part of it one after the
// other.
type turns struct {
	mu   sync.Mutex
	next int
	cond sync.Cond
}

func newTurns() *turns {
	t := &turns{}
	t.cond.L = &t.mu
	return t
}

// do runs f when do has run for 0 to i-1.
func (t *turns) do(i int, f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.next != i {
		t.cond.Wait()
	}
	f() // Whoever comes meanwhile would only wait for its turn.
	t.next++
	t.cond.Broadcast()
}
