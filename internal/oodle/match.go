package oodle

import (
	"encoding/binary"
	"math/bits"

	"example.com/tracecache/pod"
)

const (
	// endMargin is how far before the end of the chunk the last match must
	// end: decoders copy in wide strides.
	endMargin = 16

	// minSearch is how many bytes must be left to look for a match, and the
	// shortest match at a distance other than the last one that is looked for.
	minSearch = 4

	// The tables have 1<<bits entries, fewer for a short block.
	tableBits = 15
	tableSize = 1 << tableBits
	headBits  = 16
	headSize  = 1 << headBits
)

// matcher finds earlier occurrences of bytes in one block.
type matcher struct {
	src   []byte
	level pod.Level // of the search at work
	costs costs

	// The latest position with a hash of 4 or 5 bytes, and of 8. An entry that
	// is not set is 0, which is as good a position to try as any.
	short [tableSize]int32
	long  [tableSize]int32
	width int              // short and long are used up to 1<<width
	saved [tableSize]int32 // short at the start of the chunk

	// The latest position with a hash of 4 bytes, and for each position the one
	// before with the same hash.
	head      [headSize]int32
	headWidth int
	chain     []int32
	done      int // positions before are in the chains

	strides [chunkSize / halfSize]int // for each sub-chunk
	stride  int                       // the size of the records at hand, or 0
	limit   int                       // where a match must end at the latest
}

// match is a match found: n bytes at a distance, which save so many bits.
type match struct {
	n, distance, gain int
}

// costs are estimates in bits.
type costs struct {
	literal int // a literal byte
	command int
	near    int // a distance
	far     int
	leave   int // to leave the distance of the records, and come back
}

// reset starts a block. It clears no more of the tables than the block can use.
func (m *matcher) reset(src []byte, c pod.Compressor, l pod.Level) {
	m.src = src
	m.costs = costs{literal: 8, command: 8, near: 16, far: 24, leave: 24}
	if c == pod.CompressorMermaid {
		m.costs = costs{literal: 6, command: 5, near: 13, far: 24, leave: 32}
	}
	width := bits.Len(uint(len(src)))
	m.width = min(width, tableBits)
	clear(m.short[:1<<m.width])
	clear(m.long[:1<<m.width])
	if l >= pod.LevelFast {
		m.headWidth = min(width, headBits)
		clear(m.head[:1<<m.headWidth])
		m.chain = grown(m.chain, len(src))
		m.done = 0
	}
}

// startChunk looks at the chunk src[pos:end] and reports whether it has records.
func (m *matcher) startChunk(pos, end int) (records bool) {
	for i := range m.strides {
		base := pos + i*halfSize
		m.strides[i] = 0
		if base < end {
			m.strides[i] = findStride(m.src[base:min(base+halfSize, end)])
		}
		records = records || m.strides[i] != 0
	}
	return records
}

// saveShort and restoreShort let a chunk be parsed again: no table may have
// positions that are yet to come.
func (m *matcher) saveShort()    { copy(m.saved[:1<<m.width], m.short[:]) }
func (m *matcher) restoreShort() { copy(m.short[:], m.saved[:1<<m.width]) }

// startSubChunk is for each parse of the sub-chunk that t stands at the start of.
func (m *matcher) startSubChunk(t *chunkTables, end int) {
	m.stride = m.strides[t.half]
	m.limit = min(end, t.end-endMargin)
}

