package lazy_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/tracecache/lazy"
	"example.com/tracecache/pod"
	"example.com/tracecache/writer"
)

var soakTime = flag.Duration("soak", 3*time.Second, "how long TestSoak runs")

// soak is what its goroutines share.
type soak struct {
	t      *testing.T
	dir    string
	ctx    context.Context
	budget *lazy.Budget
	opts   []lazy.Option

	answers, errors, swaps, builds atomic.Int64
}

func (s *soak) path(number uint64) string {
	return filepath.Join(s.dir, fmt.Sprintf("file%d.ztac", number))
}

// rest waits for up to d and reports whether the soak goes on.
func (s *soak) rest(rng *rand.Rand, d time.Duration) bool {
	select {
	case <-s.ctx.Done():
		return false
	case <-time.After(time.Duration(rng.Int64N(int64(d)))):
		return true
	}
}

// refused notes an error, which must be of a documented kind.
func (s *soak) refused(err error, doing string) {
	s.errors.Add(1)
	for _, kind := range []error{lazy.ErrFormat, lazy.ErrVersion, lazy.ErrTruncated, lazy.ErrChecksum, lazy.ErrCorrupt,
		lazy.ErrUnsupported, lazy.ErrTooLarge, lazy.ErrClosed, lazy.ErrStale, fs.ErrNotExist, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, kind) {
			return
		}
	}
	s.t.Errorf("%s: undocumented error: %v", doing, err)
}

// write replaces file number with its next generation, again and again.
func (s *soak) write(number uint64, rng *rand.Rand) {
	codecs := []pod.Method{pod.MethodNone, pod.MethodLZ4, pod.MethodZstd}
	for generation := uint64(2); s.rest(rng, 8*time.Millisecond); generation++ {
		f := soakFile{number, generation}
		err := s.publish(f, writer.WithCodec(codecs[rng.IntN(len(codecs))]))
		if runtime.GOOS != "windows" { // where readers may be in the way for too long
			assert.NoError(s.t, err)
		}
	}
}

func (s *soak) publish(f soakFile, opts ...writer.Option) error {
	opts = append(opts, writer.WithBlockSize(4<<10), writer.WithSource(f.source()))
	return writer.WriteFile(s.path(f.number), f.model(), opts...)
}

// damage does what other programs do to files. What the system refuses is not done.
func (s *soak) damage(number uint64, rng *rand.Rand) {
	path := s.path(number)
	for s.rest(rng, 60*time.Millisecond) {
		b, err := os.ReadFile(path)
		if err != nil || len(b) < pod.DataOffset {
			continue
		}
		at := pod.FileHeaderSize + rng.IntN(len(b)-pod.FileHeaderSize) // not the generation
		switch rng.IntN(5) {
		case 0:
			_ = os.Truncate(path, int64(at))
		case 1: // one byte, in place
			if f, err := os.OpenFile(path, os.O_WRONLY, 0); err == nil {
				_, _ = f.WriteAt([]byte{b[at] ^ byte(1+rng.IntN(255))}, int64(at))
				_ = f.Close()
			}
		case 2: // half a file, put there by rename
			half := path + ".half"
			if os.WriteFile(half, b[:at], 0o600) == nil {
				_ = os.Rename(half, path)
			}
		case 3: // a damaged file, put there by rename
			b[at] ^= byte(1 + rng.IntN(255))
			half := path + ".half"
			if os.WriteFile(half, b, 0o600) == nil {
				_ = os.Rename(half, path)
			}
		case 4:
			_ = os.Remove(path)
		}
	}
}

// follow reads what a follower hands out, which only goes forward.
func (s *soak) follow(number uint64, f *lazy.Follower, rng *rand.Rand) {
	var kept [8]held
	var last uint64
	for s.rest(rng, 2*time.Millisecond) {
		c := f.Cache()
		of := generation(c)
		assert.Equal(s.t, number, of.number)
		assert.GreaterOrEqual(s.t, of.generation, last, "a follower went back")
		last = of.generation
		for range 1 + rng.IntN(5) {
			s.keep(c, rng, &kept)
		}
		if rng.IntN(4) == 0 {
			changed, err := f.Refresh(s.ctx)
			if err != nil {
				s.refused(err, "Refresh")
			} else if changed {
				s.swaps.Add(1)
			}
		}
	}
}

// open opens, asks and closes, or forgets to.
func (s *soak) open(number uint64, rng *rand.Rand) {
	var kept [8]held
	for s.rest(rng, 4*time.Millisecond) {
		c, err := lazy.Open(s.path(number), s.opts...)
		if err != nil {
			s.refused(err, "Open")
			continue
		}
		assert.Equal(s.t, number, generation(c).number)
		var wg sync.WaitGroup
		for range 2 {
			rng := rand.New(rand.NewPCG(rng.Uint64(), 1))
			wg.Go(func() {
				for range 4 {
					s.ask(c, rng)
				}
			})
		}
		for range 4 {
			s.keep(c, rng, &kept)
		}
		if rng.IntN(3) > 0 {
			assert.NoError(s.t, c.Close()) // beside those who ask
		}
		wg.Wait()
	}
}

