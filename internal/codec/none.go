package codec

import (
	"fmt"

	"example.com/tracecache/pod"
)

// none is method 0: the bytes themselves.
type none struct{ noHeader }

func (none) Decode(dst, src []byte) error {
	if len(src) != len(dst) {
		return fmt.Errorf("%w: stored block: expected %d bytes, got %d", pod.ErrCorrupt, len(dst), len(src))
	}
	copy(dst, src)
	return nil
}

func (none) MaxRaw(stored int64) int64 { return stored }

// Encode is always 0: a copy is not smaller than its original.
func (none) Encode(_, _ []byte, _ int) int { return 0 }

func (none) CheckLevel(level int) error { return checkLevel(pod.MethodNone, level, 0) }
