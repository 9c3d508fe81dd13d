package writer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// target is the file to be replaced or made.
type target struct {
	path   string // without a symbolic link at its end
	exists bool
	perm   fs.FileMode // where it exists
}

// findTarget follows path to the regular file that it names, or to where one
// will be made. Others may make and remove files at path meanwhile.
func findTarget(path string) (target, error) {
	const maxTries = 100
	for try := 1; ; try++ {
		t, err := findTargetOnce(path)
		changed := errors.Is(err, errAppeared) || t.exists && errors.Is(err, fs.ErrNotExist)
		if !changed || try == maxTries {
			return t, err
		}
	}
}

// errAppeared says that there is a file where none was a moment ago.
var errAppeared = errors.New("a file appeared meanwhile")

func findTargetOnce(path string) (target, error) {
	info, err := os.Stat(path)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return target{}, fmt.Errorf("expected a regular file, got a file of mode %v", info.Mode())
	case err == nil:
		real, err := filepath.EvalSymlinks(path)
		return target{path: real, exists: true, perm: info.Mode().Perm()}, err
	case errors.Is(err, fs.ErrNotExist):
		real, err := followDangling(path)
		return target{path: real}, err
	}
	return target{}, err
}

// followDangling returns where a path that names no file leads: a symbolic link
// may point to a file that is yet to be made.
func followDangling(path string) (string, error) {
	const maxLinks = 40 // As many as the system follows.
	for range maxLinks {
		info, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return path, nil
		}
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			return "", fmt.Errorf("%s: %w", path, errAppeared)
		}
		link, err := os.Readlink(path)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(link) {
			// Not filepath.Join: it drops "folder/..", and behind a folder that
			// is a link that leads elsewhere.
			dir, _ := filepath.Split(path)
			link = dir + link
		}
		path = link
	}
	return "", fmt.Errorf("%s: more than %d symbolic links", path, maxLinks)
}

// replace puts c where t says.
func (t target) replace(ctx context.Context, fsys fileSystem, c *cache) error {
	t.removeAbandoned()
	f, tmp, err := t.createTemp(fsys)
	if err != nil {
		return err
	}
	defer f.LetGo()
	err = t.writeTemp(ctx, f, c)
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = fsys.Rename(ctx, tmp, t.path)
	}
	if err != nil {
		if e := fsys.Remove(tmp); e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = fmt.Errorf("%w; and its temporary file stays: %w", err, e)
		}
		return err
	}
	if err := fsys.SyncDir(t.folder()); err != nil {
		return fmt.Errorf("the new file is in place, but its folder cannot be synced: %w", err)
	}
	return nil
}

// folder is the folder that t's file is in. It is not cleaned, as filepath.Dir
// would: "link/.." is for the system to follow.
func (t target) folder() string {
	dir, _ := filepath.Split(t.path)
	return cmp.Or(dir, ".")
}

// writeTemp writes c to the new file f, syncs and closes it.
func (t target) writeTemp(ctx context.Context, f file, c *cache) error {
	_, err := c.writeTo(ctx, f)
	if err == nil && t.exists {
		// The process's mask has cut what the file was made with.
		err = f.Chmod(t.perm)
	}
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr // An error before says more, and the file goes anyway.
	}
	return err
}

// createTemp makes a file in t's folder under a name that nothing has.
func (t target) createTemp(fsys fileSystem) (f file, name string, err error) {
	const maxTries = 1000
	perm := fs.FileMode(0o666)
	if t.exists {
		perm = t.perm | 0o200 // Some systems want it to be writable.
	}
	dir, base := filepath.Split(t.path)
	for try := 1; ; try++ {
		name = dir + tempName(base, rand.Uint32())
		f, err = fsys.Create(name, perm)
		if err == nil || !errors.Is(err, fs.ErrExist) || try == maxTries {
			return f, name, err
		}
	}
}
