package lazy

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"example.com/tracecache/internal/container"
	"example.com/tracecache/internal/view"
	"example.com/tracecache/pod"
)

// Verify reads the whole file again and checks everything: the place of each
// section, every checksum and hash, and the rules of what the sections hold: each
// count, index, range and order, and bytes that belong to nothing. It returns nil
// for a sound file. Else the error joins all findings, each a [pod.Error], and
// its Unwrap() []error lists them; of many that are alike in one list, and of the
// blocks of one section that do not decode, the first 100 are told and the others
// counted. It depends on nothing that is loaded, and
// takes the memory of one section and the string table for as long as it runs.
// Where ctx ends first, its error is returned. What was written is what the blocks
// decode to: a stored byte without a checksum that changed and decodes to the same is
// no finding.
func (c *Cache) Verify(ctx context.Context) error {
	if c.closed.Load() {
		return ErrClosed
	}
	defer runtime.KeepAlive(c) // whose file is closed when it goes
	c.file.Forget()
	v := &verifier{c: c, strings: -1, modules: -1}
	for _, id := range pod.Sections {
		if err := v.section(ctx, id); err != nil {
			return err
		}
	}
	return errors.Join(v.findings...)
}

// maxAlike is how many findings of one kind in one list are told.
const maxAlike = 100

type verifier struct {
	c        *Cache
	findings []error
	strings  int64 // strings in the table; -1: not known
	modules  int64 // modules in Metadata; -1: not known
}

// section checks one section. Its error ends the whole check; findings do not.
func (v *verifier) section(ctx context.Context, id pod.Section) error {
	buf, base, err := openBuffer(v.c.file, id, v.c.opts.maxSection)
	if err != nil {
		return v.finding(err)
	}
	if h := buf.Header(); h.Method != pod.MethodOodle && (h.Compressor != 0 || h.CompressionLevel != 0) {
		cause := fmt.Errorf("%w: compressor %d and level %d, expected 0 for %v", pod.ErrCorrupt, h.Compressor, h.CompressionLevel, h.Method)
		v.findings = append(v.findings, &pod.Error{Path: v.c.file.Path(), Section: id, Off: base + 9, Err: cause})
	}
	raw, sound, err := v.decode(ctx, id, buf, base)
	if err != nil || !sound {
		return err
	}
	if err := buf.CheckHash(raw); err != nil {
		return v.finding(locate(v.c.file, id, base, err))
	}
	switch id {
	case pod.SectionStringTable:
		err = v.stringTable(raw)
	case pod.SectionMetadata:
		err = v.metadata(raw)
	case pod.SectionMemory:
		err = v.memory(raw)
	case pod.SectionCallstacks:
		err = v.callstacks(raw)
	case pod.SectionSymbols:
		err = v.symbols(raw)
	}
	return v.finding(err)
}

// finding notes err, or returns it where it is of the moment and says nothing of
// the file.
func (v *verifier) finding(err error) error {
	switch {
	case err == nil:
	case errors.Is(err, ErrClosed):
		return ErrClosed
	default:
		v.findings = append(v.findings, err)
	}
	return nil
}

// decode decodes a section, noting the blocks that do not: the first ones, and of
// the others how many there are. A file can have millions.
func (v *verifier) decode(ctx context.Context, id pod.Section, buf *container.Buffer, base int64) (raw []byte, sound bool, err error) {
	raw = view.MakeEndAligned(int(buf.RawSize()))
	bad := 0
	var last error
	for i := range buf.NumBlocks() {
		if err := ctx.Err(); err != nil {
			return nil, false, err
		}
		off, n := buf.RawRange(i)
		if err := buf.DecodeBlock(i, raw[off:off+n]); err != nil {
			bad++
			last = err
			if bad > maxAlike && !errors.Is(err, ErrClosed) {
				continue
			}
			if err := v.finding(locate(v.c.file, id, base, err)); err != nil {
				return nil, false, err
			}
		}
	}
	if n := bad - maxAlike; n > 0 {
		var e *pod.Error
		if errors.As(locate(v.c.file, id, base, last), &e) {
			e.Err = fmt.Errorf("%w (the last of %d more blocks that fail)", e.Err, n)
			v.findings = append(v.findings, e)
		}
	}
	return raw, bad == 0, nil
}

// rule counts the entries of one list that break one rule.
type rule struct {
	v    *verifier
	id   pod.Section
	seen int
}

func (v *verifier) rule(id pod.Section) *rule { return &rule{v: v, id: id} }

// broken notes that the entry at decoded offset off breaks the rule.
func (r *rule) broken(off int, format string, args ...any) {
	r.seen++
	if r.seen <= maxAlike {
		p := payload{file: r.v.c.file, id: r.id}
		p.fail(off, format, args...)
		r.v.findings = append(r.v.findings, p.err)
	}
}

// done tells of the findings that were not told one by one.
func (r *rule) done() {
	if n := r.seen - maxAlike; n > 0 {
		cause := fmt.Errorf("%w: %d more like the one before", pod.ErrCorrupt, n)
		r.v.findings = append(r.v.findings, &pod.Error{Path: r.v.c.file.Path(), Section: r.id, Decoded: true, Err: cause})
	}
}

// trailing notes bytes behind the last list of a section of size bytes.
func (v *verifier) trailing(id pod.Section, size, n int) {
	if n > 0 {
		v.rule(id).broken(size-n, "%d bytes behind the end of the section's contents", n)
	}
}

