package container

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"runtime"

	"github.com/zeebo/blake3"

	"example.com/tracecache/internal/codec"
	"example.com/tracecache/pod"
)

// Encoded is a compressed buffer. Its compressed blocks are in memory; one of
// method 0 reads its bytes when it is written.
type Encoded struct {
	head   []byte            // header and block-size table
	blocks [][]byte          // stored bytes, nil for method 0
	raw    *io.SectionReader // for method 0
	size   int64

	// Checksums are the CRC-32C of the stored blocks: of pieces of
	// [pod.RawPieceSize] for method 0.
	Checksums []uint32
}

// Size returns the number of bytes of the buffer.
func (e *Encoded) Size() int64 { return e.size }

// WriteTo writes the buffer's bytes to w. The error is that of w or, for method
// 0, of the raw bytes' reader, which must give the same bytes as before.
func (e *Encoded) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(e.head)
	total := int64(n)
	for _, block := range e.blocks {
		if err != nil {
			return total, err
		}
		n, err = w.Write(block)
		total += int64(n)
	}
	if err != nil || e.blocks != nil {
		return total, err
	}
	stored, err := io.Copy(w, io.NewSectionReader(e.raw, 0, e.raw.Size()))
	return total + stored, err
}

// Encode compresses raw into a buffer, block by block, and hashes it at the same
// time. Where compression gains nothing the buffer is of method 0. The result
// depends on the raw bytes, method, compressor, level and block size alone.
//
// Of the raw bytes one block for each worker is in memory at a time. They are
// read once, or twice where compression gains nothing, from several goroutines,
// and once more when a buffer of method 0 is written. The compressed blocks stay
// in memory, with blocks that did not get smaller as they are.
//
// Once ctx is done Encode returns its error, at the latest when the blocks at
// work are finished. The other errors are those of [Options.Check], those of
// reading raw, and [pod.ErrTooLarge] for more than 2^32-1 blocks.
func Encode(ctx context.Context, raw *io.SectionReader, opts Options) (*Encoded, error) {
	if err := opts.Check(); err != nil {
		return nil, err
	}
	if opts.BlockSizeExponent == 0 {
		opts.BlockSizeExponent = pod.DefaultBlockSizeExponent
	}
	if opts.Gate == nil {
		opts.Gate = NewGate(runtime.GOMAXPROCS(0))
	}
	if opts.Progress == nil {
		opts.Progress = func(int) {}
	}
	e := encoder{ctx: ctx, raw: raw, opts: opts}
	out, h, err := e.encode()
	if err != nil {
		return nil, err
	}
	h.RawHash = e.hash
	out.finish(h)
	return out, nil
}

// encoder is one call of [Encode].
type encoder struct {
	ctx  context.Context
	raw  *io.SectionReader
	opts Options

	// hash is that of the raw bytes, once the first pass over them is done.
	hash   [32]byte
	hashed bool
}

// encode makes the blocks, and the header without its hash and CRC.
func (e *encoder) encode() (*Encoded, pod.BufferHeader, error) {
	if e.opts.Method != pod.MethodNone && e.raw.Size() > 0 {
		out, h, err := e.compress()
		if err != nil || out.size < e.raw.Size() {
			return out, h, err
		}
	}
	return e.store()
}

