package lazy_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/tracecache/internal/gen"
	"example.com/tracecache/lazy"
	"example.com/tracecache/pod"
	"example.com/tracecache/trace"
	"example.com/tracecache/writer"
)

// cacheFile writes a cache of so many symbols, with blocks of 4 KiB, and returns its
// bytes and its model.
func cacheFile(t testing.TB, symbols int) ([]byte, *trace.Model) {
	t.Helper()
	m := gen.Model(gen.Config{Seed: uint64(symbols), Symbols: symbols, Callstacks: 20})
	var b bytes.Buffer
	_, err := writer.Write(&b, m, writer.WithBlockSize(4<<10))
	require.NoError(t, err)
	return b.Bytes(), m
}

func openBuf(t testing.TB, b []byte, opts ...lazy.Option) *lazy.Cache {
	t.Helper()
	c, err := lazy.OpenBytes(b, opts...)
	require.NoError(t, err)
	return c
}

// rawSize is how many bytes sections decompress to, as their headers say.
func rawSize(t testing.TB, c *lazy.Cache, ids ...pod.Section) (n int64) {
	t.Helper()
	for _, id := range ids {
		info, err := c.Info(id)
		require.NoError(t, err)
		n += int64(info.Header.TotalRawSize)
	}
	return n
}

// residentSize is what a section takes in memory: more than its bytes on hosts that
// need a copy of its records.
func residentSize(t testing.TB, b []byte, id pod.Section) int64 {
	t.Helper()
	c := openBuf(t, b)
	require.NoError(t, c.Load(t.Context(), id))
	return c.Stats().Sections[id].Resident
}

// eventually lets the collector run until ok holds.
func eventually(t testing.TB, ok func() bool, what string) {
	t.Helper()
	for range 200 {
		if runtime.GC(); ok() {
			return
		}
		time.Sleep(5 * time.Millisecond) // cleanups have a goroutine of their own
	}
	t.Errorf("not after many collections: %s", what)
}

// What was handed out goes on answering after Release, and its memory goes with it.
func TestRelease(t *testing.T) {
	b, m := cacheFile(t, 3000)
	c := openBuf(t, b)
	symbols, err := c.Symbols()
	require.NoError(t, err)
	stacks, err := c.Callstacks()
	require.NoError(t, err)
	mem, err := c.Memory()
	require.NoError(t, err)
	name, err := c.LookupExact(m.Symbols[7].Address)
	require.NoError(t, err)

	loaded := c.Stats()
	assert.GreaterOrEqual(t, loaded.Resident, rawSize(t, c, pod.Sections[:]...))
	assert.Zero(t, loaded.Released)
	c.Release()
	st := c.Stats()
	assert.Zero(t, st.Resident)
	assert.Equal(t, loaded.Resident, st.Released)
	for _, one := range st.Sections {
		assert.Equal(t, lazy.Cold, one.State)
	}

	fillMemory()
	assert.Equal(t, m.Symbols[7].Name, name)
	for i, want := range m.Symbols {
		addr, name := symbols.At(i)
		require.Equal(t, want, trace.Symbol{Address: addr, Name: name})
		got, _ := symbols.Resolve(addr)
		require.Equal(t, want.Name, got)
	}
	for i, want := range m.Callstacks {
		for k, frame := range stacks.At(i).Frames {
			require.Equal(t, want.Frames[k].Address, frame.Address)
		}
	}
	for i, want := range m.CallstackStats {
		require.Equal(t, want.LiveBytes, mem.CallstackStats()[i].LiveBytes)
	}

	// It is there again when it is asked for, in other memory.
	again, err := c.Symbols()
	require.NoError(t, err)
	assert.NotSame(t, symbols, again)
	got, ok := again.Resolve(m.Symbols[3].Address)
	assert.True(t, ok)
	assert.Equal(t, m.Symbols[3].Name, got)
	assert.EqualValues(t, 2, c.Stats().Sections[pod.SectionSymbols].Loads)

	runtime.KeepAlive(symbols)
	symbols, stacks, mem = nil, nil, nil
	released := func(id pod.Section) int64 { return c.Stats().Sections[id].Released }
	eventually(t, func() bool { return released(pod.SectionSymbols) == 0 && released(pod.SectionCallstacks) == 0 }, "handles gone")
	assert.Positive(t, released(pod.SectionStringTable), "a name is left")
	runtime.KeepAlive(name)
	name, got = "", ""
	again = nil
	eventually(t, func() bool { return c.Stats().Released == 0 }, "all gone")
}

