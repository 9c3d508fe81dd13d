package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// interruptible is a context that ends when the user interrupts the command, for
// commands that have something to tidy up. A second interrupt ends the program
// at once. stop must be called.
func interruptible(parent context.Context) (ctx context.Context, stop context.CancelFunc) {
	ctx, stop = signal.NotifyContext(parent, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}
