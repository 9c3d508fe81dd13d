package writer

import (
	"fmt"
	"math"

	"example.com/tracecache/pod"
)

// limits are what the format can hold. They are a value so that tests can reach
// them with little memory.
type limits struct {
	packed  int64  // bytes of all strings, each with its NUL
	count   uint64 // entries of a list, frames and image id bytes in all
	payload uint64 // bytes of a section before compression
}

var formatLimits = limits{
	packed:  min(1<<32, math.MaxInt),
	count:   math.MaxUint32,
	payload: math.MaxInt,
}

// checkCount is an error that says what there are too many of.
func (l limits) checkCount(what string, n uint64) error {
	if n > l.count {
		return fmt.Errorf("%w: %s: expected at most %d, got %d", pod.ErrTooLarge, what, l.count, n)
	}
	return nil
}

// checkPayload is an error unless a section of n bytes can be in memory. Only
// 32-bit hosts come near.
func (l limits) checkPayload(id pod.Section, n uint64) error {
	if n > l.payload {
		return fmt.Errorf("%w: section %v: expected at most %d bytes, got %d", pod.ErrTooLarge, id, l.payload, n)
	}
	return nil
}
