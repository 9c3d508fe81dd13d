package lazy

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gofrs/flock"

	"example.com/tracecache/internal/replace"
)

// OpenOrBuild opens the cache file cachePath where it is sound and was made from the
// file sourcePath as that is now. Else, where the cache is missing, stale, of another
// version or damaged, it calls build to make a new one, puts that in its place and
// opens it. opts are those of [Open]; [WithSource] is implied.
//
// However many goroutines and processes ask at the same time, one builds and the
// others wait for it. They take turns by a lock on the file cachePath.lock, which
// stays there, empty; the system takes the lock from a process that dies. Where it
// has no file locks the error matches [errors.ErrUnsupported].
//
// build writes the cache to tmpPath, where there is no file yet, in the folder of
// cachePath, with [example.com/tracecache/writer.WithSource] of what it saw of
// sourcePath before it read it. The file is checked and put in place by renaming. It
// is refused where it is damaged, does not record its source, or is stale already
// because the source has changed meanwhile, which matches [ErrStale] and can be tried
// again. Where build fails or panics, or ctx ends, what was there stays as it was,
// tmpPath is removed, and the error joins why there is no cache to open and why
// there is no new one.
//
// build must not call OpenOrBuild of the same cachePath: it would wait for itself.
//
// To know that a cache is sound each of its stored bytes is read once and compared
// with its checksum. Who would rather find damage when it is touched calls [Open].
func OpenOrBuild(ctx context.Context, cachePath, sourcePath string, build func(ctx context.Context, tmpPath string) error, opts ...Option) (*Cache, error) {
	opts = append(slices.Clip(opts), WithSource(sourcePath))
	c, why := openSound(ctx, cachePath, opts)
	if why == nil || !canReplace(why) {
		return c, why
	}
	if err := distinct(cachePath, sourcePath); err != nil {
		return nil, errors.Join(why, err)
	}
	target := cachePath
	if real, err := filepath.EvalSymlinks(cachePath); err == nil {
		target = real // a link stays
	}
	lock := flock.New(target+".lock", flock.SetPermissions(0o666)) // less the process's mask
	defer lock.Close()
	const retry = 10 * time.Millisecond
	if _, err := lock.TryLockContext(ctx, retry); err != nil {
		return nil, errors.Join(why, fmt.Errorf("lock %s: %w", lock.Path(), err))
	}
	// Who had the lock may have built it.
	c, why = openSound(ctx, cachePath, opts)
	if why == nil || !canReplace(why) {
		return c, why
	}
	if err := buildAndPublish(ctx, target, build, opts); err != nil {
		return nil, errors.Join(why, fmt.Errorf("build %s: %w", cachePath, err))
	}
	return Open(cachePath, opts...)
}

// openSound opens the cache path where nothing is wrong with it.
func openSound(ctx context.Context, path string, opts []Option) (*Cache, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c, err := Open(path, opts...)
	if err != nil {
		return nil, err
	}
	if err := c.sound(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// canReplace reports whether a cache that cannot be opened for this reason is to be
// built again, as against a folder in its place, a disk that fails or a context that
// ended.
func canReplace(err error) bool {
	for _, reason := range []error{fs.ErrNotExist, ErrStale, ErrVersion, ErrFormat, ErrTruncated, ErrChecksum, ErrCorrupt} {
		if errors.Is(err, reason) {
			return true
		}
	}
	return false
}

// distinct sees that there is a source, that a cache can be where cachePath says, and
// that building it would not take the source away.
func distinct(cachePath, sourcePath string) error {
	source, err := os.Stat(sourcePath)
	if err != nil {
		return fmt.Errorf("source: %w", err)
	}
	cache, err := os.Stat(cachePath)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !cache.Mode().IsRegular():
		return fmt.Errorf("%s: not a regular file (%v)", cachePath, cache.Mode().Type())
	case os.SameFile(source, cache):
		return fmt.Errorf("%s: the cache and its source are the same file", cachePath)
	}
	return nil
}

// buildAndPublish builds a cache beside path and puts it there. The caller has the
// lock, so that a file left by one who died is nobody's.
func buildAndPublish(ctx context.Context, path string, build func(context.Context, string) error, opts []Option) error {
	tmp := path + ".building"
	if err := remove(tmp); err != nil {
		return err
	}
	defer func() { _ = remove(tmp) }() // there is none when all went well
	if err := build(ctx, tmp); err != nil {
		return err
	}
	c, err := openSound(ctx, tmp, opts)
	if err != nil {
		return fmt.Errorf("what was built: %w", err)
	}
	if err := errors.Join(c.Close(), syncFile(tmp)); err != nil {
		return err
	}
	if err := replace.Rename(ctx, tmp, path); err != nil {
		return err
	}
	return replace.SyncFolder(filepath.Dir(path))
}

func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// syncFile makes the bytes of a file durable, whoever wrote it.
func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
