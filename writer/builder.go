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
	workers int

	// err is the first error of a string; with it, the payloads are void.
	err error
}

// intern is [builder.internHashed] of a string whose hash is not known.
func (b *builder) intern(s string, at place) pod.StringIndex {
	return b.internHashed(s, b.strings.hash(s), at)
}

// internHashed is [interner.intern], with the error kept in the builder.
func (b *builder) internHashed(s string, hash uint32, at place) pod.StringIndex {
	i, err := b.strings.intern(s, hash, at)
	if err != nil && b.err == nil {
		b.err = err
	}
	return i
}

// payloads returns the payload of each section. They refer to the model's strings
// and those of symbols.
func payloads(m *trace.Model, symbols symbolList, o *options) ([pod.SectionCount]payload, error) {
	var all [pod.SectionCount]payload
	b := &builder{ctx: o.ctx, model: m, strings: newInterner(o.cutAtNUL, o.limits), limits: o.limits, workers: o.workers}
	for _, section := range []struct {
		id    pod.Section
		build func() (payload, error)
	}{
		{pod.SectionMetadata, func() (payload, error) { return inMemory(b.metadata()) }},
		{pod.SectionMemory, func() (payload, error) { return inMemory(b.memory()) }},
		{pod.SectionCallstacks, func() (payload, error) { return inMemory(b.callstacks()) }},
		{pod.SectionSymbols, func() (payload, error) { return b.symbols(symbols) }},
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

// inMemory is a payload of bytes that are made already.
func inMemory(b []byte, err error) (payload, error) { return payload{bytesPart(b)}, err }

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
