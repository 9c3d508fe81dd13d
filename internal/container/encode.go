package container

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"runtime"
	"sync"

	"github.com/zeebo/blake3"

	"example.com/tracecache/internal/codec"
	"example.com/tracecache/pod"
)

// Options say how [Encode] makes a buffer.
type Options struct {
	Method pod.Method

	// Compressor is for [pod.MethodOodle]: [pod.CompressorSelkie] or
	// [pod.CompressorMermaid], and 0 for Mermaid. It is 0 for other methods.
	Compressor pod.Compressor

	// Level is the method's; 0 is its default.
	Level int

	// BlockSizeExponent is the raw size of a block as a power of two,
	// [pod.MinBlockSizeExponent] to [pod.MaxBlockSizeExponent], or for Oodle to
	// [pod.MaxOodleBlockSizeExponent]; 0 stands for
	// [pod.DefaultBlockSizeExponent].
	BlockSizeExponent uint8

	// Gate limits the work of all calls that share it; nil allows one call as
	// many workers as there are processors.
	Gate *Gate

	// Progress, where set, is called with the raw size of each block that is
	// done, from several goroutines at once. The sizes add up to the raw size.
	Progress func(raw int)
}

// Codec is the codec of method and compressor. The error matches
// [pod.ErrUnsupported] where they are not known.
func (o Options) Codec() (codec.Codec, error) {
	switch {
	case o.Method == pod.MethodOodle:
		return codec.ForOodle(o.Compressor)
	case o.Compressor != 0:
		return nil, fmt.Errorf("compressor: expected none for %v, got %v", o.Method, o.Compressor)
	}
	return codec.ForMethod(o.Method)
}

// Check is an error, naming the option and its value, where [Encode] would
// refuse o. It matches [pod.ErrUnsupported] where the method is not known.
func (o Options) Check() error {
	c, err := o.Codec()
	if err != nil {
		return err
	}
	if err := c.CheckLevel(o.Level); err != nil {
		return err
	}
	exp, most := o.BlockSizeExponent, uint8(pod.MaxBlockSizeExponent)
	if o.Method == pod.MethodOodle {
		most = pod.MaxOodleBlockSizeExponent
	}
	if exp != 0 && (exp < pod.MinBlockSizeExponent || exp > most) {
		return fmt.Errorf("block size exponent: expected %d to %d, got %d", pod.MinBlockSizeExponent, most, exp)
	}
	return nil
}

// Encoded is a compressed buffer in memory. Blocks that did not get smaller
// share memory with the raw bytes, which must not change as long as it is used.
type Encoded struct {
	head   []byte   // header and block-size table
	blocks [][]byte // stored bytes
	size   int64

	// Checksums are the CRC-32C of the stored blocks: of pieces of
	// [pod.RawPieceSize] for method 0.
	Checksums []uint32
}

// Size returns the number of bytes of the buffer.
func (e *Encoded) Size() int64 { return e.size }

// WriteTo writes the buffer's bytes to w. The error is that of w.
func (e *Encoded) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(e.head)
	total := int64(n)
	for _, block := range e.blocks {
		if err != nil {
			break
		}
		n, err = w.Write(block)
		total += int64(n)
	}
	return total, err
}

// Encode compresses raw into a buffer, block by block, and hashes it at the same
// time. Where compression gains nothing the buffer is of method 0. The result
// depends on raw, method, compressor, level and block size alone. It keeps the compressed
// blocks in memory and beside them one block for each worker.
//
// Once ctx is done Encode returns its error, at the latest when the blocks at
// work are finished. The other errors are those of [Options.Check], and
// [pod.ErrTooLarge] for more than 2^32-1 blocks.
func Encode(ctx context.Context, raw []byte, opts Options) (*Encoded, error) {
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
	var hash [32]byte
	var hashErr error
	var wg sync.WaitGroup
	wg.Go(func() { hash, hashErr = e.hash() })
	out, h, err := e.encode()
	wg.Wait()
	if err == nil {
		err = hashErr
	}
	if err != nil {
		return nil, err
	}
	h.RawHash = hash
	out.finish(h)
	return out, nil
}