// Symbols are of no use without their names; the rest of the string table's users are
// made anew of what is there.
func TestReleaseOfOneSection(t *testing.T) {
	b, m := cacheFile(t, 500)
	for _, id := range pod.Sections {
		c := openBuf(t, b)
		require.NoError(t, c.Load(t.Context()))
		c.Release(id)
		gone := map[pod.Section]bool{id: true}
		if id == pod.SectionStringTable {
			gone[pod.SectionSymbols] = true
		}
		for other, st := range c.Stats().Sections {
			assert.Equal(t, gone[pod.Section(other)], st.State == lazy.Cold, "%v released, %v is %v", id, pod.Section(other), st.State)
			assert.Equal(t, gone[pod.Section(other)], st.Resident == 0)
		}
		got, err := c.Model()
		require.NoError(t, err)
		assert.Equal(t, describe(m), describe(got))
		for other, st := range c.Stats().Sections {
			want := int64(1)
			if gone[pod.Section(other)] {
				want = 2
			}
			assert.Equal(t, want, st.Loads, "%v released, %v", id, pod.Section(other))
		}
	}
	c := openBuf(t, b)
	c.Release(99)
	c.Release()
	assert.Zero(t, c.Stats().Resident)
}

// A load in flight is for those who wait for it.
func TestReleaseBesideLoad(t *testing.T) {
	gate := make(chan struct{})
	c, _ := openCounting(t, "blocks", gate)
	got := make(chan *lazy.Symbols)
	go func() {
		s, err := c.Symbols()
		assert.NoError(t, err)
		got <- s
	}()
	for c.Stats().Sections[pod.SectionSymbols].State != lazy.Loading {
		runtime.Gosched()
	}
	c.Release()
	close(gate)
	symbols := <-got
	want := readWant(t, "blocks")
	addr, name := symbols.At(5)
	assert.Equal(t, want.Symbols[5], trace.Symbol{Address: addr, Name: name})
	again, err := c.Symbols()
	require.NoError(t, err)
	assert.Equal(t, symbols.Len(), again.Len())
	c.Release()
	assert.Zero(t, c.Stats().Resident)
}

func TestStates(t *testing.T) {
	b, m := cacheFile(t, 3000)
	c := openBuf(t, b)
	st := c.Stats()
	assert.False(t, st.Mapped)
	var stored int64
	for _, id := range pod.Sections {
		info, err := c.Info(id)
		require.NoError(t, err)
		assert.EqualValues(t, info.Entry.CompressedSize, st.Sections[id].Stored)
		stored += st.Sections[id].Stored
		assert.Equal(t, lazy.Cold, st.Sections[id].State)
	}
	assert.Equal(t, stored, st.Stored)

	_, err := c.LookupExact(m.Symbols[0].Address)
	require.NoError(t, err)
	st = c.Stats()
	assert.Equal(t, lazy.Partial, st.Sections[pod.SectionSymbols].State)
	assert.Equal(t, lazy.Cold, st.Sections[pod.SectionCallstacks].State)
	assert.Equal(t, rawSize(t, c, pod.SectionSymbols, pod.SectionStringTable), st.Resident)
	assert.Positive(t, st.Sections[pod.SectionSymbols].Spent)
	assert.Zero(t, st.Sections[pod.SectionSymbols].Loads)

	require.NoError(t, c.Load(t.Context(), pod.SectionCallstacks))
	assert.Equal(t, lazy.Loaded, c.Stats().Sections[pod.SectionCallstacks].State)
	require.NoError(t, c.Close())
	assert.Zero(t, c.Stats().Resident, "after Close")

	damaged := bytes.Clone(b)
	info, err := openBuf(t, b).Info(pod.SectionCallstacks)
	require.NoError(t, err)
	damaged[info.Entry.FileOffset+info.Entry.CompressedSize-1] ^= 1
	c = openBuf(t, damaged)
	_, first := c.Callstacks()
	require.ErrorIs(t, first, lazy.ErrChecksum)
	one := c.Stats().Sections[pod.SectionCallstacks]
	assert.Equal(t, lazy.Failed, one.State)
	assert.ErrorIs(t, one.Err, lazy.ErrChecksum)
	c.Release()
	_, again := c.Callstacks()
	assert.Equal(t, first, again, "damage is final")

	assert.Equal(t, "cold partial loading loaded failed", strings.Join([]string{lazy.Cold.String(), lazy.Partial.String(),
		lazy.Loading.String(), lazy.Loaded.String(), lazy.Failed.String()}, " "))
}

