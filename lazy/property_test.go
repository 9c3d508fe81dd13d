package lazy_test

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/tracecache/internal/gen"
	"example.com/tracecache/lazy"
	"example.com/tracecache/trace"
	"example.com/tracecache/writer"
)

// Entries that share an address in their thousands, names and holes mixed, cost a
// look-up nothing and change no answer.
func TestManyEntriesAtOneAddress(t *testing.T) {
	var l linear
	add := func(addr uint64, n int, name func(i int) string) {
		for i := range n {
			l.symbols = append(l.symbols, trace.Symbol{Address: addr, Name: name(i)})
		}
	}
	hole := func(int) string { return "" }
	named := func(i int) string { return fmt.Sprint("f", i) }
	add(0x60, 3, hole)
	add(0x10, 40, hole)
	add(0x20, 70, func(i int) string { return []string{"", "", "x", "y"}[i%4] })
	add(0x30, 33, named)
	add(0x40, 1, named)
	add(0x50, 32, hole)
	add(0x50, 1, named)
	for range 2 { // as it is, then ascending
		symbols, _ := openBoth(t, l.file())
		for _, s := range symbols {
			l.check(t, s, l.edges())
		}
		slices.SortStableFunc(l.symbols, func(a, b trace.Symbol) int { return cmp.Compare(a.Address, b.Address) })
	}

	l = linear{}
	add(0x10, 200_000, named)
	add(0x20, 200_000, hole)
	add(0x20, 1, named)
	c, err := lazy.OpenBytes(l.file())
	require.NoError(t, err)
	s, err := c.Symbols()
	require.NoError(t, err)
	start := time.Now()
	for range 20_000 {
		s.Find(0x11)
		s.Find(0x21)
		s.Resolve(0x20)
	}
	// Walking over the entries takes a minute.
	assert.Less(t, time.Since(start), 10*time.Second)
}

// check compares every way into symbols with l, at the given addresses.
func (l linear) check(t testing.TB, s *lazy.Symbols, addrs []uint64) {
	t.Helper()
	require.Equal(t, len(l.symbols), s.Len())
	i := 0
	for addr, name := range s.All() {
		at, nameAt := s.At(i)
		require.Equal(t, l.symbols[i], trace.Symbol{Address: addr, Name: name}, "All, entry %d", i)
		require.Equal(t, l.symbols[i], trace.Symbol{Address: at, Name: nameAt}, "At(%d)", i)
		i++
	}
	require.Equal(t, len(l.symbols), i)
	for _, addr := range addrs {
		names := l.aliases(addr)
		if got := slices.Collect(s.Aliases(addr)); !slices.Equal(names, got) {
			require.Equal(t, names, got, "Aliases(%#x) of %+v", addr, l)
		}
		name, ok := s.Resolve(addr)
		if ok != (len(names) > 0) || ok && name != names[0] || !ok && name != "" {
			require.Fail(t, "Resolve", "%#x: got %q, %v, expected the first of %q of %+v", addr, name, ok, names, l)
		}
		want, reason := l.find(addr)
		got, ok := s.Find(addr)
		if got != want || ok != (reason == lazy.Found) {
			require.Fail(t, "Find", "%#x: got %+v, %v, expected %+v, %v of %+v", addr, got, ok, want, reason, l)
		}
		if r := s.Explain(addr); r != reason {
			require.Fail(t, "Explain", "%#x: got %v, expected %v of %+v", addr, r, reason, l)
		}
	}
	l.checkBatches(t, s, addrs)
}

