package lazy

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// settle is how long Run waits for more to happen in the folder before it
	// looks: files come in several steps.
	settle = 20 * time.Millisecond

	// pollAlone is how often Run looks where the system tells nothing, and
	// pollBeside where it does: of network folders, links and sources it may not.
	pollAlone  = 500 * time.Millisecond
	pollBeside = 5 * time.Second
)

// Run calls [Follower.Refresh] when something happens in the file's folder, as the
// system tells, and every few seconds in any case; where the system cannot tell,
// twice a second. It calls onChange, which may be nil, with the cache now in use and
// nil when the file has been replaced, and with the cache still in use and the error
// when it could not go over to a new file: once for each error, until there is
// another or none. onChange runs on the goroutine of Run.
//
// Run returns the error of ctx when that ends, and nil after [Follower.Close].
func (f *Follower) Run(ctx context.Context, onChange func(c *Cache, err error)) error {
	if onChange == nil {
		onChange = func(*Cache, error) {}
	}
	w, err := watchFolder(f.path)
	if err != nil {
		f.Cache().log(slog.LevelWarn, "tracecache: the folder cannot be watched, polling", "err", err)
	}
	return f.run(ctx, w, onChange)
}

// run follows the file by what w tells; by polling alone where it is nil.
func (f *Follower) run(ctx context.Context, w *fsnotify.Watcher, onChange func(*Cache, error)) error {
	var events chan fsnotify.Event
	var failures chan error
	every := pollAlone
	if w != nil {
		defer w.Close()
		events, failures, every = w.Events, w.Errors, pollBeside
	}
	next := time.NewTimer(0) // something may have happened before the folder was watched
	defer next.Stop()
	looking := true // next is soon
	soon := func() {
		if !looking {
			looking = true
			next.Reset(settle)
		}
	}
	told := ""
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-f.closed:
			return nil
		case _, ok := <-events:
			if !ok {
				events, failures, every = nil, nil, pollAlone
			}
			soon()
		case <-failures: // events were lost
			soon()
		case <-next.C:
			looking = false
			told = f.look(ctx, told, onChange)
			next.Reset(every)
		}
	}
}

// look refreshes and tells what came of it, unless that is what was told last.
func (f *Follower) look(ctx context.Context, told string, onChange func(*Cache, error)) string {
	changed, err := f.Refresh(ctx)
	switch {
	case ctx.Err() != nil || errors.Is(err, ErrClosed):
		return told
	case changed:
		onChange(f.Cache(), nil)
		return ""
	case err == nil:
		return ""
	case err.Error() != told:
		c := f.Cache()
		c.log(slog.LevelWarn, "tracecache: the new file cannot be used", "err", err)
		onChange(c, err)
	}
	return err.Error()
}

// watchFolder watches the folder that path is in: a file that is renamed onto path
// is another one, which nobody watches yet. Where path is a link, the folder that it
// leads to is watched as well.
func watchFolder(path string) (*fsnotify.Watcher, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	if err := w.Add(filepath.Dir(path)); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	if real, err := filepath.EvalSymlinks(path); err == nil && filepath.Dir(real) != filepath.Dir(path) {
		_ = w.Add(filepath.Dir(real)) // if not, the file is polled
	}
	return w, nil
}
