package writer

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// A writer that is killed leaves its temporary behind. The next one of the same name
// removes it, but never that of a writer that lives: this one holds a lock on its
// file, which ends with the process, whatever kills it. On Windows a file that is
// open cannot be removed, and so needs no lock; there a temporary must also be some
// time old, since between its closing and its renaming nothing protects it. Where the
// system has no such locks nothing is removed.

const (
	// openProtects is whether a file that is open cannot be removed.
	openProtects = runtime.GOOS == "windows"

	// noLocks is whether a lock ends when its process closes any descriptor of the
	// file, as that of a writer who closes and then renames would.
	noLocks = runtime.GOOS == "aix" || runtime.GOOS == "solaris"
)

// oldEnough is how long ago a temporary was written to when its writer, who closed
// it, cannot be renaming it any more.
const oldEnough = time.Minute

// claim locks the temporary f. It is false where f is not there any more, or about to
// go: who cleans up saw it before it was locked.
func claim(f *os.File) (lock *flock.Flock, ok bool) {
	if openProtects || noLocks {
		return nil, true
	}
	lock = flock.New(f.Name(), flock.SetFlag(os.O_WRONLY))
	switch locked, err := lock.TryLock(); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, false
	case err != nil:
		_ = lock.Close()
		return nil, true // no locks here, so nobody else can lock it either
	case locked && stillThere(f, f.Name()):
		return lock, true
	}
	_ = lock.Close()
	return nil, false
}

// stillThere reports whether name leads to the open file f.
func stillThere(f interface{ Stat() (fs.FileInfo, error) }, name string) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(name)
	return err == nil && os.SameFile(mine, named)
}

// removeAbandoned removes what killed writers of t have left. What cannot be removed
// is in nobody's way.
func (t target) removeAbandoned() {
	if noLocks {
		return
	}
	entries, err := os.ReadDir(t.folder())
	if err != nil {
		return
	}
	dir, base := filepath.Split(t.path)
	for _, e := range entries {
		if e.Type().IsRegular() && isTemp(e.Name(), base) {
			removeIfAbandoned(dir + e.Name())
		}
	}
}

func removeIfAbandoned(name string) {
	if openProtects {
		if fi, err := os.Lstat(name); err == nil && time.Since(fi.ModTime()) > oldEnough {
			_ = os.Remove(name)
		}
		return
	}
	for _, flag := range []int{os.O_RDONLY, os.O_WRONLY} { // its permissions may allow one of them only
		lock := flock.New(name, flock.SetFlag(flag))
		locked, err := lock.TryLock()
		// Another who cleans up may have removed it, and the name may be in use again.
		if err == nil && locked && stillThere(lock, name) {
			_ = os.Remove(name)
		}
		_ = lock.Close()
		if err == nil {
			return
		}
	}
}

// tempName is a name for a temporary of the file base.
func tempName(base string, n uint32) string {
	return fmt.Sprintf("%s%08x%s", tempPrefix(base), n, tempSuffix)
}

// tempPrefix and tempSuffix are around the eight digits of a temporary's name. No two
// files have the same prefix, as long as their hashes differ.
func tempPrefix(base string) string {
	const longest = 200 // Names end at 255 bytes.
	if len(base) > longest {
		h := fnv.New64a()
		_, _ = h.Write([]byte(base)) // it never fails
		base = fmt.Sprintf("%s~%016x", strings.ToValidUTF8(base[:longest], ""), h.Sum64())
	}
	return "." + base + "."
}

const tempSuffix = ".tmp"

// isTemp reports whether name is one that [tempName] gives for base.
func isTemp(name, base string) bool {
	digits, ok := strings.CutPrefix(name, tempPrefix(base))
	if !ok {
		return false
	}
	digits, ok = strings.CutSuffix(digits, tempSuffix)
	return ok && len(digits) == 8 && strings.Trim(digits, "0123456789abcdef") == ""
}
