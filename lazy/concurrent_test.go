package lazy_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"example.com/tracecache/internal/gen"
	"example.com/tracecache/lazy"
	"example.com/tracecache/pod"
	"example.com/tracecache/writer"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(buildsAndWaits); path != "" {
		buildAsChild(path)
	}
	goleak.VerifyTestMain(m)
}

// countingReader counts the bytes read from each place, and can hold reads up.
type countingReader struct {
	io.ReaderAt
	mu    sync.Mutex
	reads map[int64]int
	gate  chan struct{} // reads of sections wait until it is closed; nil: they do not
	fail  atomic.Pointer[error]
}

func (r *countingReader) ReadAt(p []byte, off int64) (int, error) {
	if err := r.fail.Load(); err != nil {
		return 0, *err
	}
	if r.gate != nil && off >= pod.DataOffset {
		<-r.gate
	}
	r.mu.Lock()
	r.reads[off]++
	r.mu.Unlock()
	return r.ReaderAt.ReadAt(p, off)
}

func openCounting(t testing.TB, name string, gate chan struct{}) (*lazy.Cache, *countingReader) {
	t.Helper()
	b := readForeign(t, name)
	r := &countingReader{ReaderAt: bytes.NewReader(b), reads: map[int64]int{}, gate: gate}
	c, err := lazy.NewReader(r, int64(len(b)))
	require.NoError(t, err)
	return c, r
}

// 64 goroutines that ask for one cold section get one decode and one value.
func TestStampede(t *testing.T) {
	gate := make(chan struct{})
	c, r := openCounting(t, "blocks", gate)
	var wg sync.WaitGroup
	got := make([]*lazy.Symbols, 64)
	for i := range got {
		wg.Go(func() {
			s, err := c.Symbols()
			assert.NoError(t, err)
			got[i] = s
		})
	}
	close(gate)
	wg.Wait()
	for _, s := range got {
		assert.Same(t, got[0], s)
	}
	for off, n := range r.reads {
		assert.Equal(t, 1, n, "reads at offset %#x", off)
	}
}

// A load goes on while anyone waits for it, and stops when nobody does; what a
// cancelled call was refused, the next one gets.
func TestCancelledWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		c, _ := openCounting(t, "blocks", gate)
		ctx, cancel := context.WithCancel(t.Context())
		results := make(chan error, 2)
		go func() { results <- c.Load(ctx, pod.SectionCallstacks) }()
		synctest.Wait()
		go func() { results <- c.Load(t.Context(), pod.SectionCallstacks) }()
		synctest.Wait()
		cancel()
		assert.ErrorIs(t, <-results, context.Canceled, "the call whose context ended")
		synctest.Wait()
		assert.Empty(t, results, "the other one goes on waiting")
		close(gate)
		assert.NoError(t, <-results)
	})
}

func TestAbandonedLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		c, _ := openCounting(t, "blocks", gate)
		ctx, cancel := context.WithCancel(t.Context())
		first := make(chan error, 1)
		go func() { first <- c.Load(ctx, pod.SectionSymbols) }()
		synctest.Wait()
		cancel()
		assert.ErrorIs(t, <-first, context.Canceled)
		// The abandoned load still hangs in a read. A new call must not take
		// its error for its own.
		second := make(chan error, 1)
		go func() { second <- c.Load(t.Context(), pod.SectionSymbols) }()
		synctest.Wait()
		close(gate)
		assert.NoError(t, <-second)
	})
}

// An error of the moment is not kept.
func TestReadErrorIsNotKept(t *testing.T) {
	c, r := openCounting(t, "plain", nil)
	broken := io.ErrNoProgress
	err := error(broken)
	r.fail.Store(&err)
	for _, get := range accessors {
		err := get(c)
		assert.ErrorIs(t, err, lazy.ErrIO)
		assert.ErrorIs(t, err, broken)
	}
	r.fail.Store(nil)
	for _, get := range accessors {
		assert.NoError(t, get(c))
	}
}

// exitingReader ends the goroutine that reads a section, as t.FailNow in a fake
// reader does.
type exitingReader struct{ io.ReaderAt }

func (r exitingReader) ReadAt(p []byte, off int64) (int, error) {
	if off > 8000 { // of the blocks, not of header and tables
		runtime.Goexit()
	}
	return r.ReaderAt.ReadAt(p, off)
}

// A reader that ends the goroutine it is called on leaves nobody waiting, and
// nothing undecoded is taken for decoded.
func TestReaderThatExits(t *testing.T) {
	var b bytes.Buffer // more than is read ahead
	_, err := writer.Write(&b, gen.Model(gen.Config{Seed: 4, Symbols: 20_000, Callstacks: 10}), writer.WithCodec(pod.MethodNone))
	require.NoError(t, err)
	c, err := lazy.NewReader(exitingReader{bytes.NewReader(b.Bytes())}, int64(b.Len()))
	require.NoError(t, err)
	failed := 0
	for _, get := range accessors {
		if err := get(c); err != nil {
			assert.ErrorIs(t, err, lazy.ErrIO)
			failed++
		}
	}
	assert.NotZero(t, failed)
}

