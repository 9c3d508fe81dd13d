package lazy

import (
	"context"
	"log/slog"

	"example.com/tracecache/pod"
)

// Release gives back the decoded memory of sections, of all where none is named:
// the cache refers to it no longer, and decodes anew what is asked for again. Who
// has handles and strings of a section goes on using them; its memory goes with the
// last of these, and [Cache.Stats] shows it until then. Symbols go with the string
// table, which their names are in. A load in flight is for those who wait for it,
// and not kept. Damage stays known.
func (c *Cache) Release(ids ...pod.Section) {
	if len(ids) == 0 {
		ids = pod.Sections[:]
	}
	b := c.account.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, id := range ids {
		if id < pod.SectionCount {
			c.drop(id)
		}
	}
}

// drop makes the cache refer to nothing of a section, and reports whether it did.
// The budget is locked, so that who starts a load meanwhile waits before it makes
// room. The state goes before what was made of it: a load that finds a state finds
// with it what was made.
func (c *Cache) drop(id pod.Section) bool {
	if id == pod.SectionStringTable {
		c.drop(pod.SectionSymbols)
	}
	d := c.sections[id].state.Swap(nil)
	switch id {
	case pod.SectionStringTable:
		c.strings.drop()
		c.metadata.drop()
		c.memory.drop()
	case pod.SectionMetadata:
		c.records.drop()
		c.metadata.drop()
		c.bounds.drop()
	case pod.SectionMemory:
		c.memoryRecords.drop()
		c.memory.drop()
	case pod.SectionCallstacks:
		c.callstacks.drop()
	case pod.SectionSymbols:
		c.symbols.drop()
	}
	if d == nil {
		return false
	}
	d.charge.drop()
	return true
}

// pin keeps what a load or a cold look-up uses from being dropped for want of room
// until unpin. A section that is dropped at the very moment is decoded once more.
func (c *Cache) pin(ids ...pod.Section) {
	for _, id := range ids {
		c.sections[id].pins.Add(1)
	}
}

// unpin undoes pin. What was taken beyond the budget meanwhile is given back.
func (c *Cache) unpin(ids ...pod.Section) {
	for _, id := range ids {
		c.sections[id].pins.Add(-1)
	}
	b := c.account.budget
	if b.limit == unlimited {
		return
	}
	b.mu.Lock()
	dropped := b.makeRoom(0)
	b.mu.Unlock()
	logEvicted(dropped)
}

// admit makes room for a section, together with others that it is of no use
// without, and returns its state. The caller has pinned them.
func (c *Cache) admit(id pod.Section, with ...pod.Section) (*decoded, error) {
	s := &c.sections[id]
	if d := s.state.Load(); d != nil {
		d.make()
		return d, nil
	}
	if err := s.open(); err != nil {
		return nil, err
	}
	all := append(make([]pod.Section, 0, pod.SectionCount), with...)
	all = append(all, id)
	var total int64
	for _, id := range all {
		if err := c.sections[id].open(); err != nil {
			return nil, err
		}
		total += c.sections[id].size.Load()
	}
	b := c.account.budget
	if err := b.fits(c, id, total); err != nil {
		return nil, err
	}
	states, dropped, err := c.admitLocked(all)
	logEvicted(dropped)
	if err != nil {
		return nil, err
	}
	for _, id := range all {
		states[id].make()
	}
	return states[id], nil
}

func (c *Cache) admitLocked(all []pod.Section) (states [pod.SectionCount]*decoded, dropped []evicted, err error) {
	b := c.account.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if c.account.closed {
		return states, nil, ErrClosed
	}
	var need int64
	for _, id := range all {
		if s := &c.sections[id]; s.state.Load() == nil {
			need += s.size.Load()
		}
	}
	dropped = b.makeRoom(need)
	for _, id := range all {
		s := &c.sections[id]
		if s.state.Load() == nil {
			s.state.Store(&decoded{section: s, charge: c.account.charge(id, s.size.Load())})
		}
		states[id] = s.state.Load()
	}
	return states, dropped, nil
}

// parsed is what parse makes of a section that is decoded, made once: some of it is
// made in place. parse says how many bytes it takes beside those of the section. Where
// the section with these, and with other sections, is larger than the budget the
// error says so; it is then not kept, and not loaded a second time to find this out.
func parsed[T any](c *Cache, d *decoded, parse func() (v *T, extra int, err error), with ...pod.Section) (*T, error) {
	d.parseMu.Lock()
	defer d.parseMu.Unlock()
	if v, ok := d.parsed.(*T); ok {
		return v, nil
	}
	v, extra, err := parse()
	if err != nil {
		return nil, err
	}
	d.parsed = v
	return v, c.grow(d, extra, with...)
}

// grow counts memory that a decoded section takes beyond its bytes.
func (c *Cache) grow(d *decoded, bytes int, with ...pod.Section) error {
	b := c.account.budget
	b.mu.Lock()
	d.extra += int64(bytes)
	total := int64(len(d.raw)) + d.extra
	if more := total - d.charge.bytes; more > 0 {
		d.charge.add(more)
		d.size.Store(total)
	}
	for _, id := range with {
		total += c.sections[id].size.Load()
	}
	b.mu.Unlock()
	err := b.fits(c, d.id, total)
	if err != nil {
		c.Release(d.id)
	}
	return err
}

// touch notes that a section was asked for.
func (c *Cache) touch(id pod.Section) {
	if b := c.account.budget; b.limit != unlimited {
		c.sections[id].used.Store(b.clock.Add(1))
	}
}

// lastUse is when a section was last asked for. Who asks for what has names asks for
// the string table.
func (c *Cache) lastUse(id pod.Section) int64 {
	used := c.sections[id].used.Load()
	if id == pod.SectionStringTable {
		for _, id := range [...]pod.Section{pod.SectionMetadata, pod.SectionMemory, pod.SectionSymbols} {
			used = max(used, c.sections[id].used.Load())
		}
	}
	return used
}

func logEvicted(dropped []evicted) {
	for _, e := range dropped {
		e.cache.log(slog.LevelDebug, "tracecache: section dropped for want of room", "section", e.id, "bytes", e.bytes)
	}
}

// note remembers damage of a section, and tells of it, once.
func (c *Cache) note(err error) {
	id, ok := faultOf(err)
	if ok && c.sections[id].fault.CompareAndSwap(nil, &err) {
		c.log(slog.LevelWarn, "tracecache: section cannot be used", "section", id, "err", err)
	}
}

func (c *Cache) log(level slog.Level, msg string, args ...any) {
	if c.opts.log == nil {
		return
	}
	c.opts.log.Log(context.Background(), level, msg, append(args, "path", c.file.Path())...)
}
