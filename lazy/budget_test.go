package lazy_test

import (
	"bytes"
	"io"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/tracecache/lazy"
	"example.com/tracecache/pod"
)

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

// panickingReader panics when a section is read.
type panickingReader struct {
	io.ReaderAt
	panics bool
}

func (r *panickingReader) ReadAt(p []byte, off int64) (int, error) {
	if r.panics {
		panic("no such reader")
	}
	return r.ReaderAt.ReadAt(p, off)
}

// A look-up that its reader panics in, on the caller's goroutine, leaves nothing behind
// that could not be dropped.
func TestBudgetAfterPanic(t *testing.T) {
	b, m := cacheFile(t, 20_000) // more than is read ahead
	r := &panickingReader{ReaderAt: bytes.NewReader(b)}
	pair := rawSize(t, openBuf(t, b), pod.SectionStringTable, pod.SectionSymbols)
	budget := lazy.NewBudget(2 * pair)
	c, err := lazy.NewReader(r, int64(len(b)), lazy.WithBudget(budget))
	require.NoError(t, err)
	_, err = c.LookupExact(m.Symbols[0].Address)
	require.NoError(t, err)
	r.panics = true
	panicked := false
	for _, sym := range m.Symbols {
		func() {
			defer func() { panicked = recover() != nil || panicked }()
			_, _ = c.LookupExact(sym.Address)
		}()
	}
	require.True(t, panicked)
	other := openBuf(t, b, lazy.WithBudget(budget))
	require.NoError(t, other.Load(t.Context()))
	require.NoError(t, other.Load(t.Context(), pod.SectionSymbols))
	assert.LessOrEqual(t, budget.Stats().Resident, budget.Stats().Limit)
	assert.Less(t, c.Stats().Resident, pair, "the other cache needed the room")
	runtime.KeepAlive(c)
}
