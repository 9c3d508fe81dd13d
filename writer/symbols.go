package writer

import (
	"cmp"
	"encoding/binary"
	"slices"
	"sync"
	"sync/atomic"

	"example.com/tracecache/pod"
	"example.com/tracecache/trace"
)

// chunkSymbols is how many symbols are handled between looks at the context, and
// the number of symbols of a chunk.
const chunkSymbols = 1 << 13

// symbolList is a list of symbols in chunks of chunkSymbols, the last one
// shorter, so that it grows without being copied.
type symbolList [][]trace.Symbol

// newSymbolList returns symbols, whose memory it shares, as a list.
func newSymbolList(symbols []trace.Symbol) symbolList {
	var l symbolList
	for len(symbols) > chunkSymbols {
		l, symbols = append(l, symbols[:chunkSymbols]), symbols[chunkSymbols:]
	}
	return append(l, symbols)
}

// collect runs the sequence of [WithSymbols].
func collect(o *options) (symbolList, error) {
	var l symbolList
	chunk := make([]trace.Symbol, 0, chunkSymbols)
	for addr, name := range o.symbols {
		chunk = append(chunk, trace.Symbol{Address: addr, Name: name})
		if len(chunk) == chunkSymbols {
			l, chunk = append(l, chunk), make([]trace.Symbol, 0, chunkSymbols)
			if o.ctx.Err() != nil {
				break
			}
		}
	}
	return append(l, chunk), o.ctx.Err()
}

// len is the number of symbols.
func (l symbolList) len() int {
	last := len(l) - 1
	return last*chunkSymbols + len(l[last])
}

func (l symbolList) at(i uint32) *trace.Symbol {
	return &l[i/chunkSymbols][i%chunkSymbols]
}

// symbols is the Symbols section: the symbols by ascending address, those of one
// address in the order given.
func (b *builder) symbols(symbols symbolList) (payload, error) {
	n := symbols.len()
	if err := b.limits.checkCount("symbols", uint64(n)); err != nil {
		return nil, err
	}
	size := pod.CountSize + pod.SymbolEntrySize*uint64(n)
	if err := b.limits.checkPayload(pod.SectionSymbols, size); err != nil {
		return nil, err
	}
	keys, err := b.addressOrder(symbols)
	if err != nil {
		return nil, err
	}
	b.strings.reserve(n)
	names := make([]string, chunkSymbols)
	for part := range slices.Chunk(keys, chunkSymbols) {
		if err := b.ctx.Err(); err != nil {
			return nil, err
		}
		for i, k := range part { // A loop that waits for memory and for nothing else.
			names[i] = symbols.at(k.index).Name
		}
		for i := range part {
			k := &part[i]
			// From here on the index is the name's.
			k.index = uint32(b.internHashed(names[i], k.hash, place{addr: k.addr}))
		}
		if b.err != nil {
			return nil, b.err
		}
	}
	return payload{countPart(n), recordsPart(n, pod.SymbolEntrySize, func(dst []byte, i int) {
		binary.LittleEndian.PutUint64(dst, keys[i].addr)
		binary.LittleEndian.PutUint64(dst[8:], uint64(keys[i].index)) // And 4 zero bytes.
	})}, nil
}

// symbolKey is a symbol's address, its place in the order given, and the hash of
// its name.
type symbolKey struct {
	addr  uint64
	index uint32
	hash  uint32
}

// addressOrder returns the keys of symbols by ascending address, those of one
// address in the order given. Sorting small keys moves less memory than sorting
// symbols. Names are hashed in the order given, in which they are likely to lie in
// memory, by all workers. The error is the context's.
func (b *builder) addressOrder(symbols symbolList) ([]symbolKey, error) {
	keys := make([]symbolKey, symbols.len())
	var wg sync.WaitGroup
	var next atomic.Int32
	for range min(b.workers, len(symbols)) {
		wg.Go(func() {
			for c := next.Add(1) - 1; int(c) < len(symbols) && b.ctx.Err() == nil; c = next.Add(1) - 1 {
				first := int(c) * chunkSymbols
				for i := range symbols[c] {
					s := &symbols[c][i]
					keys[first+i] = symbolKey{s.Address, uint32(first + i), b.strings.hash(s.Name)}
				}
			}
		})
	}
	wg.Wait()
	if err := b.ctx.Err(); err != nil {
		return nil, err
	}
	if slices.IsSortedFunc(keys, func(a, b symbolKey) int { return cmp.Compare(a.addr, b.addr) }) {
		return keys, nil // As they usually are.
	}
	return sortKeys(keys), nil
}

// sortKeys returns keys by ascending address, those of one address in the order
// given. It is a radix sort: the keys are dealt out by one byte of the address
// after the other, from the lowest on, skipping those that all have in common. It
// takes as much memory again as the keys, one half of which is garbage behind it.
func sortKeys(keys []symbolKey) []symbolKey {
	var counts [8][256]int
	for _, k := range keys {
		for b := range counts {
			counts[b][byte(k.addr>>(8*b))]++
		}
	}
	spare := make([]symbolKey, len(keys))
	for b := range counts {
		shift := 8 * b
		if counts[b][byte(keys[0].addr>>shift)] == len(keys) {
			continue
		}
		var next [256]int // where the next key of each byte goes
		for v, sum := 0, 0; v < len(next); v++ {
			next[v] = sum
			sum += counts[b][v]
		}
		for _, k := range keys {
			v := byte(k.addr >> shift)
			spare[next[v]] = k
			next[v]++
		}
		keys, spare = spare, keys
	}
	return keys
}
