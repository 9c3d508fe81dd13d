//go:build !unix

package main

import (
	"errors"
	"syscall"
)

// What Windows says of a pipe that nobody reads.
const (
	errorBrokenPipe = syscall.Errno(109)
	errorNoData     = syscall.Errno(232)
)

// ignorePipeSignal has nothing to do where no signal tells of a broken pipe.
func ignorePipeSignal() {}

// isBrokenPipe reports whether err says that nobody reads the pipe any more.
func isBrokenPipe(err error) bool {
	return errors.Is(err, errorBrokenPipe) || errors.Is(err, errorNoData)
}
