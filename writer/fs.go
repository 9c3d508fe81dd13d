package writer

import (
	"io"
	"io/fs"
	"os"
)

// fileSystem is what replacing a file needs of the system. Tests let each call
// fail.
type fileSystem interface {
	// Create makes a file that must not exist yet.
	Create(name string, perm fs.FileMode) (file, error)
	Rename(from, to string) error
	Remove(name string) error

	// SyncDir makes the names in a folder durable, where the system can.
	SyncDir(name string) error
}

// file is an open file of a [fileSystem].
type file interface {
	io.WriteCloser
	Chmod(perm fs.FileMode) error
	Sync() error
}

// osFS is the system's own file system.
type osFS struct{}

func (osFS) Create(name string, perm fs.FileMode) (file, error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return nil, err // Not f: a nil *os.File is not a nil file.
	}
	return f, nil
}

func (osFS) Rename(from, to string) error { return os.Rename(from, to) }

func (osFS) Remove(name string) error { return os.Remove(name) }

func (osFS) SyncDir(name string) error { return syncDir(name) }
