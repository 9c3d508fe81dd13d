package lazy

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
)

// cell holds a value that is made on first use by a load which belongs to none
// of its callers: the load goes on while any of them waits for it, and stops
// when the last has gone. A final error is kept as the value is, and also when the
// value is dropped.
type cell[T any] struct {
	val atomic.Pointer[T]
	mu  sync.Mutex
	err error   // final
	run *run[T] // in flight
}

// run is one load in flight. Its result is set before done is closed.
type run[T any] struct {
	done    chan struct{}
	stop    context.CancelFunc
	waiters int // guarded by the cell; at 0 the run was told to stop
	val     *T
	err     error
}

// get returns the value, or waits for a load of it for as long as ctx lasts.
func (c *cell[T]) get(ctx context.Context, load func(context.Context) (*T, error)) (*T, error) {
	for {
		if v := c.val.Load(); v != nil {
			return v, nil
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		r, joined, err := c.join(load)
		if err != nil {
			return nil, err
		}
		select {
		case <-r.done:
			if joined {
				return r.val, r.err
			}
		case <-ctx.Done():
			if joined {
				c.leave(r)
			}
			return nil, ctx.Err()
		}
	}
}

// join makes the caller a waiter of the load in flight, or starts one. A load
// that its last waiter has left cannot be joined, only waited out.
func (c *cell[T]) join(load func(context.Context) (*T, error)) (r *run[T], joined bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return nil, false, c.err
	}
	if c.val.Load() != nil { // it came since get looked
		r := &run[T]{done: make(chan struct{})}
		close(r.done)
		return r, false, nil
	}
	if c.run != nil {
		if c.run.waiters == 0 {
			return c.run, false, nil
		}
		c.run.waiters++
		return c.run, true, nil
	}
	ctx, stop := context.WithCancel(context.Background())
	c.run = &run[T]{done: make(chan struct{}), stop: stop, waiters: 1}
	go c.finish(ctx, c.run, load)
	return c.run, true, nil
}

func (c *cell[T]) leave(r *run[T]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.waiters--; r.waiters == 0 {
		r.stop()
	}
}

// drop forgets the value. A load in flight is not for the cell any more: its
// waiters get what it makes, and the cell does not keep it.
func (c *cell[T]) drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.val.Store(nil)
	c.run = nil
}

// errStopped is the result of a load whose goroutine was stopped by the reader
// that it called, with runtime.Goexit.
var errStopped = fmt.Errorf("%w: the reader stopped the goroutine that loads", ErrIO)

// finish runs the load and publishes what came of it.
func (c *cell[T]) finish(ctx context.Context, r *run[T], load func(context.Context) (*T, error)) {
	defer r.stop()
	r.err = errStopped
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		kept := c.run == r
		if kept {
			c.run = nil
		}
		switch {
		case r.err == nil && kept:
			c.val.Store(r.val)
		case r.err != nil && final(r.err):
			c.err = r.err
		}
		close(r.done)
	}()
	r.val, r.err = load(ctx)
}
