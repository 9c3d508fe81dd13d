package lazy_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/tracecache/internal/gen"
	"example.com/tracecache/lazy"
	"example.com/tracecache/pod"
	"example.com/tracecache/trace"
	"example.com/tracecache/writer"
)

// written is a cache file of a model.
func written(t testing.TB, m *trace.Model, opts ...writer.Option) []byte {
	t.Helper()
	var b bytes.Buffer
	_, err := writer.Write(&b, m, opts...)
	require.NoError(t, err)
	return b.Bytes()
}

func openBytes(t testing.TB, b []byte, opts ...lazy.Option) *lazy.Cache {
	t.Helper()
	c, err := lazy.OpenBytes(b, opts...)
	require.NoError(t, err)
	return c
}

// checkCold compares Lookup and LookupExact with l.
func (l linear) checkCold(t testing.TB, c *lazy.Cache, addr uint64) {
	t.Helper()
	want, reason := l.find(addr)
	got, err := c.Lookup(addr)
	checkAnswer(t, addr, want, reason, got, err)
	names := l.aliases(addr)
	name, err := c.LookupExact(addr)
	if len(names) > 0 {
		require.NoError(t, err)
		require.Equal(t, names[0], name)
		return
	}
	if reason == lazy.Found {
		reason = lazy.NotAtStart
	}
	require.Empty(t, name)
	require.Equal(t, &lazy.NotFoundError{Address: addr, Reason: reason}, err)
}

func checkAnswer(t testing.TB, addr uint64, want lazy.Symbol, reason lazy.Reason, got lazy.Symbol, err error) {
	t.Helper()
	if reason == lazy.Found {
		require.NoError(t, err, "%#x", addr)
		require.Equal(t, want, got, "%#x", addr)
		return
	}
	require.Equal(t, lazy.Symbol{}, got, "%#x", addr)
	require.ErrorIs(t, err, lazy.ErrNotFound)
	var miss *lazy.NotFoundError
	require.ErrorAs(t, err, &miss)
	require.Equal(t, lazy.NotFoundError{Address: addr, Reason: reason}, *miss)
	require.Equal(t, fmt.Sprintf("%#x: %v", addr, reason), err.Error())
}

// A look-up on a cold cache gives what a scan of the whole array gives.
func TestLookupIsALinearScan(t *testing.T) {
	for name, pool := range pools {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 11))
			for range 200 {
				l := randomLinear(rng, pool)
				c, b := (*lazy.Cache)(nil), l.file()
				for i, addr := range append(l.edges(), pool(rng), rng.Uint64()) {
					if i%5 == 0 {
						c = openBytes(t, b)
					}
					l.checkCold(t, c, addr)
				}
			}
		})
	}
}

// Where the section has many blocks, and runs of one address lie in one block,
// over a boundary, or over whole blocks.
func TestLookupInManyBlocks(t *testing.T) {
	for _, method := range []pod.Method{pod.MethodLZ4, pod.MethodZstd, pod.MethodOodle} {
		rng := rand.New(rand.NewPCG(1, 12))
		var l linear
		addr := uint64(0)
		for len(l.symbols) < 2500 { // 64 in a block
			addr += 1 + rng.Uint64N(3)
			run := []int{1, 1, 2, 1, 1, 2, 3, 1, 1, 1}[rng.IntN(10)]
			if rng.IntN(20) == 0 {
				run = []int{15, 16, 17, 70, 200}[rng.IntN(5)]
			}
			holes := rng.IntN(4)
			for i := range run {
				s := trace.Symbol{Address: addr}
				if rng.IntN(3) >= holes || run > 10 && i == run-1 && rng.IntN(2) == 0 {
					s.Name = fmt.Sprintf("%d_%s", len(l.symbols), bytes.Repeat([]byte{'n'}, rng.IntN(40)))
				}
				l.symbols = append(l.symbols, s)
			}
		}
		for i := range uint64(60) {
			l.modules = append(l.modules, trace.Module{Name: fmt.Sprint("module", i), Base: i * addr / 40, Size: addr / 50})
		}
		b := written(t, &trace.Model{Symbols: l.symbols, Modules: l.modules}, writer.WithCodec(method), writer.WithBlockSize(1<<10))
		edges := l.edges()
		require.Greater(t, len(edges), 300)
		for i := 0; i < len(edges); i += 3 {
			l.checkCold(t, openBytes(t, b), edges[i])
		}
		c := openBytes(t, b)
		rng.Shuffle(len(edges), func(i, j int) { edges[i], edges[j] = edges[j], edges[i] })
		for _, addr := range edges {
			l.checkCold(t, c, addr)
		}
		require.NoError(t, c.Load(t.Context()))
		s, err := c.Symbols()
		require.NoError(t, err)
		l.check(t, s, edges)
	}
}

