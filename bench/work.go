package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"

	"example.com/tracecache/lazy"
	"example.com/tracecache/pod"
	"example.com/tracecache/trace"
	"example.com/tracecache/writer"
)

// Work is a piece of work that is timed: what has to be there beforehand is there.
type Work func() error

// loads are the pieces of work on a file, by the name that each has as the key
// impl or in the report. Those that give an answer compare the name of pc.
var loads = map[string]func(f Target) (Work, error){
	"lookup": func(t Target) (Work, error) {
		return t.answer(func(c *lazy.Cache) (string, error) {
			sym, err := c.Lookup(t.PC)
			return sym.Name, err
		}), nil
	},
	"load": func(t Target) (Work, error) {
		return t.answer(func(c *lazy.Cache) (string, error) {
			symbols, err := c.Symbols()
			if err != nil {
				return "", err
			}
			sym, _ := symbols.Find(t.PC)
			return sym.Name, nil
		}), nil
	},
	"plainloop": func(t Target) (Work, error) {
		s, err := ReadStored(t.Path)
		return func() error {
			_, _, err := s.PlainLoop()
			return err
		}, err
	},
	"eagermap": func(t Target) (Work, error) {
		s, err := ReadStored(t.Path)
		return func() error {
			names, err := s.EagerMap()
			return errors.Join(err, t.compare(names[t.PC]))
		}, err
	},
	"loadsections": func(t Target) (Work, error) {
		return t.open(func(c *lazy.Cache) error {
			return c.Load(context.Background(), pod.SectionStringTable, pod.SectionSymbols)
		}), nil
	},
	"loadall": func(t Target) (Work, error) {
		return t.open(func(c *lazy.Cache) error { return c.Load(context.Background()) }), nil
	},
	"model": func(t Target) (Work, error) {
		return t.open(func(c *lazy.Cache) error {
			m, err := c.Model()
			if err == nil && len(m.Symbols) == 0 {
				err = errors.New("bench: no symbols")
			}
			return err
		}), nil
	},
	"open": func(t Target) (Work, error) { return t.open(func(*lazy.Cache) error { return nil }), nil },
	"verify": func(t Target) (Work, error) {
		return t.open(func(c *lazy.Cache) error { return c.Verify(context.Background()) }), nil
	},
}

// Target is a cache file and an answer that it has to give.
type Target struct {
	Path string
	PC   uint64
	Name string
}

// NewTarget is the cache f of m and the i-th of its functions, counted modulo their
// number.
func NewTarget(f File, m *trace.Model, i int) Target {
	for i %= len(m.Symbols); m.Symbols[i].Name == ""; i = (i + 1) % len(m.Symbols) {
	}
	return Target{Path: f.Path, PC: m.Symbols[i].Address, Name: m.Symbols[i].Name}
}

// Prepare makes everything ready for the work named impl: lookup (one name from a
// cold cache), load (all symbols and one name), plainloop, eagermap, loadsections
// (the two sections of the plain loop), loadall, model, open or verify. All but
// plainloop and eagermap open the file and close it.
func (t Target) Prepare(impl string) (Work, error) {
	prepare, ok := loads[impl]
	if !ok {
		return nil, fmt.Errorf("bench: no work named %q", impl)
	}
	return prepare(t)
}

func (t Target) compare(name string) error {
	if name != t.Name || name == "" {
		return fmt.Errorf("bench: %#x: expected %q, got %q", t.PC, t.Name, name)
	}
	return nil
}

func (t Target) open(do func(c *lazy.Cache) error) Work {
	return func() error {
		c, err := lazy.Open(t.Path)
		if err != nil {
			return err
		}
		return errors.Join(do(c), c.Close())
	}
}

func (t Target) answer(do func(c *lazy.Cache) (string, error)) Work {
	return t.open(func(c *lazy.Cache) error {
		name, err := do(c)
		if err != nil {
			return err
		}
		return t.compare(name)
	})
}

// Writing is n symbols in random order, to be written.
type Writing struct {
	symbols []trace.Symbol
	rest    *trace.Model // all of the model but its symbols
	method  pod.Method
}

// NewWriting shuffles the symbols of a model, which is left as it is.
func NewWriting(m *trace.Model, method pod.Method) *Writing {
	rest := *m
	rest.Symbols = nil
	w := &Writing{rest: &rest, method: method, symbols: append([]trace.Symbol(nil), m.Symbols...)}
	rng := rand.New(rand.NewPCG(2, 2))
	rng.Shuffle(len(w.symbols), func(i, k int) { w.symbols[i], w.symbols[k] = w.symbols[k], w.symbols[i] })
	return w
}

// Plain is the plain writer for the same symbols, of which the file path is a cache.
func (w *Writing) Plain(path string) (*Finished, error) {
	return NewFinished(path, w.symbols, w.method)
}

// Write writes the symbols, from an iterator and in their random order, to nowhere,
// and returns the size of the cache.
func (w *Writing) Write() (int64, error) {
	return writer.Write(io.Discard, w.rest, writer.WithSymbols(w.all()), writer.WithCodec(w.method))
}

func (w *Writing) all() iter.Seq2[uint64, string] {
	return func(yield func(uint64, string) bool) {
		for _, s := range w.symbols {
			if !yield(s.Address, s.Name) {
				return
			}
		}
	}
}
