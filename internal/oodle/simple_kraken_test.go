package oodle_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// simpleKraken is a Kraken chunk in the making, like simpleLZ.
type simpleKraken struct {
	out          []byte
	seed         []byte
	plain, delta []byte
	cmd          []byte
	dists        []int
	lengths      []int // each 3 or more
	recent       [3]int
	last         int

	// What makes a chunk damaged.
	changeCodes func([]byte)
	long        []int         // more long lengths
	bits        [2]simpleBits // more bits
	count       int           // another count of long lengths
}

func (k *simpleKraken) start(seed []byte) {
	*k = simpleKraken{out: append(k.out, seed...), seed: seed, recent: [3]int{8, 8, 8}, last: 8}
}

func (k *simpleKraken) tail(b []byte) {
	for _, c := range b {
		k.plain = append(k.plain, c)
		k.delta = append(k.delta, c-k.out[len(k.out)-k.last])
		k.out = append(k.out, c)
	}
}

// command is literals and a match of 2 bytes and more at a recent distance (0 to
// 2) or a new one (3).
func (k *simpleKraken) command(lits []byte, recent, dist, n int) {
	c := recent<<6 | min(len(lits), 3)
	if len(lits) >= 3 {
		k.lengths = append(k.lengths, len(lits))
	}
	k.tail(lits)
	if n >= 17 {
		c |= 15 << 2
		k.lengths = append(k.lengths, n-14)
	} else {
		c |= (n - 2) << 2
	}
	k.cmd = append(k.cmd, byte(c))
	switch recent {
	case 3:
		k.dists = append(k.dists, dist)
		k.recent = [3]int{dist, k.recent[0], k.recent[1]}
	case 2:
		k.recent = [3]int{k.recent[2], k.recent[0], k.recent[1]}
	case 1:
		k.recent = [3]int{k.recent[1], k.recent[0], k.recent[2]}
	}
	k.last = k.recent[0]
	for range n {
		k.out = append(k.out, k.out[len(k.out)-k.last])
	}
}

// simpleKrakenForm is how the arrays of a chunk are written.
type simpleKrakenForm struct {
	delta     bool
	scale     int // 0 to 128
	lit, code func([]byte) []byte
}

// distances is the codes of the distances, their low parts where the scale has
// any, and the bits for the two readers.
func (k *simpleKraken) distances(scale int) (codes, low []byte, bits [2]simpleBits) {
	for i, dist := range k.dists {
		r := &bits[i&1]
		switch {
		case scale == 0:
			x := dist + 248
			n := simpleFloorLog(x >> 4)
			codes = append(codes, byte((n-4)<<4|x&15))
			r.put(x>>4, n)
			continue
		case scale > 1:
			low = append(low, byte(dist%scale))
			dist /= scale
		}
		x := dist + 8
		e := simpleFloorLog(x) - 3
		codes = append(codes, byte(e<<3|x>>e&7))
		r.put(x, e)
	}
	if k.changeCodes != nil {
		k.changeCodes(codes)
	}
	return codes, low, bits
}

// body is the chunk.
func (k *simpleKraken) body(form simpleKrakenForm) []byte {
	lit := k.plain
	if form.delta {
		lit = k.delta
	}
	codes, low, bits := k.distances(form.scale)
	var packed []byte
	var long []int
	for _, n := range k.lengths {
		packed = append(packed, byte(min(n-3, 255)))
		if n-3 >= 255 {
			long = append(long, n-3-255)
		}
	}
	// The count of long lengths is the first that the reader from the back has.
	var count simpleBits
	long = append(long, k.long...)
	n := simpleFloorLog(len(long) + 1 + k.count)
	count.put(len(long)+1+k.count, 2*n+1)
	bits[1] = append(count, bits[1]...)
	for i, v := range long {
		n := simpleFloorLog(v + 64)
		bits[i&1].put(v+64, 2*n+1-6)
	}
	bits[0], bits[1] = append(bits[0], k.bits[0]...), append(bits[1], k.bits[1]...)
	if form.lit == nil {
		form.lit = form.code
	}
	b := slices.Concat(k.seed, simpleCoded(form.lit, lit), simpleCoded(form.code, k.cmd))
	if form.scale > 0 {
		b = append(b, byte(form.scale+127))
	}
	b = append(b, simpleCoded(form.code, codes)...)
	if form.scale > 1 {
		b = append(b, simpleCoded(form.code, low)...)
	}
	return slices.Concat(b, simpleCoded(form.code, packed), bits[0].high(), simpleBackward(bits[1].high()))
}