// Cold answers are those of the loaded symbols, in every file at hand.
func TestLookupAgreesWithFind(t *testing.T) {
	golden, err := filepath.Glob("../testdata/golden/*.ztac")
	require.NoError(t, err)
	foreign, err := filepath.Glob(foreignDir + "/*.ztac")
	require.NoError(t, err)
	for _, path := range slices.Concat(golden, foreign) {
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		warm := openBytes(t, b)
		s, err := warm.Symbols()
		require.NoError(t, err)
		addrs := []uint64{0, 1 << 63, ^uint64(0)}
		for addr := range s.All() {
			addrs = append(addrs, addr-1, addr, addr+1)
		}
		md, err := warm.Metadata()
		require.NoError(t, err)
		for _, m := range md.Modules() {
			addrs = append(addrs, m.Base-1, m.Base, m.Base+m.Size-1, m.Base+m.Size)
		}
		for i := 0; i < len(addrs); i += len(addrs)/200 + 1 {
			addr := addrs[i]
			want, _ := s.Find(addr)
			for _, c := range []*lazy.Cache{warm, openBytes(t, b), openBytes(t, b, lazy.WithHashCheck())} {
				got, err := c.Lookup(addr)
				checkAnswer(t, addr, want, s.Explain(addr), got, err)
				name, ok := s.Resolve(addr)
				exact, err := c.LookupExact(addr)
				require.Equal(t, name, exact)
				require.Equal(t, ok, err == nil)
				require.NoError(t, c.BoundsErr())
			}
		}
	}
}

// Names that reach over many blocks, the last one with no NUL behind it.
func TestLookupLongNames(t *testing.T) {
	var l linear
	for i, n := range []int{10, 300_000, 1 << 20, 3 << 20, 20, 2 << 20} {
		name := fmt.Sprint(i) + string(bytes.Repeat([]byte{'a' + byte(i)}, n))
		l.symbols = append(l.symbols, trace.Symbol{Address: uint64(10 * i), Name: name})
	}
	for _, b := range [][]byte{l.file(), written(t, &trace.Model{Symbols: l.symbols})} {
		for addr := range uint64(60) {
			if addr%10 < 2 {
				l.checkCold(t, openBytes(t, b), addr)
			}
		}
	}
	b := l.file()
	off, size := stored(b, pod.SectionStringTable)
	b[off+size-1] = 'z'
	l.symbols[5].Name += "z"
	for _, addr := range []uint64{51, 11} {
		l.checkCold(t, openBytes(t, b), addr)
	}
}

func TestLookupClosed(t *testing.T) {
	b := readForeign(t, "blocks")
	for _, loaded := range []bool{false, true} {
		c := openBytes(t, b)
		addr := readWant(t, "blocks").Symbols[0].Address
		want, err := c.LookupExact(addr)
		require.NoError(t, err)
		kept, err := c.Lookup(addr)
		require.NoError(t, err)
		if loaded {
			require.NoError(t, c.Load(t.Context()))
		}
		require.NoError(t, c.Close())
		_, err = c.Lookup(addr)
		assert.ErrorIs(t, err, lazy.ErrClosed)
		_, err = c.LookupExact(addr)
		assert.ErrorIs(t, err, lazy.ErrClosed)
		assert.ErrorIs(t, c.BoundsErr(), lazy.ErrClosed)
		fillMemory()
		assert.Equal(t, want, kept.Name)
	}
}

// A reader that fails for a moment fails that call only.
func TestLookupReadErrorIsNotKept(t *testing.T) {
	c, r := openCounting(t, "blocks", nil)
	addr := readWant(t, "blocks").Symbols[7].Address
	err := os.ErrDeadlineExceeded
	r.fail.Store(&err)
	for range 2 {
		_, got := c.Lookup(addr)
		assert.ErrorIs(t, got, err)
		assert.ErrorIs(t, c.BoundsErr(), lazy.ErrIO)
	}
	r.fail.Store(nil)
	_, got := c.Lookup(addr)
	assert.NoError(t, got)
	assert.NoError(t, c.BoundsErr())
}

// Look-ups beside loads and a Close: each gives the right answer or ErrClosed.
func TestLookupBesideLoads(t *testing.T) {
	m := gen.Model(gen.Config{Seed: 6, Symbols: 2000, Holes: 300, Callstacks: 10})
	b := written(t, m, writer.WithBlockSize(1<<10))
	l := linear{symbols: m.Symbols, modules: m.Modules}
	for round := range 20 {
		c := openBytes(t, b)
		var wg sync.WaitGroup
		for g := range uint64(4) {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(uint64(round), g))
				for range 30 {
					addr := m.Symbols[rng.IntN(len(m.Symbols))].Address + rng.Uint64N(3)
					got, err := c.Lookup(addr)
					if errors.Is(err, lazy.ErrClosed) {
						return
					}
					want, reason := l.find(addr)
					if reason == lazy.Found {
						assert.NoError(t, err)
						assert.Equal(t, want, got)
					} else {
						assert.Equal(t, &lazy.NotFoundError{Address: addr, Reason: reason}, err)
					}
				}
			})
		}
		wg.Go(func() {
			if err := c.Load(context.Background(), pod.SectionSymbols); err != nil {
				assert.ErrorIs(t, err, lazy.ErrClosed)
			}
			if round%2 == 0 {
				assert.NoError(t, c.Close())
			}
		})
		wg.Wait()
	}
}
