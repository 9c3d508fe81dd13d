package lazy

import (
	"context"
	"io/fs"
	"log/slog"
	"os"
	"runtime"
	"sync/atomic"

	"example.com/tracecache/mapped"
)

// Follower has the cache file of one name open, whichever it is at the moment: when
// other programs replace the file, it goes over to the new one. It is for programs
// that run for long, and safe for concurrent use.
//
//	f, err := lazy.Follow("app.ztac")
//	if err != nil {
//		return err
//	}
//	defer f.Close()
//	go f.Run(ctx, nil)
//	...
//	name, err := f.Cache().LookupExact(addr)
type Follower struct {
	path    string
	opts    []Option
	options options
	stat    func(string) (fs.FileInfo, error)

	cache  atomic.Pointer[Cache]
	turn   chan struct{} // who has sent into it refreshes
	closed chan struct{}
	done   atomic.Bool
}

// Follow opens the cache file path, as [Open] does and with its errors, and follows
// what becomes of it. The file must be there. Nothing happens by itself: see
// [Follower.Refresh] and [Follower.Run].
//
// A file is taken for another when it is not the same file any more, as
// [os.SameFile] says, or has another size or modification time. Writers must replace
// it by renaming, as this module's do: what is written into the very file that is
// open takes from the cache in use what that has not decoded yet, which is then an
// error.
//
// On Windows a file that is open cannot be replaced. There a follower reads the
// stored bytes into memory, besides what a budget counts, and keeps no handle.
func Follow(path string, opts ...Option) (*Follower, error) {
	o, err := newOptions(opts)
	if err != nil {
		return nil, err
	}
	f := &Follower{
		path: path, opts: opts, options: o, stat: os.Stat,
		turn: make(chan struct{}, 1), closed: make(chan struct{}),
	}
	c, err := f.open()
	if err != nil {
		return nil, err
	}
	f.cache.Store(c)
	return f, nil
}

// keepHandles is whether caches that are followed are mapped.
const keepHandles = runtime.GOOS != "windows"

func (f *Follower) open() (*Cache, error) {
	if keepHandles {
		return Open(f.path, f.opts...)
	}
	return openCopy(f.path, f.opts)
}

func openCopy(path string, opts []Option) (*Cache, error) {
	return open(opts, func() (*mapped.File, error) { return mapped.OpenCopy(path) })
}

// Cache is the cache in use. It is one file, whole, and serves whoever took it for
// as long as they hold it, also when it has been replaced and after
// [Follower.Close]. It must not be closed by them: the file, and what is decoded of
// it, go when nothing refers to the cache any more. The cost is that of an atomic
// load, so take it anew for each piece of work whose answers belong together.
func (f *Follower) Cache() *Cache { return f.cache.Load() }

// Refresh looks whether the file has been replaced, and goes over to the new one. It
// reports whether it did. Where nothing changed the cost is one stat, and one more
// for a source.
//
// A new file takes over only if it can be opened, is not stale, and every byte that
// it stores agrees with its checksum, which reads it once. Else the cache in use
// stays, and the error, which may match [io/fs.ErrNotExist] and is one of [Open] or
// of a section, says what is wrong; the next Refresh looks again. Where the file is
// the same and the source, see [WithSource], has changed, the error matches
// [ErrStale]. Refreshes take turns, and each looks when it has its turn, so none goes
// back to what an other has left. Where ctx ends first its error is returned. After
// [Follower.Close] the error is [ErrClosed].
func (f *Follower) Refresh(ctx context.Context) (changed bool, err error) {
	c, err := f.refresh(ctx)
	if err != nil || c == nil {
		return false, err
	}
	c.log(slog.LevelInfo, "tracecache: file replaced", "size", c.Size())
	return true, nil
}

// refresh is the cache that it went over to, nil where there is nothing new.
func (f *Follower) refresh(ctx context.Context) (*Cache, error) {
	select {
	case f.turn <- struct{}{}:
		defer func() { <-f.turn }()
	case <-f.closed:
		return nil, ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if f.done.Load() {
		return nil, ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	now, err := f.stat(f.path)
	if err != nil {
		return nil, err
	}
	old := f.cache.Load()
	if sameFile(old.file.Info(), now) {
		if f.options.hasSource {
			return nil, old.file.Fresh(f.options.source)
		}
		return nil, nil
	}
	c, err := f.open()
	if err != nil {
		return nil, err
	}
	if err := c.sound(ctx); err != nil {
		_ = c.Close() // it was only looked at
		return nil, err
	}
	if f.done.Load() { // Close came meanwhile
		_ = c.Close()
		return nil, ErrClosed
	}
	f.cache.Store(c)
	return c, nil
}

// sameFile reports whether two looks at a name saw the same file, unchanged.
func sameFile(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// Close ends the follower, and its Runs. The cache in use stays valid, and goes when
// nothing refers to it and the follower any more. A second Close does nothing; the
// error is nil.
func (f *Follower) Close() error {
	if !f.done.Swap(true) {
		close(f.closed)
	}
	return nil
}
