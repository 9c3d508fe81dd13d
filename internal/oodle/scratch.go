package oodle

// scratch is memory for the decoded arrays of one chunk, which is given back in
// the reverse order.
type scratch struct {
	buf  []byte
	used int
}

// scratchStep is what the memory's size is a multiple of.
const scratchStep = 64 << 10

// take returns n bytes with undefined contents. They are valid until used is set
// back to what it was before.
func (s *scratch) take(n int) []byte {
	if n > len(s.buf)-s.used {
		// What was taken before stays in the old memory, which lives as long as
		// it is needed. The new memory has room for all that, so the next chunk
		// of the kind fits.
		s.buf = make([]byte, (s.used+n+scratchStep-1)/scratchStep*scratchStep)
	}
	s.used += n
	return s.buf[s.used-n : s.used : s.used]
}
