package writer

import (
	"cmp"
	"encoding/binary"
	"slices"

	"example.com/tracecache/pod"
	"example.com/tracecache/trace"
)

// checkEvery is how many symbols are handled between looks at the context.
const checkEvery = 1 << 16

// symbols is the Symbols section: the symbols by ascending address, those of one
// address in the order given.
func (b *builder) symbols(symbols []trace.Symbol) ([]byte, error) {
	if err := b.limits.checkCount("symbols", uint64(len(symbols))); err != nil {
		return nil, err
	}
	size := pod.CountSize + pod.SymbolEntrySize*uint64(len(symbols))
	if err := b.limits.checkPayload(pod.SectionSymbols, size); err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	dst := le.AppendUint32(make([]byte, 0, size), uint32(len(symbols)))
	order := addressOrder(symbols)
	for i := range symbols {
		s := &symbols[i]
		if order != nil {
			s = &symbols[order[i].index]
		}
		index := b.intern(s.Name, place{addr: s.Address})
		if b.err != nil {
			return nil, b.err
		}
		dst = le.AppendUint64(dst, s.Address)
		dst = le.AppendUint32(dst, uint32(index))
		dst = le.AppendUint32(dst, 0)
		if i%checkEvery == 0 && b.ctx.Err() != nil {
			return nil, b.ctx.Err()
		}
	}
	return dst, nil
}

// sortKey is a symbol's address and its place in the order given.
type sortKey struct {
	addr  uint64
	index uint32
}

// addressOrder returns the order of ascending addresses, or nil where that is
// the order given, as it usually is. Sorting small keys moves less memory than
// sorting symbols, and the place in the key makes it stable.
func addressOrder(symbols []trace.Symbol) []sortKey {
	byAddress := func(a, b trace.Symbol) int { return cmp.Compare(a.Address, b.Address) }
	if slices.IsSortedFunc(symbols, byAddress) {
		return nil
	}
	keys := make([]sortKey, len(symbols))
	for i := range symbols {
		keys[i] = sortKey{symbols[i].Address, uint32(i)}
	}
	slices.SortFunc(keys, func(a, b sortKey) int {
		return cmp.Or(cmp.Compare(a.addr, b.addr), cmp.Compare(a.index, b.index))
	})
	return keys
}

// collect runs the sequence of [WithSymbols].
func collect(o *options) ([]trace.Symbol, error) {
	var symbols []trace.Symbol
	for addr, name := range o.symbols {
		symbols = append(symbols, trace.Symbol{Address: addr, Name: name})
		if len(symbols)%checkEvery == 0 && o.ctx.Err() != nil {
			break
		}
	}
	return symbols, o.ctx.Err()
}
