package writer

import (
	"fmt"
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
// system has no locks nothing is removed.

// openProtects is whether a file that is open cannot be removed.
const openProtects = runtime.GOOS == "windows"

// oldEnough is how long ago a temporary was written to when its writer, who closed
// it, cannot be renaming it any more.
const oldEnough = time.Minute

// claim locks the temporary f. It is false where f is not there any more, or about to
// go: who cleans up saw it before it was locked.
func claim(f *os.File) (lock *flock.Flock, ok bool) {
	if openProtects {
		return nil, true
	}
	lock = flock.New(f.Name(), flock.SetFlag(os.O_WRONLY))
	switch locked, err := lock.TryLock(); {
	case os.IsNotExist(err):
		return nil, false
	case err != nil:
		_ = lock.Close()
		return nil, true // no locks here, so nobody else can lock it either
	case !locked:
		_ = lock.Close()
		return nil, false
	}
	mine, err := f.Stat()
	if err == nil {
		var named os.FileInfo
		if named, err = os.Lstat(f.Name()); err == nil && os.SameFile(mine, named) {
			return lock, true
		}
	}
	_ = lock.Close()
	return nil, false
}

// removeAbandoned removes what killed writers of t have left. What cannot be removed
// is in nobody's way.
func (t target) removeAbandoned() {
	entries, err := os.ReadDir(t.folder())
	if err != nil {
		return
	}
	_, base := filepath.Split(t.path)
	for _, e := range entries {
		if e.Type().IsRegular() && isTemp(e.Name(), base) {
			removeIfAbandoned(filepath.Join(t.folder(), e.Name()))
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
	lock := flock.New(name, flock.SetFlag(os.O_WRONLY))
	defer lock.Close()
	if locked, err := lock.TryLock(); err != nil || !locked {
		return
	}
	// Another who cleans up may have removed it, and the name may be in use again.
	mine, err := lock.Stat()
	if err != nil {
		return
	}
	if named, err := os.Lstat(name); err == nil && os.SameFile(mine, named) {
		_ = os.Remove(name)
	}
}

// tempName is a name for a temporary of the file base.
func tempName(base string, n uint32) string {
	return fmt.Sprintf("%s%08x%s", tempPrefix(base), n, tempSuffix)
}

// tempPrefix and tempSuffix are around the eight digits of a temporary's name.
func tempPrefix(base string) string {
	const longest = 200 // Names end at 255 bytes.
	return "." + strings.ToValidUTF8(base[:min(len(base), longest)], "") + "."
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
