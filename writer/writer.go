package writer

import (
	"fmt"
	"io"

	"example.com/tracecache/trace"
)

// Write writes a cache of m to w and returns the number of bytes that w took.
// Nothing is written until all of the file is known to fit the format.
//
// Errors of w, of the context and of the options come back wrapped, and those
// that the format gives rise to match [ErrNUL] or pod.ErrTooLarge.
func Write(w io.Writer, m *trace.Model, opts ...Option) (int64, error) {
	n, err := write(w, m, opts)
	if err != nil {
		return n, fmt.Errorf("write cache: %w", err)
	}
	return n, nil
}

func write(w io.Writer, m *trace.Model, opts []Option) (int64, error) {
	o, err := newOptions(opts)
	if err != nil {
		return 0, err
	}
	c, err := newCache(m, o)
	if err != nil {
		return 0, err
	}
	return c.writeTo(o.ctx, w)
}

// WriteFile writes a cache of m to the file path, which appears whole or not at
// all: the cache is written under another name in the same folder, synced, and
// renamed. On any failure, and when the context is done, a file that was there
// before stays as it was and nothing is left behind.
//
// An existing file's permissions are kept. Where path is a symbolic link, its
// target is replaced and the link stays. What exists and is not a regular file
// is refused.
//
// Readers that have the old file open or mapped keep it, and are in nobody's way. On
// Windows, where such a file cannot be replaced, it is tried again for two seconds,
// and then the error says that the file is in use.
//
// A writer that is killed leaves its temporary file, .NAME.xxxxxxxx.tmp, in the
// folder of path. The next WriteFile of the same path removes it; it knows the
// temporaries of living writers by a lock on them. (On Windows what is left is
// removed when it is a minute old; where there are no file locks it stays.)
//
// Where the folder cannot be synced after the rename, the error says so; the new
// file is in place then, whole, and may be undone by a crash of the machine.
//
// The errors are those of [Write] and of the file system.
func WriteFile(path string, m *trace.Model, opts ...Option) error {
	if err := writeFile(osFS{}, path, m, opts); err != nil {
		return fmt.Errorf("write cache %s: %w", path, err)
	}
	return nil
}

func writeFile(fsys fileSystem, path string, m *trace.Model, opts []Option) error {
	o, err := newOptions(opts)
	if err != nil {
		return err
	}
	t, err := findTarget(path)
	if err != nil {
		return err
	}
	c, err := newCache(m, o)
	if err != nil {
		return err
	}
	return t.replace(o.ctx, fsys, c)
}
