package writer

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"strings"

	"example.com/tracecache/pod"
)

// ErrNUL says that a string contains a NUL byte, which ends strings in the
// format. Take it out, or use [WithCutAtNUL].
var ErrNUL = errors.New("contains a NUL byte")

// place says where in the model a string is, for errors about it. It is made for
// every string, so it is put into words only when it is needed.
type place struct {
	list  string // of the model; empty for a symbol
	index int    // in the list; negative for what is no list
	field string
	addr  uint64 // of a symbol
}

func (p place) String() string {
	switch {
	case p.list == "":
		return fmt.Sprintf("symbol %#x: name", p.addr)
	case p.index < 0:
		return p.list + "." + p.field
	}
	return fmt.Sprintf("%s[%d].%s", p.list, p.index, p.field)
}

// interner gathers distinct strings, in the form of the string table: packed
// bytes, each string with a NUL behind it, and where each starts. An index is
// the order of first interning.
//
// The hash table is open addressing over the packed bytes, so a string costs
// its bytes, its offset and a slot, and no allocation of its own. The hash
// differs from process to process; it decides where a string is looked for and
// nothing that is written.
type interner struct {
	packed  []byte
	offsets []uint32

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
	return &interner{slots: make([]uint64, minSlots), seed: maphash.MakeSeed(), cutAtNUL: cutAtNUL, limits: l}
}

// intern returns the index of s, which stands at place at.
func (in *interner) intern(s string, at place) (pod.StringIndex, error) {
	if i := strings.IndexByte(s, 0); i >= 0 {
		if !in.cutAtNUL {
			return 0, fmt.Errorf("%v %s %w", at, quote(s, i), ErrNUL)
		}
		s = s[:i]
	}
	hash := uint32(maphash.String(in.seed, s))
	mask := len(in.slots) - 1
	slot := int(hash) & mask
	for ; in.slots[slot] != 0; slot = (slot + 1) & mask {
		v := in.slots[slot]
		if i := uint32(v) - 1; uint32(v>>32) == hash && string(in.bytes(i)) == s {
			return pod.StringIndex(i), nil
		}
	}
	if int64(len(in.packed))+int64(len(s))+1 > in.limits.packed {
		return 0, fmt.Errorf("%w: string table: expected at most %d bytes, got more with %v %s",
			pod.ErrTooLarge, in.limits.packed, at, quote(s, 0))
	}
	i := uint32(len(in.offsets))
	in.slots[slot] = uint64(hash)<<32 | uint64(i+1)
	in.offsets = append(in.offsets, uint32(len(in.packed)))
	in.packed = append(append(in.packed, s...), 0)
	if len(in.offsets) > len(in.slots)/2 {
		in.grow()
	}
	return pod.StringIndex(i), nil
}

// bytes are those of string i, without the NUL.
func (in *interner) bytes(i uint32) []byte {
	end := len(in.packed)
	if int(i)+1 < len(in.offsets) {
		end = int(in.offsets[i+1])
	}
	return in.packed[in.offsets[i] : end-1]
}

// grow doubles the hash table. The strings are not read: the bits of the hash
// that were kept suffice for up to 2^32 slots, and fewer strings than half of
// them fit in the packed bytes.
func (in *interner) grow() {
	old := in.slots
	in.slots = make([]uint64, 2*len(old))
	mask := len(in.slots) - 1
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

// payload is the StringTable section.
func (in *interner) payload() ([]byte, error) {
	size := pod.CountSize + pod.StringOffsetSize*uint64(len(in.offsets)) + uint64(len(in.packed))
	if err := in.limits.checkPayload(pod.SectionStringTable, size); err != nil {
		return nil, err
	}
	b := make([]byte, 0, size)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(in.offsets)))
	for _, off := range in.offsets {
		b = binary.LittleEndian.AppendUint32(b, off)
	}
	return append(b, in.packed...), nil
}

// quote is s in quotes, cut to the surroundings of byte i where it is long.
func quote(s string, i int) string {
	const around = 40
	from, to := max(0, i-around), min(len(s), i+around)
	q := fmt.Sprintf("%q", s[from:to])
	if from > 0 {
		q = "…" + q
	}
	if to < len(s) {
		q += "…"
	}
	return q
}