// build opens the cache of a source that changes, and builds it where it must.
func (s *soak) build(number uint64, rng *rand.Rand) {
	source, path := filepath.Join(s.dir, "source"), s.path(number)
	var last uint64
	build := func(_ context.Context, tmp string) error {
		s.builds.Add(1)
		fi, err := os.Stat(source)
		if err != nil {
			return err
		}
		b, err := os.ReadFile(source)
		if err != nil {
			return err
		}
		f := soakFile{number: number}
		if _, err := fmt.Sscanf(string(b), "%d", &f.generation); err != nil {
			return err
		}
		return writer.WriteFile(tmp, f.model(), writer.WithSource(fi.Size(), fi.ModTime()), writer.WithBlockSize(4<<10))
	}
	for s.rest(rng, 10*time.Millisecond) {
		c, err := lazy.OpenOrBuild(s.ctx, path, source, build, s.opts...)
		if err != nil {
			s.refused(err, "OpenOrBuild")
			continue
		}
		md, err := c.Metadata()
		if err != nil {
			s.refused(err, "Metadata")
			continue
		}
		f := soakFile{number, md.Record().TotalEvents}
		assert.GreaterOrEqual(s.t, f.generation, last, "an older build came back")
		last = f.generation
		name, err := c.LookupExact(f.address(1))
		if err != nil {
			s.refused(err, "LookupExact")
			continue
		}
		assert.Equal(s.t, f.name(1), name)
		s.answers.Add(1)
	}
}

// change makes the next generation of the source, and at times damages or deletes
// the cache that was built from it.
func (s *soak) change(number uint64, rng *rand.Rand) {
	for generation := 2; s.rest(rng, 80*time.Millisecond); generation++ {
		s.writeSource(generation)
		switch rng.IntN(4) {
		case 0:
			_ = os.Remove(s.path(number))
		case 1:
			_ = os.Truncate(s.path(number), 60)
		}
	}
}

// writeSource puts a source in place whose size is its generation.
func (s *soak) writeSource(generation int) {
	source := filepath.Join(s.dir, "source")
	text := fmt.Sprintf("%-*d", 20+generation, generation)
	assert.NoError(s.t, os.WriteFile(source+".new", []byte(text), 0o600))
	assert.NoError(s.t, os.Rename(source+".new", source))
}

// watch sees to it that what caches hold stays within the budget, and a little more:
// what is being loaded, by the goroutines there are.
func (s *soak) watch(rng *rand.Rand) {
	const inFlight = 2 << 20
	for s.rest(rng, time.Millisecond) {
		assert.LessOrEqual(s.t, s.budget.Stats().Resident, int64(soakBudget+inFlight))
	}
}

// Writers replace, truncate, damage and delete files while followers, readers and
// builders use them, under one budget. Every answer is that of the generation of its
// file, every error is a documented one, and nothing is left at the end.
//
//	go test ./lazy -race -run Soak -soak=2m
func TestSoak(t *testing.T) {
	before := resources(t)
	s := &soak{t: t, dir: t.TempDir(), budget: lazy.NewBudget(soakBudget)}
	s.opts = []lazy.Option{lazy.WithBudget(s.budget)}
	var stop context.CancelFunc
	s.ctx, stop = context.WithTimeout(t.Context(), *soakTime)
	defer stop()

	var wg sync.WaitGroup
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	start := func(n int, f func(rng *rand.Rand)) {
		for range n {
			seed++
			rng := rand.New(rand.NewPCG(seed, 0))
			wg.Go(func() { f(rng) })
		}
	}
	followers := make([]*lazy.Follower, soakFiles)
	for i := range followers {
		number := uint64(i + 1)
		require.NoError(t, s.publish(soakFile{number, 1}))
		f, err := lazy.Follow(s.path(number), s.opts...)
		require.NoError(t, err)
		followers[i] = f
		start(1, func(*rand.Rand) {
			err := f.Run(s.ctx, func(_ *lazy.Cache, err error) {
				if err != nil {
					s.refused(err, "Run")
				} else {
					s.swaps.Add(1)
				}
			})
			assert.ErrorIs(t, err, s.ctx.Err())
		})
		start(1, func(rng *rand.Rand) { s.write(number, rng) })
		start(1, func(rng *rand.Rand) { s.damage(number, rng) })
		start(2, func(rng *rand.Rand) { s.follow(number, f, rng) })
		start(2, func(rng *rand.Rand) { s.open(number, rng) })
	}
	s.writeSource(1)
	start(3, func(rng *rand.Rand) { s.build(soakFiles+1, rng) })
	start(1, func(rng *rand.Rand) { s.change(soakFiles+1, rng) })
	start(1, s.watch)
	wg.Wait()
	for _, f := range followers {
		assert.NoError(t, f.Close())
	}
	clear(followers)
	t.Logf("%d answers, %d errors, %d replacements seen, %d builds, %+v",
		s.answers.Load(), s.errors.Load(), s.swaps.Load(), s.builds.Load(), s.budget.Stats())
	assert.Positive(t, s.answers.Load())
	assert.Positive(t, s.swaps.Load())
	assert.Positive(t, s.builds.Load())

	// What was forgotten goes when the collector has found it.
	var after resource
	for range 100 {
		if after = resources(t); after.within(before) && s.budget.Stats().Resident == 0 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("left behind: %+v, before: %+v, budget: %+v", after, before, s.budget.Stats())
}

// resource is what a process holds.
type resource struct {
	descriptors, maps, goroutines int
	heap                          int64
}

func resources(t testing.TB) resource {
	for range 3 {
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	r := resource{goroutines: runtime.NumGoroutine(), heap: int64(m.HeapAlloc)}
	if runtime.GOOS == "linux" {
		open, err := os.ReadDir("/proc/self/fd")
		require.NoError(t, err)
		r.descriptors = len(open)
		maps, err := os.ReadFile("/proc/self/maps")
		require.NoError(t, err)
		r.maps = strings.Count(string(maps), ".ztac")
	}
	return r
}

// within leaves room in the heap for what packages keep in their pools.
func (r resource) within(before resource) bool {
	return r.descriptors <= before.descriptors && r.maps <= before.maps &&
		r.goroutines <= before.goroutines && r.heap <= before.heap+4<<20
}
