package lazy

import (
	"encoding/binary"
	"sort"

	"example.com/tracecache/pod"
)

// entryBlocks are the entries of a section of which not all blocks are decoded. In
// front of the entries stands their count, which shifts them against the blocks by
// 4 bytes. So a block boundary cuts only the last 4 bytes of an entry off, which
// mean nothing: block i has the address and the name of all its entries.
type entryBlocks struct {
	d    *decoded
	list []byte
	n    int // entries
	per  int // entries in each block but the last
}

func (e *entryBlocks) addr(i int) uint64 {
	return binary.LittleEndian.Uint64(e.list[i*pod.SymbolEntrySize:])
}

func (e *entryBlocks) name(i int) pod.StringIndex {
	return pod.StringIndex(binary.LittleEndian.Uint32(e.list[i*pod.SymbolEntrySize+8:]))
}

func (e *entryBlocks) first(block int) int { return block * e.per }
func (e *entryBlocks) last(block int) int  { return min((block+1)*e.per, e.n) - 1 }

// ready decodes a block and sees that its addresses ascend.
func (e *entryBlocks) ready(block int) error {
	if err := e.d.decodeAlone(block); err != nil {
		return err
	}
	ordered := &e.d.blocks[block].ordered
	if ordered.Load() {
		return nil
	}
	prev := uint64(0)
	for i := e.first(block); i <= e.last(block); i++ {
		addr := e.addr(i)
		if addr < prev {
			return errWhole
		}
		prev = addr
	}
	ordered.Store(true)
	return nil
}

func (e *entryBlocks) floor(pc uint64) (f floorEntries, r Reason, err error) {
	lo, hi := 0, (e.n-1)/e.per+1 // lo starts at or before pc, hi behind it
	if err := e.ready(lo); err != nil {
		return f, 0, err
	}
	if e.addr(0) > pc {
		return f, BeforeFirst, e.endsAbove(e.addr(0))
	}
	for above := ^uint64(0); hi-lo > 1; {
		mid := int(uint(lo+hi) >> 1)
		if err := e.ready(mid); err != nil {
			return f, 0, err
		}
		first := e.addr(e.first(mid))
		if first < e.addr(e.last(lo)) || e.addr(e.last(mid)) > above {
			return f, 0, errWhole
		}
		if first <= pc {
			lo = mid
		} else {
			hi, above = mid, first
		}
	}
	end := e.search(lo, func(addr uint64) bool { return addr > pc })
	f.addr = e.addr(end - 1)
	start, err := e.runStart(lo, f.addr)
	if err != nil {
		return f, 0, err
	}
	f.n = end - start
	for i := range min(f.n, floorNames) {
		f.names[i] = e.name(start + i)
	}
	return f, Found, nil
}

// endsAbove sees that the last block is not below addr, as blocks in descending
// order would have it.
func (e *entryBlocks) endsAbove(addr uint64) error {
	end := (e.n - 1) / e.per
	if err := e.ready(end); err != nil {
		return err
	}
	if e.addr(e.first(end)) < addr {
		return errWhole
	}
	return nil
}

// search is the first entry of a block, or the one behind its last, of which
// over, once true always true, is true.
func (e *entryBlocks) search(block int, over func(addr uint64) bool) int {
	first := e.first(block)
	return first + sort.Search(e.last(block)+1-first, func(i int) bool { return over(e.addr(first + i)) })
}

// runStart is the first entry of an address that block has. It looks into one
// block before, where entries of that address may begin.
func (e *entryBlocks) runStart(block int, addr uint64) (int, error) {
	from := func(a uint64) bool { return a >= addr }
	start := e.search(block, from)
	if block == 0 || start > e.first(block) {
		return start, nil
	}
	if err := e.ready(block - 1); err != nil {
		return 0, err
	}
	if e.addr(e.last(block-1)) > addr {
		return 0, errWhole
	}
	start = e.search(block-1, from)
	if block > 1 && start == e.first(block-1) {
		return 0, errWhole // the block has this address only, and maybe not alone
	}
	return start, nil
}