// compress makes the blocks and the block-size table of a compressed buffer.
func (e *encoder) compress() (*Encoded, pod.BufferHeader, error) {
	size := 1 << e.opts.BlockSizeExponent
	n := e.pieces(size)
	if int64(n) > math.MaxUint32 {
		return nil, pod.BufferHeader{}, fmt.Errorf("%w: %d blocks of %d bytes: expected at most %d",
			pod.ErrTooLarge, n, size, uint32(math.MaxUint32))
	}
	c, err := e.opts.Codec()
	if err != nil {
		return nil, pod.BufferHeader{}, err
	}
	out := &Encoded{blocks: make([][]byte, n), Checksums: make([]uint32, n)}
	err = e.each(size, func(i int, s *scratch) {
		out.blocks[i] = e.compressBlock(c, s)
		out.Checksums[i] = crc32.Checksum(out.blocks[i], castagnoli)
	})
	if err != nil {
		return nil, pod.BufferHeader{}, err
	}
	out.head = make([]byte, pod.BufferHeaderSize, pod.BufferHeaderSize+sizeOfBlockSize*n)
	out.size = int64(cap(out.head))
	for _, block := range out.blocks {
		out.head = binary.BigEndian.AppendUint32(out.head, uint32(len(block)))
		out.size += int64(len(block))
	}
	compressor, level := c.Header(e.opts.Level)
	return out, pod.BufferHeader{
		Method:            e.opts.Method,
		Compressor:        compressor,
		CompressionLevel:  level,
		BlockSizeExponent: e.opts.BlockSizeExponent,
		BlockCount:        uint32(n),
		TotalRawSize:      uint64(e.raw.Size()),
	}, nil
}

// compressBlock returns the stored form of the block s.raw: compressed where
// that is smaller, else the raw bytes.
func (e *encoder) compressBlock(c codec.Codec, s *scratch) []byte {
	s.stored = resize(s.stored, len(s.raw))
	stored := s.stored[:c.Encode(s.stored, s.raw, e.opts.Level)]
	if len(stored) == 0 {
		stored = s.raw
	}
	return append(make([]byte, 0, len(stored)), stored...)
}

// store makes a buffer of method 0.
func (e *encoder) store() (*Encoded, pod.BufferHeader, error) {
	out := &Encoded{
		head:      make([]byte, pod.BufferHeaderSize),
		raw:       e.raw,
		size:      pod.BufferHeaderSize + e.raw.Size(),
		Checksums: make([]uint32, e.pieces(pod.RawPieceSize)),
	}
	err := e.each(pod.RawPieceSize, func(i int, s *scratch) {
		out.Checksums[i] = crc32.Checksum(s.raw, castagnoli)
	})
	return out, pod.BufferHeader{Method: pod.MethodNone, BlockCount: 1, TotalRawSize: uint64(e.raw.Size())}, err
}

// each reads the raw bytes in pieces of size bytes and runs f on each, side by
// side. The first time it hashes them as well and reports their sizes. Pieces
// are hashed by whoever reads them, in order, while they are in the processor's
// cache.
func (e *encoder) each(size int, f func(i int, s *scratch)) error {
	first := !e.hashed
	hash, turns := blake3.New(), newTurns()
	err := e.opts.Gate.each(e.ctx, e.pieces(size), func(i int, s *scratch) error {
		off := int64(i) * int64(size)
		s.raw = resize(s.raw, int(min(int64(size), e.raw.Size()-off)))
		n, err := e.raw.ReadAt(s.raw, off)
		if n == len(s.raw) {
			err = nil // It may be io.EOF.
		} else if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		if first {
			turns.do(i, func() { _, _ = hash.Write(s.raw) }) // With an error too: others wait for it.
		}
		if err != nil {
			return err
		}
		f(i, s)
		if first {
			e.opts.Progress(len(s.raw))
		}
		return nil
	})
	if first && err == nil {
		hash.Sum(e.hash[:0])
		e.hashed = true
	}
	return err
}

// pieces is the number of pieces of size bytes, the last one shorter, that the
// raw bytes make.
func (e *encoder) pieces(size int) int {
	if e.raw.Size() == 0 {
		return 0
	}
	return int((e.raw.Size()-1)/int64(size) + 1)
}

// finish writes the header, whose other fields are set, in front of the
// block-size table.
func (e *Encoded) finish(h pod.BufferHeader) {
	h.Magic = pod.BufferMagic
	h.TotalCompressedSize = uint64(e.size)
	h.Append(e.head[:0])
	h.Crc32 = crc32.ChecksumIEEE(e.head[offMethod:])
	h.Append(e.head[:0])
}
