package writer

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"sort"
	"strings"

	"example.com/tracecache/pod"
)

// interner gathers distinct strings. An index is the order of first interning.
//
// The hash table is open addressing over the list of strings, so a string costs
// its place in the list and a slot, and no allocation of its own. The hash
// differs from process to process; it decides where a string is looked for and
// nothing that is written.
type interner struct {
	table *stringTable

	// slots holds index+1 of a string in the low half, 0 where it is free, and
	// 32 bits of its hash in the high half. The length is a power of two.
	slots []uint64
	seed  maphash.Seed

	cutAtNUL bool
	limits   limits
}

// minSlots is the first length of the hash table.
const minSlots = 256

func newInterner(cutAtNUL bool, l limits) *interner {
	return &interner{
		table:    &stringTable{},
		slots:    make([]uint64, minSlots),
		seed:     maphash.MakeSeed(),
		cutAtNUL: cutAtNUL,
		limits:   l,
	}
}

// hash returns a hash of s, or hasNUL. It is apart from [interner.intern] because
// it reads the string and changes nothing: several goroutines may call it.
func (in *interner) hash(s string) uint32 {
	if strings.IndexByte(s, 0) >= 0 {
		return hasNUL
	}
	return max(uint32(maphash.String(in.seed, s)), hasNUL+1)
}

// hasNUL stands for the hash of a string that contains a NUL byte.
const hasNUL = 0

// intern returns the index of s, whose hash is given and which stands at place
// at. It keeps s.
func (in *interner) intern(s string, hash uint32, at place) (pod.StringIndex, error) {
	if hash == hasNUL {
		i := strings.IndexByte(s, 0)
		if !in.cutAtNUL {
			return 0, fmt.Errorf("%v %s %w", at, quote(s, i), ErrNUL)
		}
		s = s[:i]
		hash = in.hash(s)
	}
	mask := len(in.slots) - 1
	slot := int(hash) & mask
	for ; in.slots[slot] != 0; slot = (slot + 1) & mask {
		v := in.slots[slot]
		if i := uint32(v) - 1; uint32(v>>32) == hash && in.table.at(i) == s {
			return pod.StringIndex(i), nil
		}
	}
	if in.table.packed+int64(len(s))+1 > in.limits.packed {
		return 0, fmt.Errorf("%w: string table: expected at most %d bytes, got more with %v %s",
			pod.ErrTooLarge, in.limits.packed, at, quote(s, 0))
	}
	i := uint32(in.table.n)
	in.slots[slot] = uint64(hash)<<32 | uint64(i+1)
	in.table.add(s)
	if in.table.n > maxStrings(len(in.slots)) {
		in.grow(2 * len(in.slots))
	}
	return pod.StringIndex(i), nil
}

// reserve makes room for n more strings.
func (in *interner) reserve(n int) {
	size := len(in.slots)
	for maxStrings(size) < in.table.n+n {
		size *= 2
	}
	if size > len(in.slots) {
		in.grow(size)
	}
}

// maxStrings is the most strings in a hash table of size slots.
func maxStrings(size int) int { return size / 4 * 3 }

// grow makes the hash table one of size slots, a power of two. The strings are not
// read: the bits of the hash that were kept suffice for up to 2^32 slots, and fewer
// strings than half of them fit in the packed bytes.
func (in *interner) grow(size int) {
	old := in.slots
	in.slots = make([]uint64, size)
	mask := size - 1
	for _, v := range old {
		if v == 0 {
			continue
		}
		slot := int(uint32(v>>32)) & mask
		for in.slots[slot] != 0 {
			slot = (slot + 1) & mask
		}
		in.slots[slot] = v
	}
}

// payload is the StringTable section. The interner must not be used any more.
func (in *interner) payload() (payload, error) {
	t := in.table
	size := pod.CountSize + pod.StringOffsetSize*uint64(t.n) + uint64(t.packed)
	if err := in.limits.checkPayload(pod.SectionStringTable, size); err != nil {
		return nil, err
	}
	return payload{
		countPart(t.n),
		recordsPart(t.n, pod.StringOffsetSize, func(dst []byte, i int) {
			binary.LittleEndian.PutUint32(dst, t.offset(i))
		}),
		{t.packed, t.readPacked},
	}, nil
}

// stringTable is a list of strings and where each starts in the packed bytes,
// which are the strings one after the other with a NUL behind each. These are
// made when they are read. The list grows in chunks, so that it is never copied.
type stringTable struct {
	chunks []*stringChunk
	n      int
	packed int64 // bytes
}

// chunkStrings is the number of strings of a chunk.
const chunkStrings = 1 << 13

type stringChunk struct {
	strings [chunkStrings]string
	offsets [chunkStrings]uint32
}

func (t *stringTable) add(s string) {
	k := t.n % chunkStrings
	if k == 0 {
		t.chunks = append(t.chunks, &stringChunk{})
	}
	c := t.chunks[len(t.chunks)-1]
	c.strings[k], c.offsets[k] = s, uint32(t.packed)
	t.n++
	t.packed += int64(len(s)) + 1
}

func (t *stringTable) at(i uint32) string {
	return t.chunks[i/chunkStrings].strings[i%chunkStrings]
}

func (t *stringTable) offset(i int) uint32 {
	return t.chunks[i/chunkStrings].offsets[i%chunkStrings]
}

// readPacked fills dst with packed bytes from off on.
func (t *stringTable) readPacked(dst []byte, off int64) {
	i := sort.Search(t.n, func(i int) bool { return int64(t.offset(i)) > off }) - 1
	skip := int(off - int64(t.offset(i))) // It may be the NUL that dst begins with.
	for ; len(dst) > 0; i++ {
		n := copy(dst, t.at(uint32(i))[skip:])
		dst, skip = dst[n:], 0
		if len(dst) > 0 {
			dst[0] = 0
			dst = dst[1:]
		}
	}
}