func (l linear) checkStacks(t testing.TB, s *lazy.Callstacks, ids []uint32) {
	t.Helper()
	same := func(want trace.Callstack, got lazy.Callstack) {
		t.Helper()
		require.Equal(t, want.ID, got.ID)
		require.Equal(t, len(want.Frames), len(got.Frames))
		for i, f := range got.Frames {
			require.Equal(t, want.Frames[i], trace.Frame{Address: f.Address, ModuleIndex: f.ModuleIndex, Offset: uint64(f.Offset)})
		}
	}
	require.Equal(t, len(l.stacks), s.Len())
	i := 0
	for stack := range s.All() {
		same(l.stacks[i], stack)
		same(l.stacks[i], s.At(i))
		i++
	}
	require.Equal(t, len(l.stacks), i)
	for _, id := range ids {
		want, wantOK := l.stack(id)
		got, ok := s.ByID(id)
		require.Equal(t, wantOK, ok, "id %d", id)
		same(want, got)
	}
}

// pools make addresses of one kind.
var pools = map[string]func(rng *rand.Rand) uint64{
	"random": func(rng *rand.Rand) uint64 { return rng.Uint64() },
	"clustered": func(rng *rand.Rand) uint64 {
		return (rng.Uint64N(4)<<62 | 0x40_0000) + 16*rng.Uint64N(40)
	},
	"dense":      func(rng *rand.Rand) uint64 { return 1<<32 - 20 + rng.Uint64N(40) },
	"duplicated": func(rng *rand.Rand) uint64 { return 1000 * rng.Uint64N(4) },
	"extreme": func(rng *rand.Rand) uint64 {
		return []uint64{0, 1 << 31, 1 << 32, 1 << 63, math.MaxUint64}[rng.IntN(5)] + rng.Uint64N(3) - 1
	},
}

// randomLinear is symbols, modules and callstacks of addresses of one kind.
func randomLinear(rng *rand.Rand, pool func(*rand.Rand) uint64) (l linear) {
	holes := rng.IntN(4) // in thirds
	for i := range rng.IntN(60) {
		s := trace.Symbol{Address: pool(rng), Name: fmt.Sprintf("f%d", i)}
		if rng.IntN(3) < holes {
			s.Name = ""
		}
		l.symbols = append(l.symbols, s)
	}
	if rng.IntN(2) == 0 {
		slices.SortStableFunc(l.symbols, func(a, b trace.Symbol) int { return cmp.Compare(a.Address, b.Address) })
	}
	for i := range rng.IntN(3) * rng.IntN(6) {
		m := trace.Module{Name: fmt.Sprintf("m%d", i), Base: pool(rng)}
		switch rng.IntN(5) {
		case 0: // up to the next
		case 1:
			m.Size = 1 + rng.Uint64N(40)
		case 2:
			m.Size = pool(rng) - m.Base
		case 3:
			m.Size = -m.Base // to the very end, or, for 0, no size
		case 4:
			m.Size = rng.Uint64() // past the end, more often than not
		}
		l.modules = append(l.modules, m)
	}
	for range rng.IntN(12) {
		stack := trace.Callstack{ID: rng.Uint32N(8)}
		for range rng.IntN(4) {
			stack.Frames = append(stack.Frames, trace.Frame{Address: pool(rng), ModuleIndex: rng.Uint32(), Offset: uint64(rng.Uint32())})
		}
		l.stacks = append(l.stacks, stack)
	}
	return l
}

// Every look-up gives what a scan of the whole array gives, whatever the array
// and the modules look like.
func TestLookupsAreLinearScans(t *testing.T) {
	for name, pool := range pools {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 7))
			reasons := map[lazy.Reason]int{}
			for range 500 {
				l := randomLinear(rng, pool)
				addrs := append(l.edges(), pool(rng), rng.Uint64())
				symbols, c := openBoth(t, l.file())
				for _, s := range symbols {
					l.check(t, s, addrs)
				}
				stacks, err := c.Callstacks()
				require.NoError(t, err)
				l.checkStacks(t, stacks, []uint32{0, 1, 2, 3, 4, 5, 6, 7, 8, math.MaxUint32})
				for _, addr := range addrs {
					_, r := l.find(addr)
					reasons[r]++
				}
			}
			for r := lazy.Found; r <= lazy.InHole; r++ {
				require.Greater(t, reasons[r], 20, "too few of: %v", r)
			}
		})
	}
}

