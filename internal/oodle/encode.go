package oodle

import (
	"bytes"
	"fmt"

	"example.com/tracecache/pod"
)

// The fixed bytes of the block and quantum headers.
const (
	blockPacked = 0x8C // a block of one quantum
	blockStored = 0xCC // a block of raw bytes

	blockHeaderSize   = 2
	quantumHeaderSize = 3
	chunkHeaderSize   = 3
	memsetSize        = 6 // a block that is one byte over and over

	chunkPacked  = 0x800000 // chunk header: not a bare array
	chunkPlain   = 1 << 19  // chunk header: literals are not differences
	minLZChunk   = 65       // shorter chunks are stored
	minFillChunk = 32       // shorter chunks are stored, even of one byte
)

// Encoder compresses blocks. Its zero value is ready for use. It keeps its tables
// and scratch memory, up to about 6 MiB, from call to call: once it has seen the
// largest block it allocates nothing but what dst needs. One Encoder must not be
// used by several goroutines at once.
type Encoder struct {
	compressor pod.Compressor
	level      pod.Level
	match      matcher
	optimal    optimalParser
	tables     [2]chunkTables
	huff       huffWriter
}

// Encode appends src, compressed as one block, to dst and returns the result. It
// appends at most len(src)+2 bytes, and nothing for an empty src. On the way it may
// need up to 9 bytes more, so with room for len(src)+11 dst never moves. The bytes
// depend on src, c and l alone.
//
// It panics where src is longer than [MaxBlock], c is neither [Selkie] nor
// [Mermaid], or l is not one of the levels above.
func (e *Encoder) Encode(dst, src []byte, c pod.Compressor, l pod.Level) []byte {
	switch {
	case len(src) > MaxBlock:
		panic(fmt.Sprintf("oodle: expected a block of at most %d bytes, got %d", MaxBlock, len(src)))
	case c != pod.CompressorSelkie && c != pod.CompressorMermaid:
		panic(fmt.Sprintf("oodle: expected compressor %v or %v, got %v", pod.CompressorSelkie, pod.CompressorMermaid, c))
	case l < pod.LevelSuperFast || l > pod.LevelNormal:
		panic(fmt.Sprintf("oodle: expected level %v to %v, got %v", pod.LevelSuperFast, pod.LevelNormal, l))
	case len(src) == 0:
		return dst
	case len(src) > memsetSize && oneByte(src):
		return append(dst, blockPacked, typeMermaid, 0x07, 0xFF, 0xFF, src[0])
	}
	start := len(dst)
	dst = append(dst, blockPacked, typeMermaid, 0, 0, 0)
	payload := len(dst)
	e.compressor, e.level = c, l
	e.match.reset(src, c, l)
	e.optimal.m = &e.match
	for pos := 0; pos < len(src); pos += chunkSize {
		dst = e.chunk(dst, pos, min(pos+chunkSize, len(src)))
	}
	size := len(dst) - payload
	if quantumHeaderSize+size >= len(src) {
		return append(append(dst[:start], blockStored, typeMermaid), src...)
	}
	putUint24(dst[start+blockHeaderSize:], size-1)
	return dst
}

// chunk appends the chunk src[pos:end], its header first.
func (e *Encoder) chunk(dst []byte, pos, end int) []byte {
	raw := e.match.src[pos:end]
	n := len(raw)
	if n >= minFillChunk && oneByte(raw) {
		return appendFill(dst, raw[0], n)
	}
	if n >= minLZChunk {
		if t := e.parse(pos, end); t.size < n {
			start := len(dst)
			dst = append(dst, 0, 0, 0)
			dst = t.append(dst)
			header := chunkPacked | (len(dst) - start - chunkHeaderSize)
			if !t.useDeltas {
				header |= chunkPlain
			}
			putUint24(dst[start:], header)
			return dst
		}
	}
	dst = append(dst, 0, 0, 0)
	putUint24(dst[len(dst)-chunkHeaderSize:], chunkPacked|n)
	return append(dst, raw...)
}

// parse makes the tables of the chunk src[pos:end], the smallest that the level
// finds.
func (e *Encoder) parse(pos, end int) *chunkTables {
	m := &e.match
	best, other := &e.tables[0], &e.tables[1]
	mermaid := e.compressor == pod.CompressorMermaid
	records := m.startChunk(pos, end)
	differ := mermaid && (records || e.level >= pod.LevelFast)
	try := func(t *chunkTables, l pod.Level) {
		t.reset(m.src, pos, end, mermaid, differ)
		m.level = l
		for base := pos; base < end; base += halfSize {
			t.startSubChunk(base)
			subEnd := min(base+halfSize, end)
			if l == pod.LevelNormal {
				e.optimal.parse(t, subEnd)
			} else {
				m.greedy(t, subEnd)
			}
		}
		t.plan(&e.huff)
	}
	first := min(e.level, pod.LevelFast)
	m.saveShort()
	try(best, first)
	for l := first - 1; l >= pod.LevelSuperFast; l-- {
		if !records && l != pod.LevelVeryFast {
			continue
		}
		// More candidates do not always help, least of all in records.
		m.restoreShort()
		if try(other, l); other.size < best.size {
			best, other = other, best
		}
	}
	if e.level == pod.LevelNormal {
		e.optimal.prices.set(best, &e.huff)
		if try(other, pod.LevelNormal); other.size < best.size {
			best = other
		}
	}
	return best
}

// oneByte reports whether b, which is not empty, is one byte over and over.
func oneByte(b []byte) bool { return bytes.Equal(b[1:], b[:len(b)-1]) }

// putUint24 writes v to b, big-endian.
func putUint24(b []byte, v int) {
	_ = b[2]
	b[0], b[1], b[2] = byte(v>>16), byte(v>>8), byte(v)
}
