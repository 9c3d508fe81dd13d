package writer

import (
	"context"
	"encoding/binary"

	"example.com/tracecache/internal/view"
	"example.com/tracecache/pod"
	"example.com/tracecache/trace"
)

// builder turns a model into the sections' payloads. Its methods are called in
// the order in which the format wants strings interned: metadata, memory,
// symbols, and the string table last.
type builder struct {
	ctx     context.Context
	model   *trace.Model
	strings *interner
	limits  limits

	// err is the first error of a string; with it, the payloads are void.
	err error
}

// intern is [interner.intern], with the error kept in the builder.
func (b *builder) intern(s string, at place) pod.StringIndex {
	i, err := b.strings.intern(s, at)
	if err != nil && b.err == nil {
		b.err = err
	}
	return i
}

// payloads returns the payload of each section.
func payloads(m *trace.Model, symbols []trace.Symbol, o *options) ([pod.SectionCount][]byte, error) {
	var all [pod.SectionCount][]byte
	b := &builder{ctx: o.ctx, model: m, strings: newInterner(o.cutAtNUL, o.limits), limits: o.limits}
	for _, section := range []struct {
		id    pod.Section
		build func() ([]byte, error)
	}{
		{pod.SectionMetadata, b.metadata},
		{pod.SectionMemory, b.memory},
		{pod.SectionCallstacks, b.callstacks},
		{pod.SectionSymbols, func() ([]byte, error) { return b.symbols(symbols) }},
		{pod.SectionStringTable, b.strings.payload},
	} {
		if err := o.ctx.Err(); err != nil {
			return all, err
		}
		var err error
		all[section.id], err = section.build()
		if err == nil {
			err = b.err
		}
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

// appendList appends a list: its count, then one record for each item. list is
// its name in the model.
func appendList[Item, Record any](dst []byte, b *builder, list string, items []Item, record func(i int, item *Item) Record) ([]byte, error) {
	if err := b.limits.checkCount(list, uint64(len(items))); err != nil {
		return nil, err
	}
	recs := make([]Record, len(items))
	for i := range items {
		recs[i] = record(i, &items[i])
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(items)))
	return view.Append(dst, recs), nil
}

// flag is v as the format stores it.
func flag(v bool) uint8 {
	if v {
		return 1
	}
	return 0
}
