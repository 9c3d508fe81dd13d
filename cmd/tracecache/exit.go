package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"example.com/tracecache/pod"
)

// The exit codes.
const (
	exitDone    = 0
	exitFailed  = 1
	exitUsage   = 2
	exitDamaged = 3
)

// exitError is an error of a subcommand with the exit code that it leads to.
type exitError struct {
	code int
	err  error // nil: there is nothing to say that was not said

	// noCache: the error is not of a cache, so advice about caches is out of
	// place.
	noCache bool
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// wrongUse is the error of a command that was called the wrong way.
func wrongUse(cmd *cobra.Command, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &exitError{code: exitUsage, err: fmt.Errorf("%w (see '%s --help')", err, cmd.CommandPath())}
}

// markFailures gives every error of cmd an exit code. What is left without one
// comes from cobra, which found that the command line is wrong.
func markFailures(cmd *cobra.Command) {
	inner := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		err := inner(cmd, args)
		var coded *exitError
		if err == nil || errors.As(err, &coded) {
			return err
		}
		return &exitError{code: failureCode(err), err: err}
	}
	check := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return wrongUse(cmd, "%w", err)
		}
		return nil
	}
}

// failureCode is the exit code for an error of a cache file.
func failureCode(err error) int {
	if pod.Damaged(err) {
		return exitDamaged
	}
	return exitFailed
}

func exitCode(err error) int {
	var coded *exitError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &coded):
		if coded.code == exitFailed && isBrokenPipe(err) {
			return exitDone // the reader has all that it wants
		}
		return coded.code
	case isBrokenPipe(err):
		return exitDone
	}
	return exitUsage
}

// message is what to tell of an error, on one line; empty: nothing.
func message(err error) string {
	if err == nil || isBrokenPipe(err) {
		return ""
	}
	if errors.Is(err, context.Canceled) {
		return "interrupted" // where it was is of no interest
	}
	text := oneLine(err)
	var coded *exitError
	if text == "" || errors.As(err, &coded) && coded.noCache {
		return text
	}
	return text + advice(exitCode(err), err)
}

// advice says what to do about an error of a cache that led to an exit code, where
// its text does not.
func advice(code int, err error) string {
	switch {
	case code == exitDamaged && errors.Is(err, pod.ErrFormat):
		return "; expected a file that 'tracecache build' wrote"
	case code == exitDamaged && pod.Damaged(err), errors.Is(err, pod.ErrStale), errors.Is(err, pod.ErrVersionOld):
		return "; build the cache anew"
	case errors.Is(err, pod.ErrVersionNew):
		return "; use a newer tracecache, or build the cache anew"
	}
	return ""
}

// oneLine is the text of an error without line breaks and control characters.
func oneLine(err error) string {
	return printable(strings.ReplaceAll(err.Error(), "\n", "; "))
}
