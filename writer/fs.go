package writer

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/gofrs/flock"

	"example.com/tracecache/internal/replace"
)

// fileSystem is what replacing a file needs of the system. Tests let each call
// fail.
type fileSystem interface {
	// Create makes a file that must not exist yet, and marks it as that of a
	// living writer until it is let go.
	Create(name string, perm fs.FileMode) (file, error)
	Rename(ctx context.Context, from, to string) error
	Remove(name string) error

	// SyncDir makes the names in a folder durable, where the system can.
	SyncDir(name string) error
}

// file is an open file of a [fileSystem].
type file interface {
	io.WriteCloser
	Chmod(perm fs.FileMode) error
	Sync() error

	// LetGo ends what marks the file as that of a living writer. The file is
	// closed, and has its name or is gone.
	LetGo()
}

// osFS is the system's own file system.
type osFS struct{}

func (osFS) Create(name string, perm fs.FileMode) (file, error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return nil, err // Not f: a nil *os.File is not a nil file.
	}
	lock, ok := claim(f)
	if !ok {
		// It was taken for one that is left over before it was locked.
		return nil, errors.Join(fs.ErrExist, f.Close())
	}
	return &osFile{f, lock}, nil
}

// osFile is a file with the lock that says that its writer lives; nil where the
// system has no such locks.
type osFile struct {
	*os.File
	lock *flock.Flock
}

func (f *osFile) LetGo() {
	if f.lock != nil {
		_ = f.lock.Close() // the lock goes with its descriptor in any case
	}
}

func (osFS) Rename(ctx context.Context, from, to string) error { return replace.Rename(ctx, from, to) }

func (osFS) Remove(name string) error { return os.Remove(name) }

func (osFS) SyncDir(name string) error { return replace.SyncFolder(name) }
