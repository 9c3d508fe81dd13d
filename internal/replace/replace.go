// Package replace puts a finished file in the place of another.
package replace

import (
	"context"
	"fmt"
	"os"
	"time"
)

// Patience is how long [Rename] goes on trying.
const Patience = 2 * time.Second

// Rename renames the file from to the name to, in place of what is there. On Windows
// a file that somebody has open or mapped cannot be replaced: it is tried again for
// [Patience], and then the error says so. On other systems readers are in nobody's
// way. Where ctx ends first its error is returned too.
func Rename(ctx context.Context, from, to string) error {
	return rename(ctx, func() error { return os.Rename(from, to) }, inUse)
}

func rename(ctx context.Context, try func() error, inUse func(error) bool) error {
	err := try()
	if err == nil || !inUse(err) {
		return err
	}
	deadline := time.NewTimer(Patience)
	defer deadline.Stop()
	for pause := time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return fmt.Errorf("%w; gave up on: %w", ctx.Err(), err)
		case <-deadline.C:
			return fmt.Errorf("the file is in use, by a reader that has it open or mapped; tried for %v: %w", Patience, err)
		}
		if err = try(); err == nil || !inUse(err) {
			return err
		}
	}
}