// What is handed out stays as it was after Close and after the collector ran
// over memory that was given back.
func TestHandlesOutliveClose(t *testing.T) {
	c := openForeign(t, "plain")
	want := readWant(t, "plain")
	symbols, err := c.Symbols()
	require.NoError(t, err)
	strings, err := c.Strings()
	require.NoError(t, err)
	stacks, err := c.Callstacks()
	require.NoError(t, err)
	md, err := c.Metadata()
	require.NoError(t, err)
	require.NoError(t, c.Close())
	require.NoError(t, c.Close(), "closing twice")
	c = nil

	fillMemory()
	for i, sym := range want.Symbols {
		addr, name := symbols.At(i)
		assert.Equal(t, sym.Address, addr)
		assert.Equal(t, sym.Name, name)
	}
	for i, stack := range want.Callstacks {
		got := stacks.At(i)
		require.Len(t, got.Frames, len(stack.Frames))
		for j, f := range stack.Frames {
			assert.Equal(t, f.Address, got.Frames[j].Address)
		}
	}
	session, err := md.Session()
	require.NoError(t, err)
	assert.Equal(t, want.Session, session)
	assert.NotZero(t, strings.Len())
}

// fillMemory lets the collector take what it can and writes over it.
func fillMemory() {
	for range 4 {
		runtime.GC()
		debug.FreeOSMemory()
		junk := make([][]byte, 64)
		for i := range junk {
			junk[i] = bytes.Repeat([]byte{0xa5}, 64<<10)
		}
		runtime.KeepAlive(junk)
	}
}

func TestClosed(t *testing.T) {
	c := openForeign(t, "plain")
	_, err := c.Strings()
	require.NoError(t, err)
	require.NoError(t, c.Close())
	for id, get := range accessors {
		assert.ErrorIs(t, get(c), lazy.ErrClosed, "%v", id)
	}
	_, err = c.Model()
	assert.ErrorIs(t, err, lazy.ErrClosed)
	_, err = c.Info(pod.SectionMemory)
	assert.ErrorIs(t, err, lazy.ErrClosed)
	assert.ErrorIs(t, c.Load(t.Context()), lazy.ErrClosed)
	assert.ErrorIs(t, c.Verify(t.Context()), lazy.ErrClosed)
	assert.ErrorIs(t, c.Fresh("x"), lazy.ErrClosed)
}

// Close beside readers: each call gives the right answer or ErrClosed.
func TestCloseBesideReaders(t *testing.T) {
	want := describe(readWant(t, "blocks"))
	for range 50 {
		c := openForeign(t, "blocks")
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				m, err := c.Model()
				if err != nil {
					assert.ErrorIs(t, err, lazy.ErrClosed)
					return
				}
				assert.Equal(t, want, describe(m))
			})
			wg.Go(func() {
				if err := c.Verify(context.Background()); err != nil {
					assert.ErrorIs(t, err, lazy.ErrClosed)
				}
			})
		}
		wg.Go(func() { assert.NoError(t, c.Close()) })
		wg.Wait()
	}
}

// Slices that are handed out end where their data ends: what a caller appends
// goes elsewhere.
func TestCapacities(t *testing.T) {
	c := openForeign(t, "plain")
	md, err := c.Metadata()
	require.NoError(t, err)
	mem, err := c.Memory()
	require.NoError(t, err)
	stacks, err := c.Callstacks()
	require.NoError(t, err)
	clipped := func(n, capacity int) { t.Helper(); assert.Equal(t, n, capacity) }
	clipped(len(md.Threads()), cap(md.Threads()))
	clipped(len(md.Channels()), cap(md.Channels()))
	clipped(len(md.Modules()), cap(md.Modules()))
	clipped(len(md.EventTypeCounts()), cap(md.EventTypeCounts()))
	clipped(len(md.ScopeStats()), cap(md.ScopeStats()))
	clipped(len(mem.Heaps()), cap(mem.Heaps()))
	clipped(len(mem.HeapStats()), cap(mem.HeapStats()))
	clipped(len(mem.CallstackStats()), cap(mem.CallstackStats()))
	clipped(len(mem.ChurnStats()), cap(mem.ChurnStats()))
	for i := range md.Modules() {
		clipped(len(md.ImageID(i)), cap(md.ImageID(i)))
	}
	for stack := range stacks.All() {
		clipped(len(stack.Frames), cap(stack.Frames))
	}
	m, err := c.Model()
	require.NoError(t, err)
	for _, stack := range m.Callstacks {
		clipped(len(stack.Frames), cap(stack.Frames))
	}
}

// Look-ups allocate nothing.
func TestLookupsDoNotAllocate(t *testing.T) {
	c := openForeign(t, "plain")
	s, err := c.Symbols()
	require.NoError(t, err)
	addr, _ := s.At(s.Len() / 2)
	var sink int
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		name, _ := s.Resolve(addr)
		sym, _ := s.Find(addr + 1)
		sink += len(name) + len(sym.Name) + len(sym.Module) + int(s.Explain(addr-1))
		same, _ := c.Symbols()
		sink += same.Len()
	}))
}