// The section that was not asked for for the longest time goes first, whichever cache
// it is of.
func TestBudgetDropsTheLeastRecentlyUsed(t *testing.T) {
	b, _ := cacheFile(t, 500)
	size := residentSize(t, b, pod.SectionCallstacks)
	budget := lazy.NewBudget(3*size + size/2)
	caches := make([]*lazy.Cache, 5)
	for i := range caches {
		caches[i] = openBuf(t, b, lazy.WithBudget(budget))
	}
	ask := func(i int) {
		_, err := caches[i].Callstacks()
		require.NoError(t, err)
	}
	resident := func() (is []int) {
		for i, c := range caches {
			if c.Stats().Resident > 0 {
				is = append(is, i)
			}
		}
		return is
	}
	for _, i := range []int{0, 1, 2} {
		ask(i)
	}
	ask(0)
	ask(3) // 1 is the oldest now
	assert.Equal(t, []int{0, 2, 3}, resident())
	ask(2)
	ask(1) // 0 is
	assert.Equal(t, []int{1, 2, 3}, resident())
	ask(4) // 3 is
	assert.Equal(t, []int{1, 2, 4}, resident())
	assert.LessOrEqual(t, budget.Stats().Resident, budget.Stats().Limit)
	assert.Equal(t, 5, budget.Stats().Caches)
	require.NoError(t, caches[4].Close())
	assert.Equal(t, 4, budget.Stats().Caches)
	assert.Equal(t, []int{1, 2}, resident())
}

// What can never fit is an error, each time, of that section only.
func TestBudgetTooSmall(t *testing.T) {
	b, m := cacheFile(t, 3000)
	c := openBuf(t, b)
	require.NoError(t, c.Load(t.Context(), pod.SectionSymbols))
	st := c.Stats()
	pair := st.Sections[pod.SectionSymbols].Resident + st.Sections[pod.SectionStringTable].Resident
	raw := rawSize(t, c, pod.SectionSymbols, pod.SectionStringTable)
	require.Less(t, raw, pair, "an index takes memory")

	for _, limit := range []int64{0, 1000, raw - 1, raw, pair - 1} {
		budget := lazy.NewBudget(limit)
		c := openBuf(t, b, lazy.WithBudget(budget))
		for range 2 {
			_, err := c.Symbols()
			require.ErrorIs(t, err, lazy.ErrTooLarge, "%d of %d", limit, pair)
			var e *pod.Error
			require.ErrorAs(t, err, &e)
			assert.Equal(t, pod.SectionSymbols, e.Section)
			if limit < raw {
				_, err = c.LookupExact(m.Symbols[0].Address)
				assert.ErrorIs(t, err, lazy.ErrTooLarge)
			}
		}
		assert.LessOrEqual(t, budget.Stats().Resident, limit)
		assert.NotEqual(t, lazy.Failed, c.Stats().Sections[pod.SectionSymbols].State, "it is not the section's fault")
		if limit > 1000 {
			_, err := c.Callstacks()
			assert.NoError(t, err)
		}
	}
	budget := lazy.NewBudget(pair)
	c = openBuf(t, b, lazy.WithBudget(budget))
	first, err := c.Symbols()
	require.NoError(t, err)
	again, err := c.Symbols()
	require.NoError(t, err)
	assert.Same(t, first, again, "it stays")
	assert.LessOrEqual(t, budget.Stats().Resident, pair)
	got, err := c.Model()
	require.NoError(t, err)
	assert.Equal(t, describe(m), describe(got))
}

// Many caches, many goroutines, little room.
func TestBudgetOfManyCaches(t *testing.T) {
	const caches, workers = 100, 8
	b, m := cacheFile(t, 800)
	whole := openBuf(t, b)
	require.NoError(t, whole.Load(t.Context()))
	one := whole.Stats().Resident
	limit := 6 * one
	budget := lazy.NewBudget(limit)
	var all [caches]*lazy.Cache
	for i := range all {
		all[i] = openBuf(t, b, lazy.WithBudget(budget))
	}
	rounds := 400
	if testing.Short() {
		rounds = 100
	}
	var wg sync.WaitGroup
	for w := range workers {
		rng := rand.New(rand.NewPCG(1, uint64(w)))
		wg.Go(func() {
			for range rounds {
				c := all[rng.IntN(caches)]
				want := m.Symbols[rng.IntN(len(m.Symbols))]
				switch rng.IntN(5) {
				case 0, 1:
					s, err := c.Symbols()
					if !assert.NoError(t, err) {
						return
					}
					name, _ := s.Resolve(want.Address)
					assert.Equal(t, want.Name, name)
				case 2:
					name, err := c.LookupExact(want.Address)
					assert.NoError(t, err)
					assert.Equal(t, want.Name, name)
				case 3:
					assert.NoError(t, c.Load(t.Context()))
				case 4:
					c.Release(pod.Sections[rng.IntN(5)])
				}
				assert.LessOrEqual(t, budget.Stats().Resident, limit+workers*one)
			}
		})
	}
	wg.Wait()
	assert.LessOrEqual(t, budget.Stats().Resident, limit, "nothing is being loaded")
	eventually(t, func() bool { // the collector may come in between
		var resident, released int64
		for _, c := range all {
			st := c.Stats()
			resident += st.Resident
			released += st.Released
		}
		st := budget.Stats()
		return st.Resident == resident && st.Released == released
	}, "the sums of the caches are the budget's")
	for _, c := range all {
		require.NoError(t, c.Close())
	}
	assert.Zero(t, budget.Stats().Resident)
	assert.Zero(t, budget.Stats().Caches)
	eventually(t, func() bool { return budget.Stats().Released == 0 }, "nothing referred to")
}

