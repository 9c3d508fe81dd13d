package lazy_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
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
