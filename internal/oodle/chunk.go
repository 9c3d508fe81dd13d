package oodle

import (
	"errors"
	"fmt"
)

// chunkSize is the raw size of every chunk but the last.
const chunkSize = 1 << 17

// seedSize is how many bytes of a block stand as they are before the first command.
const seedSize = 8

// Chunks take scratch memory for their arrays. In a chunk of an encoder nothing
// decodes to more than the chunk's size, and hardly anything is nested.
const (
	workPerByte = 64
	workBase    = 64 << 10
)

// chunks decodes the chunk list src. Chunks are decoded inside of an array of a
// fixed size, which any block but the last one of a buffer is.
func (d *Decoder) chunks(dst, src []byte, kraken bool) error {
	if len(dst) == MaxBlock {
		return d.chunkList((*[MaxBlock]byte)(dst), MaxBlock, src, kraken)
	}
	if d.window == nil {
		d.window = new([MaxBlock]byte)
	}
	if err := d.chunkList(d.window, len(dst), src, kraken); err != nil {
		return err
	}
	copy(dst, d.window[:])
	return nil
}

// chunkList decodes the chunk list src to the first size bytes of the block. What is
// behind them is undefined afterwards.
func (d *Decoder) chunkList(block *[MaxBlock]byte, size int, src []byte, kraken bool) error {
	for pos := 0; pos < size; pos += chunkSize {
		end := min(pos+chunkSize, size)
		d.scratch.used = 0
		d.work = workPerByte*(end-pos) + workBase
		rest, err := d.chunk(block, pos, end, src, kraken)
		if err != nil {
			return fmt.Errorf("chunk at %d: %w", pos, err)
		}
		src = rest
	}
	if len(src) != 0 {
		return fmt.Errorf("expected nothing after the last chunk, got %d bytes", len(src))
	}
	return nil
}

// chunk decodes to block[pos:end] the chunk that src begins with, and returns what
// follows it.
func (d *Decoder) chunk(block *[MaxBlock]byte, pos, end int, src []byte, kraken bool) (rest []byte, err error) {
	if len(src) < 4 {
		return nil, fmt.Errorf("expected 4 bytes or more, got %d", len(src))
	}
	dst := block[pos:end]
	n := len(dst)
	if src[0]&0x80 == 0 {
		h, payload, rest, err := parseArray(src)
		if err != nil {
			return nil, err
		}
		if h.raw != n {
			return nil, fmt.Errorf("array: expected %d decoded bytes, got %d", n, h.raw)
		}
		return rest, d.decodeArray(dst, h, payload, 0)
	}
	v := int(src[0])<<16 | int(src[1])<<8 | int(src[2])
	size, mode := v&0x7FFFF, v>>19&15
	src = src[3:]
	if size > len(src) {
		return nil, fmt.Errorf("expected %d bytes, got %d", size, len(src))
	}
	body, rest := src[:size], src[size:]
	switch {
	case size > n:
		return nil, fmt.Errorf("expected at most %d stored bytes, got %d", n, size)
	case size == n && mode != 0:
		return nil, fmt.Errorf("stored chunk: expected mode 0, got %d", mode)
	case size == n:
		copy(dst, body)
		return rest, nil
	case mode > 1:
		return nil, fmt.Errorf("expected mode 0 or 1, got %d", mode)
	}
	// Differences to the byte one distance before, or the bytes themselves.
	delta := mode == 0
	if kraken {
		return rest, d.krakenChunk(block[:end], pos, body, delta)
	}
	return rest, d.mermaidChunk(block, pos, end, body, delta)
}

var errShortSeed = errors.New("expected 8 bytes or more in a compressed chunk, got fewer")

// seed copies the first bytes of a block, which stand before the arrays of its first
// chunk, and returns the position of the first command and what follows in src.
func seed(dst []byte, pos int, src []byte) (start int, rest []byte, err error) {
	if pos != 0 {
		return pos, src, nil
	}
	if len(dst) < seedSize || len(src) < seedSize {
		return 0, nil, errShortSeed
	}
	copy(dst, src[:seedSize])
	return seedSize, src[seedSize:], nil
}
