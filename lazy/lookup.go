package lazy

import (
	"context"
	"errors"
	"fmt"

	"example.com/tracecache/internal/bounds"
	"example.com/tracecache/pod"
)

// NotFoundError says that a cache has no name for an address, and why. It matches
// [ErrNotFound].
type NotFoundError struct {
	Address uint64
	Reason  Reason // not Found
}

// Error is the address and the reason: "0x1234: in a hole".
func (e *NotFoundError) Error() string { return fmt.Sprintf("%#x: %v", e.Address, e.Reason) }

// Unwrap is [ErrNotFound].
func (e *NotFoundError) Unwrap() error { return ErrNotFound }

// Lookup is the symbol at or before pc, by the rules of [Symbols.Find], for those
// who have a few addresses: it does not wait for whole sections. Where the symbols
// are loaded they answer. Else only the blocks that the search and the name touch
// are decoded: of n blocks of Symbols about log2(n), and some 6 of the other
// sections. They are kept, for the next call and for a load, which decodes what is
// missing.
//
// Where there is no name the error is a [NotFoundError], which matches
// [ErrNotFound] and has the reason. Damage in a block that is touched is the error
// of its section; where it is in Metadata only exact hits are answered and
// [Cache.BoundsErr] says why.
//
// What is touched is checked by its checksums, and addresses by their order. A
// load checks what Lookup does not see: that all addresses ascend, that the strings
// are packed, that all lists are within their section. Where Lookup itself sees
// addresses out of order, very many entries at one address or a name of more than
// 1 MiB, and always with [WithHashCheck], it loads the symbols and answers from
// them. In a file that [Cache.Verify] finds nothing wrong with, the answers are
// those of Find.
//
// The strings stay valid after Close.
func (c *Cache) Lookup(pc uint64) (Symbol, error) {
	sym, reason, err := c.lookup(pc, false)
	switch {
	case err != nil:
		return Symbol{}, err
	case reason != Found:
		return Symbol{}, &NotFoundError{Address: pc, Reason: reason}
	}
	return sym, nil
}

// LookupExact is the name of exactly the address addr, that of [Symbols.Resolve].
// It costs, checks and fails as [Cache.Lookup], except that where it finds a name it
// has not touched Metadata, which tells the reason only where it finds none. Where a
// symbol before addr reaches over it that is [NotAtStart].
func (c *Cache) LookupExact(addr uint64) (string, error) {
	sym, reason, err := c.lookup(addr, true)
	switch {
	case err != nil:
		return "", err
	case reason == Found && sym.Offset != 0:
		reason = NotAtStart
	}
	if reason != Found {
		return "", &NotFoundError{Address: addr, Reason: reason}
	}
	return sym.Name, nil
}

// BoundsErr is the error of the Metadata section where it is damaged and
// [Cache.Lookup] answers exact hits only, as [Symbols.BoundsErr] is. It decodes
// the modules, if they are not yet. An error of the moment is told too.
func (c *Cache) BoundsErr() error {
	if c.closed.Load() {
		return ErrClosed
	}
	if c.wholeOnly() {
		s, err := c.Symbols()
		if err != nil {
			return err
		}
		return s.BoundsErr()
	}
	_, err := get(c, context.Background(), &c.bounds, (*Cache).loadBounds)
	return err
}

// wholeOnly reports whether look-ups are answered by the loaded symbols: they are
// there, or a part of a section must not be trusted without the rest.
func (c *Cache) wholeOnly() bool { return c.symbols.val.Load() != nil || c.opts.hashCheck }

// lookup is Lookup with the reason apart. The module of an exact hit may be missing
// where nameOnly is set.
func (c *Cache) lookup(pc uint64, nameOnly bool) (Symbol, Reason, error) {
	if c.closed.Load() {
		return Symbol{}, 0, ErrClosed
	}
	if !c.wholeOnly() {
		c.touch(pod.SectionSymbols)
		sym, reason, err := c.partialLookup(pc, nameOnly)
		if !errors.Is(err, errWhole) {
			c.note(err)
			return sym, reason, err
		}
	}
	s, err := c.Symbols()
	if err != nil {
		return Symbol{}, 0, err
	}
	if sym, ok := s.Find(pc); ok {
		return sym, Found, nil
	}
	return Symbol{}, s.Explain(pc), nil
}

