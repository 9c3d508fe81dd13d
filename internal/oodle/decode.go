package oodle

import (
	"encoding/binary"
	"errors"
	"fmt"

	"example.com/tracecache/pod"
)

// Decoder decompresses blocks. Its zero value is ready. It keeps scratch memory
// from one block to the next, and is not for concurrent use.
type Decoder struct {
	scratch scratch
	work    int // bytes of scratch memory that the chunk may still take

	tans    tans
	kraken  kraken
	huffman *huffman        // made for the first array
	mermaid *mermaid        // made for the first chunk
	window  *[MaxBlock]byte // where blocks that are not of full size are decoded
}

// Decode decompresses src, which is exactly one block as a compressed buffer stores
// it, to dst, whose length is the raw size. It is an error that matches
// [pod.ErrCorrupt] unless src is a whole valid block of that size, and one that
// matches [pod.ErrUnsupported] where the block is of a type, which the error names,
// or of a size that this package does not read. After an error dst holds garbage.
//
// dst and src may not overlap. Decode keeps neither.
func (d *Decoder) Decode(dst, src []byte) error {
	if len(dst) > MaxBlock {
		return fmt.Errorf("%w: oodle block: expected at most %d raw bytes, got %d", pod.ErrUnsupported, MaxBlock, len(dst))
	}
	err := d.block(dst, src)
	d.forget()
	if err == nil || errors.Is(err, pod.ErrUnsupported) {
		return err
	}
	return fmt.Errorf("%w: oodle block: %w", pod.ErrCorrupt, err)
}

// forget drops the slices of the caller.
func (d *Decoder) forget() {
	if d.huffman != nil {
		d.huffman.parts = [2]huffPart{}
	}
	if d.mermaid != nil {
		d.mermaid.buf, d.mermaid.far, d.mermaid.length = nil, nil, nil
	}
}

// The types of blocks.
const (
	typeLZNA      = 5
	typeKraken    = 6
	typeMermaid   = 10 // and Selkie
	typeBitKnit   = 11
	typeLeviathan = 12
)

// otherTypes are the types of blocks that exist and are not decoded here.
var otherTypes = map[byte]string{typeLZNA: "LZNA", typeBitKnit: "BitKnit", typeLeviathan: "Leviathan"}

// block decodes one block.
func (d *Decoder) block(dst, src []byte) error {
	if len(dst) == 0 && len(src) == 0 {
		return nil
	}
	if len(src) < 2 {
		return fmt.Errorf("block header: expected 2 bytes, got %d", len(src))
	}
	if src[0]&0x3F != 0x0C {
		return fmt.Errorf("block header: expected 0x0c in the low 6 bits, got %#02x", src[0]&0x3F)
	}
	stored, kind, checksums := src[0]&0x40 != 0, src[1]&0x7F, src[1]&0x80 != 0
	other, known := otherTypes[kind]
	if !known && kind != typeKraken && kind != typeMermaid {
		return fmt.Errorf("block header: expected type %d, %d, %d, %d or %d, got %d",
			typeLZNA, typeKraken, typeMermaid, typeBitKnit, typeLeviathan, kind)
	}
	src = src[2:]
	switch {
	case stored:
		if len(src) != len(dst) {
			return fmt.Errorf("stored block: expected %d bytes, got %d", len(dst), len(src))
		}
		copy(dst, src)
		return nil
	case known:
		return fmt.Errorf("%w: oodle block: compressor %s (type %d)", pod.ErrUnsupported, other, kind)
	}
	return d.quantum(dst, src, kind == typeKraken, checksums)
}

// quantum decodes what follows the header of a block that is not stored.
func (d *Decoder) quantum(dst, src []byte, kraken, checksums bool) error {
	if len(dst) == 0 {
		return fmt.Errorf("expected nothing in an empty block, got %d bytes", len(src))
	}
	if len(src) < 4 {
		return fmt.Errorf("quantum: expected 4 bytes or more, got %d", len(src))
	}
	const sizeBits, same = 18, 1 // same is the flags of a quantum of one byte value
	v := int(binary.BigEndian.Uint32(src) >> 8)
	src = src[3:]
	if n := v & (1<<sizeBits - 1); n == 1<<sizeBits-1 {
		if v>>sizeBits != same {
			return fmt.Errorf("quantum flags: expected %d, got %d", same, v>>sizeBits)
		}
		if len(src) != 1 {
			return fmt.Errorf("quantum of one value: expected 1 byte, got %d", len(src))
		}
		fill(dst, src[0])
		return nil
	} else if v = n + 1; v > len(dst) {
		return fmt.Errorf("quantum: expected at most %d stored bytes, got %d", len(dst), v)
	}
	if checksums {
		// Nobody has documented the algorithm.
		if len(src) < 3 {
			return fmt.Errorf("quantum checksum: expected 3 bytes, got %d", len(src))
		}
		src = src[3:]
	}
	if len(src) != v {
		return fmt.Errorf("quantum: expected %d bytes, got %d", v, len(src))
	}
	if v == len(dst) {
		copy(dst, src)
		return nil
	}
	return d.chunks(dst, src, kraken)
}

// fill sets every byte of dst to v.
func fill(dst []byte, v byte) {
	if v == 0 {
		clear(dst)
		return
	}
	for i := range dst {
		dst[i] = v
		if i == 63 {
			// From here on in blocks that double.
			for n := 64; n < len(dst); n *= 2 {
				copy(dst[n:], dst[:n])
			}
			return
		}
	}
}