// A written model comes back, and is looked up as a scan of it says.
func TestGeneratedModels(t *testing.T) {
	for name, config := range map[string]gen.Config{
		"clustered": {Seed: 1, Symbols: 3000, Holes: 700, Callstacks: 300},
		"uniform":   {Seed: 2, Symbols: 3000, Holes: 1500, Callstacks: 300, Spread: gen.Uniform},
		"sparse":    {Seed: 3, Symbols: 30, Callstacks: 1},
	} {
		t.Run(name, func(t *testing.T) {
			m := gen.Model(config)
			var b bytes.Buffer
			_, err := writer.Write(&b, m)
			require.NoError(t, err)
			c, err := lazy.OpenBytes(b.Bytes())
			require.NoError(t, err)
			require.NoError(t, c.Verify(t.Context()))
			got, err := c.Model()
			require.NoError(t, err)
			require.Equal(t, describe(m), describe(got))

			l := linear{m.Symbols, m.Modules, m.Callstacks}
			symbols, _ := openBoth(t, b.Bytes())
			addrs := l.edges()
			rng := rand.New(rand.NewPCG(1, 8))
			rng.Shuffle(len(addrs), func(i, j int) { addrs[i], addrs[j] = addrs[j], addrs[i] })
			for _, s := range symbols {
				l.check(t, s, addrs[:min(len(addrs), 1000)])
			}
			stacks, err := c.Callstacks()
			require.NoError(t, err)
			l.checkStacks(t, stacks, []uint32{0, 1, 2, 299, 300, 301})
		})
	}
}

// FuzzFind compares look-ups in any array with any modules with a linear scan.
// An entry is 9 bytes: the address and which name, 0 for a hole. A module is 16
// bytes: base and size.
func FuzzFind(f *testing.F) {
	le := binary.LittleEndian
	entries := func(name byte, addrs ...uint64) (b []byte) {
		for i, a := range addrs {
			b = append(le.AppendUint64(b, a), name*byte(i+1))
		}
		return b
	}
	words := func(vs ...uint64) (b []byte) {
		for _, v := range vs {
			b = le.AppendUint64(b, v)
		}
		return b
	}
	f.Add([]byte{}, []byte{}, uint64(0))
	f.Add(entries(1, 0x1000, 0x1010, 0x1020), words(0x1000, 0x20, 0x1020, 0), uint64(0x1025))
	f.Add(entries(1, 5, 5, 3, math.MaxUint64, 0), words(4, math.MaxUint64, 4, 1), uint64(4))
	f.Add(slices.Concat(entries(1, 10, 20), entries(0, 15, 10, 25)), words(0, 0), uint64(17))
	f.Add(entries(1, 10, 30), words(0, 100, 20, 5, 20, 0), uint64(26))
	f.Fuzz(func(t *testing.T, array, modules []byte, pc uint64) {
		var l linear
		for b := range slices.Chunk(array[:min(len(array), 9*200)], 9) {
			if len(b) < 9 {
				break
			}
			s := trace.Symbol{Address: le.Uint64(b)}
			if b[8] != 0 {
				s.Name = fmt.Sprintf("f%d", b[8])
			}
			l.symbols = append(l.symbols, s)
		}
		for b := range slices.Chunk(modules[:min(len(modules), 16*20)], 16) {
			if len(b) < 16 {
				break
			}
			name := fmt.Sprintf("m%d", len(l.modules))
			l.modules = append(l.modules, trace.Module{Name: name, Base: le.Uint64(b), Size: le.Uint64(b[8:])})
		}
		symbols, _ := openBoth(t, l.file())
		for _, s := range symbols {
			l.check(t, s, append(l.edges(), pc))
		}
	})
}
