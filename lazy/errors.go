package lazy

import (
	"context"
	"errors"

	"example.com/tracecache/pod"
)

// The errors of package pod, named again for those who import this package
// only. See there what each means and what to do about it.
var (
	ErrFormat      = pod.ErrFormat
	ErrVersion     = pod.ErrVersion
	ErrVersionOld  = pod.ErrVersionOld
	ErrVersionNew  = pod.ErrVersionNew
	ErrTruncated   = pod.ErrTruncated
	ErrChecksum    = pod.ErrChecksum
	ErrCorrupt     = pod.ErrCorrupt
	ErrTooLarge    = pod.ErrTooLarge
	ErrStale       = pod.ErrStale
	ErrClosed      = pod.ErrClosed
	ErrUnsupported = pod.ErrUnsupported
	ErrIO          = pod.ErrIO
	ErrNotFound    = pod.ErrNotFound
)

// final reports whether err will be the same next time: it is of the bytes or
// of a limit, not of the moment.
func final(err error) bool {
	switch {
	case errors.As(err, new(*budgetError)):
		return false
	case errors.Is(err, ErrClosed), errors.Is(err, ErrIO),
		errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return false
	}
	return true
}

// lasting reports whether err will be the same next time in this cache: it is final,
// or what it says does not fit in the budget.
func lasting(err error) bool { return final(err) || errors.As(err, new(*budgetError)) }

// faultOf is the section that a final error is of.
func faultOf(err error) (id pod.Section, ok bool) {
	var e *pod.Error
	if err == nil || !final(err) || !errors.As(err, &e) {
		return 0, false
	}
	return e.Section, e.Section < pod.SectionCount
}
