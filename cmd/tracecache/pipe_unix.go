//go:build unix

package main

import (
	"errors"
	"os/signal"
	"syscall"
)

// ignorePipeSignal makes a write to a pipe that nobody reads an error like any
// other; by default it kills a program that writes to its standard output.
func ignorePipeSignal() { signal.Ignore(syscall.SIGPIPE) }

// isBrokenPipe reports whether err says that nobody reads the pipe any more.
func isBrokenPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }
