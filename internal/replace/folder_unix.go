//go:build unix

package replace

import (
	"errors"
	"os"
	"syscall"
)

// SyncFolder syncs a folder. A file system that has no such thing says EINVAL or
// ENOTSUP, and then there is nothing to be done.
func SyncFolder(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil
	}
	if closeErr := d.Close(); err == nil {
		err = closeErr
	}
	return err
}