// index checks that a record's string field is an index into the table. Where
// the table has no strings, 0 is how a record says that it has none.
func (v *verifier) index(r *rule, i pod.StringIndex, off int, what string) {
	if v.strings >= 0 && int64(i) >= max(v.strings, 1) {
		r.broken(off, "%s is string %d of %d", what, i, v.strings)
	}
}

func (v *verifier) stringTable(raw []byte) error {
	s, err := v.c.parseStrings(raw)
	if err != nil {
		return err
	}
	v.strings = int64(len(s.offsets))
	lastNUL := -1
	for i := len(s.packed) - 1; i >= 0 && lastNUL < 0; i-- {
		if s.packed[i] == 0 {
			lastNUL = i
		}
	}
	place, end := v.rule(pod.SectionStringTable), v.rule(pod.SectionStringTable)
	for i, off := range s.offsets {
		at := pod.CountSize + i*pod.StringOffsetSize
		switch {
		case uint64(off) >= uint64(len(s.packed)):
			place.broken(at, "string %d is at offset %d of %d bytes", i, off, len(s.packed))
		case int64(off) > int64(lastNUL):
			end.broken(at, "string %d has no NUL before the end of the section", i)
		}
	}
	place.done()
	end.done()
	return nil
}

func (v *verifier) metadata(raw []byte) error {
	m, _, err := v.c.parseMetadata(raw)
	if err != nil {
		return err
	}
	v.modules = int64(len(m.modules))
	r := v.rule(pod.SectionMetadata)
	rec := &m.record
	for i, idx := range []pod.StringIndex{
		rec.SessionPlatform, rec.SessionAppName, rec.SessionProjectName,
		rec.SessionCommandLine, rec.SessionBranch, rec.SessionBuildVersion,
	} {
		v.index(r, idx, 0x28+4*i, "a session field")
	}
	at := pod.MetadataSize + pod.CountSize
	for _, t := range m.threads {
		v.index(r, t.Name, at+4, "a thread's name")
		v.index(r, t.GroupName, at+8, "a thread's group name")
		at += pod.ThreadInfoSize
	}
	at += pod.CountSize
	for _, ch := range m.channels {
		v.index(r, ch.Name, at, "a channel's name")
		at += pod.ChannelInfoSize
	}
	at += pod.CountSize
	for _, mod := range m.modules {
		v.index(r, mod.Name, at, "a module's name")
		v.index(r, mod.FullPath, at+4, "a module's path")
		at += pod.ModuleInfoSize
	}
	at += len(m.imageIDs) + pod.CountSize
	for _, e := range m.eventTypeCounts {
		v.index(r, e.Name, at, "an event type's name")
		at += pod.EventTypeCountSize
	}
	at += pod.CountSize
	for _, st := range m.scopeStats {
		v.index(r, st.Name, at, "a scope's name")
		at += pod.CPUScopeStatSize
	}
	r.done()
	v.trailing(pod.SectionMetadata, len(raw), m.trailing)
	return nil
}

func (v *verifier) memory(raw []byte) error {
	m, _, err := v.c.parseMemory(raw)
	if err != nil {
		return err
	}
	r := v.rule(pod.SectionMemory)
	at := pod.AllocSummarySize + pod.CountSize
	for _, h := range m.heaps {
		v.index(r, h.Name, at+12, "a heap's name")
		at += pod.HeapInfoSize
	}
	r.done()
	r = v.rule(pod.SectionMemory)
	at += pod.CountSize + len(m.heapStats)*pod.HeapStatSize + pod.CountSize
	for _, st := range m.callstackStats {
		if st.ThreadIDCount > pod.MaxThreadIDs {
			r.broken(at+0x18, "callstack %d has %d thread ids, at most %d are kept", st.CallstackID, st.ThreadIDCount, pod.MaxThreadIDs)
		}
		at += pod.CallstackAllocStatSize
	}
	r.done()
	v.trailing(pod.SectionMemory, len(raw), m.trailing)
	return nil
}

func (v *verifier) callstacks(raw []byte) error {
	s, err := v.c.parseCallstacks(raw)
	if err != nil {
		return err
	}
	r := v.rule(pod.SectionCallstacks)
	at := pod.CountSize + len(s.headers)*pod.CallstackHeaderSize
	for _, f := range s.frames {
		if v.modules >= 0 && f.ModuleIndex != pod.NoModule && int64(f.ModuleIndex) >= v.modules {
			r.broken(at+8, "the frame of address %#x is in module %d of %d", f.Address, f.ModuleIndex, v.modules)
		}
		at += pod.ResolvedFrameSize
	}
	r.done()
	v.trailing(pod.SectionCallstacks, len(raw), s.trailing)
	return nil
}

func (v *verifier) symbols(raw []byte) error {
	entries, trailing, err := symbolRecords[pod.SymbolEntry](v.c, raw)
	if err != nil {
		return err
	}
	order, index := v.rule(pod.SectionSymbols), v.rule(pod.SectionSymbols)
	for i, e := range entries {
		at := pod.CountSize + i*pod.SymbolEntrySize
		if i > 0 && e.Address < entries[i-1].Address {
			order.broken(at, "symbol %d has address %#x, below %#x before it", i, e.Address, entries[i-1].Address)
		}
		v.index(index, e.StringIdx, at+8, "a symbol's name")
	}
	order.done()
	index.done()
	v.trailing(pod.SectionSymbols, len(raw), trailing)
	return nil
}