// errWhole says that the blocks at hand cannot answer and the whole section can.
var errWhole = errors.New("the whole section is needed")

// partialLookup is Find on sections of which only some blocks are decoded.
func (c *Cache) partialLookup(pc uint64, nameOnly bool) (Symbol, Reason, error) {
	c.pin(pod.SectionStringTable, pod.SectionMetadata, pod.SectionSymbols)
	defer c.unpin(pod.SectionStringTable, pod.SectionMetadata, pod.SectionSymbols)
	f, reason, err := c.floor(pc)
	if err != nil || reason != Found {
		return Symbol{}, reason, err
	}
	name, err := c.firstName(&f)
	if err != nil {
		return Symbol{}, 0, err
	}
	if nameOnly && name != "" && f.addr == pc {
		return Symbol{Name: name, Address: pc}, Found, nil
	}
	modules := moduleMap{}
	b, err := get(c, context.Background(), &c.bounds, (*Cache).loadBounds)
	switch {
	case err == nil:
		modules.bounds = b.bounds
	case lasting(err):
		modules.err = err
	default:
		return Symbol{}, 0, err
	}
	module, reason := modules.judge(pc, f.addr, name != "")
	if reason != Found {
		return Symbol{}, reason, nil
	}
	sym := Symbol{Name: name, Address: f.addr, Offset: pc - f.addr}
	if module != bounds.None {
		if sym.Module, err = c.name(b.names[module]); err != nil {
			return Symbol{}, 0, err
		}
	}
	return sym, Found, nil
}

// floorEntries are the entries of the greatest address that is not above the one
// asked for.
type floorEntries struct {
	addr  uint64
	n     int // entries, of which names has the first
	names [floorNames]pod.StringIndex
}

// floorNames is how many entries of one address are looked at for a name.
const floorNames = 16

// firstName is the first name among the entries; empty where they are a hole.
func (c *Cache) firstName(f *floorEntries) (string, error) {
	for _, i := range f.names[:min(f.n, floorNames)] {
		if name, err := c.name(i); err != nil || name != "" {
			return name, err
		}
	}
	if f.n > floorNames {
		return "", errWhole
	}
	return "", nil
}

// floor finds the entries at or before pc. The reason is Found, NoSymbols or
// BeforeFirst.
func (c *Cache) floor(pc uint64) (floorEntries, Reason, error) {
	d, err := c.admitSymbols()
	if err != nil {
		return floorEntries{}, 0, err
	}
	p := d.payload()
	n, list := p.counted(d, pod.SymbolEntrySize, "symbols")
	if p.err != nil {
		return floorEntries{}, 0, p.err
	}
	if p.off < len(p.raw) && !d.buf.HasChecksums() {
		return floorEntries{}, 0, errWhole // bytes that the count does not account for
	}
	if n == 0 {
		return floorEntries{}, NoSymbols, nil
	}
	d.recordsMu.RLock()
	defer d.recordsMu.RUnlock()
	if d.named {
		return floorEntries{}, 0, errWhole // which is there, or will be in a moment
	}
	e := entryBlocks{d: d, list: list, n: int(n), per: max(d.blockSize()/pod.SymbolEntrySize, 1)}
	return e.floor(pc)
}

// admitSymbols is admit for symbols and what their names are in, which is wanted
// next. Where the larger memory is taken first the collector runs once, not twice. A
// string table that is damaged matters when a name is wanted.
func (c *Cache) admitSymbols() (*decoded, error) {
	if c.sections[pod.SectionStringTable].open() != nil {
		return c.admit(pod.SectionSymbols)
	}
	return c.admit(pod.SectionSymbols, pod.SectionStringTable)
}
