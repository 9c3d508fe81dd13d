package lazy

import (
	"encoding/binary"
	"fmt"

	"example.com/tracecache/internal/view"
	"example.com/tracecache/mapped"
	"example.com/tracecache/pod"
)

// payload walks the decoded bytes of a section. The first thing that does not
// fit sets err, and nothing is read after it.
type payload struct {
	file *mapped.File
	id   pod.Section
	raw  []byte
	off  int
	err  error

	extra int // bytes of records that are not views of raw
}

// fail says that the bytes from off on break a rule.
func (p *payload) fail(off int, format string, args ...any) {
	if p.err != nil {
		return
	}
	cause := fmt.Errorf("%w: "+format, append([]any{pod.ErrCorrupt}, args...)...)
	p.err = &pod.Error{Path: p.file.Path(), Section: p.id, Off: int64(off), Decoded: true, Err: cause}
}

// take returns the next n bytes, which what names in an error.
func (p *payload) take(n uint64, what string) []byte {
	if p.err != nil {
		return nil
	}
	if left := len(p.raw) - p.off; n > uint64(left) {
		p.fail(p.off, "%s takes %d bytes, %d are left", what, n, left)
		return nil
	}
	b := p.raw[p.off : p.off+int(n) : p.off+int(n)]
	p.off += int(n)
	return b
}

// count reads the u32 in front of a list.
func (p *payload) count(what string) uint32 {
	if left := len(p.raw) - p.off; left < pod.CountSize {
		what = "the count of " + what
	}
	b := p.take(pod.CountSize, what)
	if p.err != nil {
		return 0
	}
	return binary.LittleEndian.Uint32(b)
}

// takeList returns the next n records of size bytes each.
func (p *payload) takeList(n uint32, size uint64, what string) []byte {
	total := uint64(n) * size
	if left := len(p.raw) - p.off; total > uint64(left) {
		what = fmt.Sprintf("%d %s", n, what)
	}
	return p.take(total, what)
}

// records reads n records of size bytes each.
func records[T any](p *payload, n uint32, size uint64, what string) []T {
	return seen[T](p, p.takeList(n, size, what), what)
}

// seen is the records in b, which was taken last.
func seen[T any](p *payload, b []byte, what string) []T {
	if p.err != nil {
		return nil
	}
	recs, err := view.Slice[T](b)
	if err != nil {
		p.fail(p.off-len(b), "%s: %v", what, err)
		return nil
	}
	p.extra += view.Outside(recs, p.raw)
	return recs
}

// list reads a count and as many records.
func list[T any](p *payload, size uint64, what string) []T {
	n := p.count(what)
	return records[T](p, n, size, what)
}

// listInPlace is list for records that lie off their alignment by the four bytes
// of a count. It moves them onto their own count, which takes no other memory, so
// the payload can be read only once.
func listInPlace[T any](p *payload, size uint64, what string) []T {
	n := p.count(what)
	b := p.takeList(n, size, what)
	if p.err == nil && !view.Aligned[T](b) {
		at := p.off - len(b) - pod.CountSize
		moved := p.raw[at : at+len(b) : at+len(b)]
		copy(moved, b)
		b = moved
	}
	return seen[T](p, b, what)
}

// record reads one record.
func record[T any](p *payload, size uint64, what string) (rec T) {
	if recs := records[T](p, 1, size, what); len(recs) == 1 {
		return recs[0]
	}
	return rec
}
