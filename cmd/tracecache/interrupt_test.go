//go:build unix

package main

import (
	"context"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestInterruptible is not for short runs, which are those of emulated machines:
// user-mode emulators crash when a process sends itself signals.
func TestInterruptible(t *testing.T) {
	if testing.Short() {
		t.Skip("signals may not work here")
	}
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		ctx, stop := interruptible(context.Background())
		require.NoError(t, syscall.Kill(os.Getpid(), signal))
		select {
		case <-ctx.Done():
		case <-time.After(time.Minute):
			t.Fatal("the signal did not end the context")
		}
		assert.ErrorIs(t, ctx.Err(), context.Canceled)
		stop()
	}
}
