package writer

import (
	"encoding/binary"
	"io"
)

// payload is a section before compression, as the parts that it is put together
// from whenever it is read. It holds as much memory as its parts do.
type payload []part

// part is size bytes of a payload. read fills dst with those from off on; it may
// be called by several goroutines at once.
type part struct {
	size int64
	read func(dst []byte, off int64)
}

// reader is p's bytes.
func (p payload) reader() *io.SectionReader {
	var size int64
	for _, part := range p {
		size += part.size
	}
	return io.NewSectionReader(p, 0, size)
}

// ReadAt implements [io.ReaderAt] for offsets from 0 on.
func (p payload) ReadAt(dst []byte, off int64) (int, error) {
	n := 0
	for _, part := range p {
		if off >= part.size {
			off -= part.size
			continue
		}
		k := int(min(int64(len(dst)-n), part.size-off))
		if k == 0 {
			break
		}
		part.read(dst[n:n+k], off)
		n, off = n+k, 0
	}
	if n < len(dst) {
		return n, io.EOF
	}
	return n, nil
}

// bytesPart is b.
func bytesPart(b []byte) part {
	return part{int64(len(b)), func(dst []byte, off int64) { copy(dst, b[off:]) }}
}

// countPart is the count of a list.
func countPart(n int) part {
	return bytesPart(binary.LittleEndian.AppendUint32(nil, uint32(n)))
}

// recordsPart is n records of size bytes each, of which put writes one.
func recordsPart(n, size int, put func(dst []byte, i int)) part {
	return part{int64(n) * int64(size), func(dst []byte, off int64) {
		i := int(off / int64(size))
		if skip := int(off % int64(size)); skip > 0 {
			rec := make([]byte, size)
			put(rec, i)
			dst, i = dst[copy(dst, rec[skip:]):], i+1
		}
		for ; len(dst) >= size; i++ {
			put(dst[:size], i)
			dst = dst[size:]
		}
		if len(dst) > 0 {
			rec := make([]byte, size)
			put(rec, i)
			copy(dst, rec)
		}
	}}
}