// A forgotten cache gives its memory, its mapping and its descriptor back, to the
// budget too.
func TestForgottenCache(t *testing.T) {
	b, _ := cacheFile(t, 500)
	path := filepath.Join(t.TempDir(), "forgotten.ztac")
	require.NoError(t, os.WriteFile(path, b, 0o600))
	budget := lazy.NewBudget(1 << 30)
	func() {
		for range 10 {
			c, err := lazy.Open(path, lazy.WithBudget(budget))
			require.NoError(t, err)
			require.NoError(t, c.Load(t.Context()))
		}
	}()
	eventually(t, func() bool { return budget.Stats() == lazy.BudgetStats{Limit: 1 << 30} }, "ten caches")
	if runtime.GOOS == "linux" {
		eventually(t, func() bool {
			maps, err := os.ReadFile("/proc/self/maps")
			require.NoError(t, err)
			return !bytes.Contains(maps, []byte("forgotten.ztac"))
		}, "mappings")
		links, err := filepath.Glob("/proc/self/fd/*")
		require.NoError(t, err)
		for _, link := range links {
			to, _ := os.Readlink(link)
			assert.NotEqual(t, path, to)
		}
	}
}

// What a cache tells its logger; a handler may use the cache.
func TestLogger(t *testing.T) {
	b, _ := cacheFile(t, 500)
	info, err := openBuf(t, b).Info(pod.SectionMemory)
	require.NoError(t, err)
	b[info.Entry.FileOffset+info.Entry.CompressedSize-1] ^= 1
	var out bytes.Buffer
	var mu sync.Mutex
	var c *lazy.Cache
	h := slog.NewTextHandler(lockedWriter{&mu, &out}, &slog.HandlerOptions{Level: slog.LevelDebug})
	size := residentSize(t, b, pod.SectionCallstacks)
	c = openBuf(t, b, lazy.WithLogger(slog.New(usingHandler{h, func() { _ = c.Stats() }})), lazy.WithBudget(lazy.NewBudget(size)))
	_, err = c.Callstacks()
	require.NoError(t, err)
	for range 2 {
		_, err = c.Memory()
		require.ErrorIs(t, err, lazy.ErrChecksum)
	}
	assert.Equal(t, 1, strings.Count(out.String(), "level=WARN"), out.String())
	assert.Contains(t, out.String(), "section loaded")
	assert.Contains(t, out.String(), "dropped for want of room")
	assert.Contains(t, out.String(), "section=callstacks")
}

type lockedWriter struct {
	mu *sync.Mutex
	w  io.Writer
}

func (w lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.w.Write(p)
}

type usingHandler struct {
	slog.Handler
	use func()
}

func (h usingHandler) Handle(ctx context.Context, r slog.Record) error {
	h.use()
	return h.Handler.Handle(ctx, r)
}

// Close beside loads and releases leaves nothing on the budget, and takes nothing off it
// twice.
func TestBudgetAfterClose(t *testing.T) {
	b, _ := cacheFile(t, 300)
	budget := lazy.NewBudget(1 << 20)
	stays := openBuf(t, b, lazy.WithBudget(budget))
	require.NoError(t, stays.Load(t.Context()))
	want := budget.Stats().Resident
	for range 300 {
		c := openBuf(t, b, lazy.WithBudget(budget))
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() { _, _ = c.Symbols() })
			wg.Go(func() { _, _ = c.Metadata() })
			wg.Go(func() { c.Release() })
		}
		wg.Go(func() { assert.NoError(t, c.Close()) })
		wg.Wait()
		c.Release()
		require.Equal(t, want, budget.Stats().Resident)
		require.Zero(t, c.Stats().Resident)
	}
	eventually(t, func() bool { return budget.Stats().Released == 0 }, "all but one cache gone")
	runtime.KeepAlive(stays)
}

// A Budget that nobody made admits nothing.
func TestZeroBudget(t *testing.T) {
	b, _ := cacheFile(t, 10)
	c := openBuf(t, b, lazy.WithBudget(new(lazy.Budget)))
	_, err := c.Strings()
	assert.ErrorIs(t, err, lazy.ErrTooLarge)
	assert.NoError(t, c.Close())
}