// encoder is one call of [Encode].
type encoder struct {
	ctx  context.Context
	raw  []byte
	opts Options

	// scratch holds what blocks are compressed into, a *[]byte for each worker.
	// It belongs to the call because a block may be as large as 1 GiB.
	scratch sync.Pool
}

// encode makes the blocks, and the header without its hash and CRC.
func (e *encoder) encode() (*Encoded, pod.BufferHeader, error) {
	if e.opts.Method != pod.MethodNone && len(e.raw) > 0 {
		out, h, err := e.compress()
		if err != nil || out.size < int64(len(e.raw)) {
			return out, h, err
		}
		e.opts.Progress = func(int) {} // All of it was reported already.
	}
	return e.store()
}

// compress makes the blocks and the block-size table of a compressed buffer.
func (e *encoder) compress() (*Encoded, pod.BufferHeader, error) {
	size := 1 << e.opts.BlockSizeExponent
	n := pieces(len(e.raw), size)
	if int64(n) > math.MaxUint32 {
		return nil, pod.BufferHeader{}, fmt.Errorf("%w: %d blocks of %d bytes: expected at most %d",
			pod.ErrTooLarge, n, size, uint32(math.MaxUint32))
	}
	c, err := e.opts.Codec()
	if err != nil {
		return nil, pod.BufferHeader{}, err
	}
	out := &Encoded{blocks: make([][]byte, n), Checksums: make([]uint32, n)}
	err = e.opts.Gate.each(e.ctx, n, func(i int) {
		raw := piece(e.raw, size, i)
		out.blocks[i] = e.compressBlock(c, raw)
		out.Checksums[i] = crc32.Checksum(out.blocks[i], castagnoli)
		e.opts.Progress(len(raw))
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
		TotalRawSize:      uint64(len(e.raw)),
	}, nil
}

// compressBlock returns the stored form of a block: compressed where that is
// smaller, else the raw bytes themselves.
func (e *encoder) compressBlock(c codec.Codec, raw []byte) []byte {
	buf, _ := e.scratch.Get().(*[]byte)
	if buf == nil {
		b := make([]byte, min(len(e.raw), 1<<e.opts.BlockSizeExponent))
		buf = &b
	}
	defer e.scratch.Put(buf)
	n := c.Encode(*buf, raw, e.opts.Level)
	if n == 0 {
		return raw
	}
	return append(make([]byte, 0, n), (*buf)[:n]...)
}

// store makes a buffer of method 0.
func (e *encoder) store() (*Encoded, pod.BufferHeader, error) {
	n := pieces(len(e.raw), pod.RawPieceSize)
	out := &Encoded{
		head:      make([]byte, pod.BufferHeaderSize),
		blocks:    [][]byte{e.raw},
		size:      pod.BufferHeaderSize + int64(len(e.raw)),
		Checksums: make([]uint32, n),
	}
	err := e.opts.Gate.each(e.ctx, n, func(i int) {
		raw := piece(e.raw, pod.RawPieceSize, i)
		out.Checksums[i] = crc32.Checksum(raw, castagnoli)
		e.opts.Progress(len(raw))
	})
	return out, pod.BufferHeader{Method: pod.MethodNone, BlockCount: 1, TotalRawSize: uint64(len(e.raw))}, err
}

// hash returns the hash of the raw bytes. It takes one slot of the gate for as
// long as a few blocks take, so that none of many sections hashed at once keeps
// the others from their turn.
func (e *encoder) hash() (sum [32]byte, err error) {
	const size = 1 << 20
	h := blake3.New()
	for i := range pieces(len(e.raw), size) {
		err := e.opts.Gate.do(e.ctx, func() { _, _ = h.Write(piece(e.raw, size, i)) })
		if err != nil {
			return sum, err
		}
	}
	h.Sum(sum[:0])
	return sum, nil
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

// pieces is the number of pieces of size bytes, the last one shorter, that n
// bytes make.
func pieces(n, size int) int {
	if n == 0 {
		return 0
	}
	return (n-1)/size + 1
}

// piece is piece i of b.
func piece(b []byte, size, i int) []byte {
	b = b[i*size:]
	return b[:min(size, len(b))]
}