// random fills a chunk up to size with commands of all kinds.
func (k *simpleKraken) random(r *rand.Rand, size int) {
	for size-len(k.out) > 3000 {
		lits := []int{r.IntN(3), r.IntN(3), 3, 3 + r.IntN(30), 255 + r.IntN(6), r.IntN(700)}[r.IntN(6)]
		n := []int{2 + r.IntN(15), 2 + r.IntN(15), 16, 17, 17 + r.IntN(300), 271 + r.IntN(4), r.IntN(1500) + 2}[r.IntN(7)]
		recent := r.IntN(4)
		reach := min(len(k.out), []int{9, 20, 256, 5000, 1 << 18}[r.IntN(5)])
		dist := 8 + r.IntN(max(reach-8, 0)+1)
		k.command(simpleText(r, lits, min(max(lits, 1), 8)), recent, dist, n)
	}
	if r.IntN(4) > 0 {
		k.tail(simpleText(r, size-len(k.out), 8))
		return
	}
	// The last command ends where the chunk ends.
	k.command(nil, 0, 0, size-len(k.out))
}

func TestSimpleKraken(t *testing.T) {
	coders := map[string]func([]byte) []byte{
		"raw":       nil,
		"3 streams": simpleWorthwhile(simpleHuffman(2, false)),
		"6 streams": simpleWorthwhile(simpleHuffman(4, false)),
		"tANS":      simpleWorthwhile(simpleTANS(false)),
	}
	for _, size := range []int{9000, 70000, simpleChunkSize, simpleChunkSize + 5000, 2 * simpleChunkSize} {
		for _, scale := range []int{0, 1, 2, 3, 8, 100, 128} {
			for name, code := range coders {
				for _, delta := range []bool{false, true} {
					if name != "raw" && scale != 0 && scale != 3 {
						continue
					}
					form := simpleKrakenForm{delta: delta, scale: scale, code: code}
					mode := simplePlain
					if delta {
						mode = simpleDelta
					}
					r := simpleRand(uint64(size + scale))
					var k simpleKraken
					k.start(simpleText(r, 8, 8))
					k.random(r, min(size, simpleChunkSize))
					chunks := simpleLZChunk(mode, k.body(form))
					if size > simpleChunkSize {
						k.start(nil)
						k.random(r, size)
						chunks = append(chunks, simpleLZChunk(mode, k.body(form))...)
					}
					what := fmt.Sprintf("%d bytes, scale %d, %s, delta %t", size, scale, name, delta)
					simpleCheck(t, what, simpleBlock(simpleTypeKraken, chunks), k.out)
				}
			}
		}
	}
}

// simpleWorthwhile is the coder where it makes an array shorter.
func simpleWorthwhile(code func([]byte) []byte) func([]byte) []byte {
	return func(b []byte) []byte {
		if len(b) < 100 || len(simpleSymbols(b)) < 2 {
			return simpleRaw(false, b)
		}
		return simpleIfShorter(code)(b)
	}
}

// Many long lengths need a long count.
func TestSimpleKrakenLongLengths(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 63, 200, 400} {
		var k simpleKraken
		k.start([]byte("12345678"))
		k.command(bytes.Repeat([]byte("ab"), 20), 3, 8, 5)
		for i := range n {
			k.command(nil, 0, 0, 272+i%7)
		}
		k.command(nil, 3, 9, 9000) // and one of some thousands
		k.tail([]byte("tail"))
		for _, scale := range []int{0, 1} {
			block := simpleBlock(simpleTypeKraken, simpleLZChunk(simplePlain, k.body(simpleKrakenForm{scale: scale})))
			if len(k.out) <= simpleChunkSize {
				simpleCheck(t, fmt.Sprintf("%d long, scale %d", n, scale), block, k.out)
			}
		}
	}
}