// grown is s with length n and any content.
func grown[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// matchLen is the number of bytes, as far as limit, that are the same from i and
// from j on; i is less than j.
func matchLen(src []byte, i, j, limit int) int {
	start := j
	for j+8 <= limit {
		if x := load64(src, i) ^ load64(src, j); x != 0 {
			return j - start + bits.TrailingZeros64(x)>>3
		}
		i += 8
		j += 8
	}
	for j < limit && src[i] == src[j] {
		i++
		j++
	}
	return j - start
}

func load32(b []byte, i int) uint32 { return binary.LittleEndian.Uint32(b[i:]) }
func load64(b []byte, i int) uint64 { return binary.LittleEndian.Uint64(b[i:]) }

// The hashes are the upper bits of products, which depend on all of the bytes.

func hash4(v uint32, width int) uint32 { return v * 0x9E3779B1 >> (32 - uint(width)&31) }
func hash5(v uint64, width int) uint64 { return v << 24 * 0xCF1BBCDCBB >> (64 - uint(width)&63) }
func hash8(v uint64, width int) uint64 { return v * 0xCF1BBCDCB7A56463 >> (64 - uint(width)&63) }

// consider makes b the match of position i at distance d if that saves more.
func (m *matcher) consider(b *match, i, d, recent int) {
	if d < minDistance {
		// Repetition: any multiple of the period will do.
		d *= (minDistance + d - 1) / d
	}
	if d > i || load32(m.src, i) != load32(m.src, i-d) {
		return
	}
	n := minSearch + matchLen(m.src, i+minSearch-d, i+minSearch, m.limit)
	if gain := m.gain(n, d, recent); gain > b.gain {
		*b = match{n, d, gain}
	}
}

// lenAt is the length of the match of position i at distance d.
func (m *matcher) lenAt(i, d int) int {
	if d > i || load32(m.src, i) != load32(m.src, i-d) {
		return 0
	}
	return minSearch + matchLen(m.src, i+minSearch-d, i+minSearch, m.limit)
}

// gain is what a match saves against literals, in bits.
func (m *matcher) gain(n, d, recent int) int {
	gain := n*m.costs.literal - m.costs.command
	switch {
	case d == recent:
		return gain
	case d <= maxNear:
		gain -= m.costs.near
		if n < minNear {
			return 0
		}
	default:
		gain -= m.costs.far
		if n < worthFar {
			return 0
		}
	}
	if recent == m.stride {
		gain -= m.costs.leave
	}
	return gain
}

// worthFar is the shortest match that is worth its cache miss.
const worthFar = 14

// repeat is the match of position i, where v stands, at the last distance.
func (m *matcher) repeat(i, recent int, v uint32) match {
	x := v ^ load32(m.src, i-recent)
	n := 0
	switch {
	case x == 0:
		n = minSearch + matchLen(m.src, i+minSearch-recent, i+minSearch, m.limit)
	case x&0xFFFF != 0:
		return match{}
	default:
		n = bits.TrailingZeros32(x) >> 3
	}
	return match{n, recent, n*m.costs.literal - m.costs.command}
}

// good is a match so long that no other one is looked for.
const good = 32

// find is the best match of position i.
func (m *matcher) find(i, recent int) match {
	v := load64(m.src, i)
	best := m.repeat(i, recent, uint32(v))
	if m.level == pod.LevelFast {
		m.findChained(&best, i, recent)
		return best
	}
	s := &m.short[hash5(v, m.width)%tableSize]
	d := i - int(*s)
	*s = int32(i)
	if m.level == pod.LevelSuperFast {
		if best.n < good {
			m.consider(&best, i, d, recent)
		}
		return best
	}
	l := &m.long[hash8(v, m.width)%tableSize]
	dl := i - int(*l)
	*l = int32(i)
	if best.n >= good {
		return best
	}
	if m.stride != 0 && m.stride != recent {
		m.consider(&best, i, m.stride, recent)
	}
	m.consider(&best, i, dl, recent)
	if d != dl {
		m.consider(&best, i, d, recent)
	}
	return best
}

// skip enters positions inside a match into the tables.
func (m *matcher) skip(i, end int) {
	if m.level == pod.LevelFast {
		return // The chains are made when they are needed.
	}
	for _, j := range [...]int{i + 1, end - 2} {
		v := load64(m.src, j)
		m.short[hash5(v, m.width)%tableSize] = int32(j)
		if m.level > pod.LevelSuperFast {
			m.long[hash8(v, m.width)%tableSize] = int32(j)
		}
	}
}
