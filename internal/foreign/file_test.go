package foreign

import (
	"encoding/binary"
	"hash/crc32"
)

// layout says how the sections lie in a file.
type layout struct {
	sourceSize  uint64
	sourceModNs int64

	order []int // of the section ids in the file; nil: ascending
	gap   int   // bytes of noise before the first section, one more before each next; none if 0
}

// file joins compressed buffers and their checksum tables into a cache file. A
// section without a table has none in sums.
func file(lay layout, sections, sums [5][]byte) []byte {
	le := binary.LittleEndian
	b := []byte("ZTAC")
	b = le.AppendUint32(b, 1)
	b = le.AppendUint64(b, lay.sourceSize)
	b = le.AppendUint64(b, uint64(lay.sourceModNs))
	b = append(b, make([]byte, 5*24)...)

	order := lay.order
	if order == nil {
		order = []int{0, 1, 2, 3, 4}
	}
	for i, id := range order {
		if lay.gap > 0 {
			b = append(b, noise(lay.gap+i, uint32(id+1))...)
		}
		e := b[24+24*id:]
		le.PutUint32(e[0:], uint32(id))
		le.PutUint32(e[4:], reserved(sums[id]))
		le.PutUint64(e[8:], uint64(len(b)))
		le.PutUint64(e[16:], uint64(len(sections[id])))
		b = append(b, sections[id]...)
		b = append(b, sums[id]...)
	}
	return append(b, noise(lay.gap, 9)...)
}

// reserved is the directory's checksum of a checksum table: 0 says that there is
// none, so a sum of 0 is stored as 1.
func reserved(table []byte) uint32 {
	if table == nil {
		return 0
	}
	return max(1, crc32.Checksum(table, castagnoli))
}
