// Package container reads and writes compressed buffers, the form in which each
// section of a cache is stored: a header, a table of block sizes, and blocks
// that are compressed each on its own.
//
// Errors about a buffer are of type *[pod.Error] with [pod.SectionNone] and an
// Off that counts from the start of the buffer; who knows the section and its
// place in the file adds them.
//
// # Security
//
// A buffer may be any bytes. Every count and size is checked against the size
// of the buffer before it is used, and a buffer that opens decompresses to no
// more than its stored bytes can hold. That is much where one byte is repeated:
// 10 bytes of a buffer are enough for a block of 256 KiB with Oodle, and as much
// with Zstandard, so a limit on the raw size is the caller's to give.
//
// # Concurrency
//
// A [Buffer] may be used from any number of goroutines once SetChecksums, where
// it is called at all, has returned.
package container

import (
	"fmt"
	"io"

	"example.com/tracecache/internal/codec"
	"example.com/tracecache/pod"
)

// Buffer is an opened compressed buffer. It holds the header and the places of
// the blocks, not their bytes; those are read from the underlying
// [io.ReaderAt] on every call of DecodeBlock.
type Buffer struct {
	r      io.ReaderAt
	header pod.BufferHeader
	codec  codec.Codec

	// rawBlockSize is the raw size of every block but the last.
	rawBlockSize int64
	numBlocks    int

	// starts holds where each block begins in the buffer and, at the end,
	// where the last one ends. It is nil for method 0, whose pieces lie at
	// regular distances.
	starts []int64

	// sums holds one CRC-32C per block; nil where none were set.
	sums []uint32
}

// Header returns the buffer's header.
func (b *Buffer) Header() pod.BufferHeader { return b.header }

// RawSize returns how many bytes the buffer decompresses to. On a 32-bit host
// it may exceed what an int holds.
func (b *Buffer) RawSize() int64 { return int64(b.header.TotalRawSize) }

// NumBlocks returns the number of blocks: those of the block-size table or, for
// method 0, the number of pieces of [pod.RawPieceSize].
func (b *Buffer) NumBlocks() int { return b.numBlocks }

// RawRange returns where block i lies in the decompressed bytes, and its size.
// It panics unless 0 <= i < NumBlocks.
func (b *Buffer) RawRange(i int) (off, n int64) {
	b.checkIndex(i)
	off = int64(i) * b.rawBlockSize
	return off, min(b.rawBlockSize, b.RawSize()-off)
}

// StoredRange returns where block i lies in the buffer, and its stored size. It
// panics unless 0 <= i < NumBlocks.
func (b *Buffer) StoredRange(i int) (off, n int64) {
	if b.starts == nil {
		off, n = b.RawRange(i)
		return pod.BufferHeaderSize + off, n
	}
	b.checkIndex(i)
	return b.starts[i], b.starts[i+1] - b.starts[i]
}

func (b *Buffer) checkIndex(i int) {
	if i < 0 || i >= b.numBlocks {
		panic(fmt.Sprintf("container: block %d of %d", i, b.numBlocks))
	}
}

// errAt places err at byte off of a buffer.
func errAt(off int64, err error) error {
	return &pod.Error{Section: pod.SectionNone, Off: off, Err: err}
}

// corrupt is an error at byte off that matches [pod.ErrCorrupt].
func corrupt(off int64, format string, args ...any) error {
	return errAt(off, fmt.Errorf("%w: %s", pod.ErrCorrupt, fmt.Sprintf(format, args...)))
}
