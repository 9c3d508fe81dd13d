package lazy_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/stretchr/testify/assert"

	"example.com/tracecache/lazy"
	"example.com/tracecache/pod"
	"example.com/tracecache/trace"
)

// held is what was handed out by a cache that may be gone.
type held struct {
	of      soakFile
	symbols *lazy.Symbols
	names   []string // of the first symbols
}

func (s *soak) recheck(h held) {
	for i, name := range h.names {
		assert.Equal(s.t, h.of.name(i), name)
	}
	if h.symbols != nil {
		s.checkSymbols(h.of, h.symbols, rand.New(rand.NewPCG(1, h.of.generation)))
	}
}

// generation is the file that c was opened from, as its header says.
func generation(c *lazy.Cache) soakFile {
	h := c.Header()
	return soakFile{h.SourceFileSize, uint64(h.SourceModTimeNs)}
}

func (s *soak) checkSymbols(f soakFile, symbols *lazy.Symbols, rng *rand.Rand) {
	assert.Equal(s.t, soakSymbols, symbols.Len(), "%v", f)
	var pcs [40]uint64
	var found [len(pcs)]lazy.Symbol
	var want [len(pcs)]int
	for k := range pcs {
		i := rng.IntN(soakSymbols)
		want[k], pcs[k] = i, f.address(i)+rng.Uint64N(soakStep)
		name, _ := symbols.Resolve(f.address(i))
		assert.Equal(s.t, f.name(i), name)
	}
	symbols.FindBatch(pcs[:], found[:])
	for k, sym := range found {
		assert.Equal(s.t, f.name(want[k]), sym.Name)
		if symbols.BoundsErr() == nil {
			assert.Equal(s.t, f.module(), sym.Module)
		}
	}
	s.answers.Add(int64(2 * len(pcs)))
}

// ask asks c something and checks the answer. It returns what may be kept.
func (s *soak) ask(c *lazy.Cache, rng *rand.Rand) (h held) {
	f := generation(c)
	h.of = f
	fail := func(err error, doing string) bool {
		if err != nil {
			s.refused(err, fmt.Sprintf("%v: %s", f, doing))
			return true
		}
		s.answers.Add(1)
		return false
	}
	switch rng.IntN(11) {
	case 0, 1:
		symbols, err := c.Symbols()
		if fail(err, "Symbols") || symbols.BoundsErr() != nil {
			return h
		}
		s.checkSymbols(f, symbols, rng)
		h.symbols = symbols
	case 2, 3:
		i := rng.IntN(soakSymbols)
		name, err := c.LookupExact(f.address(i))
		if !fail(err, "LookupExact") {
			assert.Equal(s.t, f.name(i), name)
			if i == 0 {
				h.names = []string{name}
			}
		}
		sym, err := c.Lookup(f.address(i) + 3)
		if errors.Is(err, lazy.ErrNotFound) {
			assert.Error(s.t, c.BoundsErr(), "%v: a miss though modules are known", f)
		} else if !fail(err, "Lookup") {
			assert.Equal(s.t, f.name(i), sym.Name)
			assert.Equal(s.t, uint64(3), sym.Offset)
		}
	case 4:
		table, err := c.Strings()
		if !fail(err, "Strings") {
			seen := 0
			for i := range table.Len() {
				if strings.HasPrefix(table.At(i), fmt.Sprintf("f%d::g%d::", f.number, f.generation)) {
					seen++
				}
			}
			assert.Equal(s.t, soakSymbols, seen)
		}
	case 5:
		md, err := c.Metadata()
		if !fail(err, "Metadata") {
			assert.Equal(s.t, f.generation, md.Record().TotalEvents)
			session, err := md.Session()
			if !fail(err, "Session") {
				assert.Equal(s.t, f.String(), session.BuildVersion)
			}
		}
	case 6:
		mem, err := c.Memory()
		if !fail(err, "Memory") {
			for i, stat := range mem.CallstackStats() {
				assert.Equal(s.t, f.liveBytes(i), stat.LiveBytes)
			}
		}
	case 7:
		stacks, err := c.Callstacks()
		if !fail(err, "Callstacks") {
			i := rng.IntN(soakStacks)
			stack, ok := stacks.ByID(uint32(i + 1))
			assert.True(s.t, ok && len(stack.Frames) == soakFrames)
			for k, frame := range stack.Frames {
				assert.Equal(s.t, f.address(f.frame(i, k)), frame.Address)
			}
		}
	case 8:
		m, err := c.Model()
		if !fail(err, "Model") {
			assert.Equal(s.t, f.String(), m.Session.BuildVersion)
			for i := range 10 {
				assert.Equal(s.t, trace.Symbol{Address: f.address(i), Name: f.name(i)}, m.Symbols[i])
				h.names = append(h.names, m.Symbols[i].Name)
			}
		}
	case 9:
		fail(c.Verify(s.ctx), "Verify")
	case 10:
		ctx, cancel := context.WithTimeout(s.ctx, time.Duration(rng.Int64N(int64(2*time.Millisecond))))
		fail(c.Load(ctx), "Load")
		cancel()
	}
	if rng.IntN(8) == 0 {
		c.Release(pod.Sections[rng.IntN(len(pod.Sections))])
	}
	return h
}

// keep asks c again and again, beside others, keeps some of what it gets and looks
// at it again later.
func (s *soak) keep(c *lazy.Cache, rng *rand.Rand, kept *[8]held) {
	if h := s.ask(c, rng); h.symbols != nil || h.names != nil {
		i := rng.IntN(len(kept))
		s.recheck(kept[i])
		kept[i] = h
	}
}
