package container

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync"

	"example.com/tracecache/pod"
)

// DecodeBlock decompresses block i into dst, whose length must be the block's
// raw size. The stored bytes are read once, into memory that nobody else sees,
// and checked against their CRC-32C where checksums are set, so bytes that
// change under the reader cannot get past the check. After an error dst holds
// garbage. It allocates nothing where blocks are of the usual size.
//
// The errors are those of [Open], with Off at the block's stored bytes.
// DecodeBlock panics unless 0 <= i < NumBlocks.
func (b *Buffer) DecodeBlock(i int, dst []byte) error {
	off, stored := b.StoredRange(i)
	if _, raw := b.RawRange(i); int64(len(dst)) != raw {
		return fmt.Errorf("decode block %d: destination of %d bytes for %d", i, len(dst), raw)
	}
	if stored == int64(len(dst)) { // The block is stored as it is.
		if err := readAt(b.r, dst, off); err != nil {
			return err
		}
		return b.checkSum(i, dst)
	}
	buf := getStored(int(stored))
	defer putStored(buf)
	src := *buf
	if err := readAt(b.r, src, off); err != nil {
		return err
	}
	if err := b.checkSum(i, src); err != nil {
		return err
	}
	if err := b.codec.Decode(dst, src); err != nil {
		return errAt(off, fmt.Errorf("block %d: %w", i, err))
	}
	return nil
}

// CheckBlock reads the stored bytes of block i and compares them with their
// CRC-32C, where checksums are set, without decompressing them. Errors are those of
// [Buffer.DecodeBlock].
func (b *Buffer) CheckBlock(i int) error {
	off, stored := b.StoredRange(i)
	buf := getStored(int(stored))
	defer putStored(buf)
	if err := readAt(b.r, *buf, off); err != nil {
		return err
	}
	return b.checkSum(i, *buf)
}

// checkSum compares the stored bytes of block i with their checksum, if one is
// known.
func (b *Buffer) checkSum(i int, stored []byte) error {
	if b.sums == nil {
		return nil
	}
	if sum := crc32.Checksum(stored, castagnoli); sum != b.sums[i] {
		off, _ := b.StoredRange(i)
		return errAt(off, fmt.Errorf("%w: CRC-32C of block %d: expected %#08x, got %#08x",
			pod.ErrChecksum, i, b.sums[i], sum))
	}
	return nil
}

// maxPooledSize is the largest memory for stored bytes that is kept for the
// next block. Larger blocks are rare, and their memory is better given back.
const maxPooledSize = 1 << 20

var storedPool sync.Pool // of *[]byte

// getStored returns n bytes, n > 0, whose contents are undefined.
func getStored(n int) *[]byte {
	if n <= maxPooledSize {
		if p, _ := storedPool.Get().(*[]byte); p != nil && cap(*p) >= n {
			*p = (*p)[:n]
			return p
		}
	}
	// Sizes differ from block to block: with some to spare the memory serves
	// the next block as well.
	b := make([]byte, n, roundUp(n))
	return &b
}

// roundUp returns n rounded up to a multiple of 64 KiB where it will be pooled.
func roundUp(n int) int {
	if n > maxPooledSize {
		return n
	}
	const step = 64 << 10
	return (n + step - 1) &^ (step - 1)
}

func putStored(p *[]byte) {
	if cap(*p) <= maxPooledSize {
		storedPool.Put(p)
	}
}

// readAt fills p from byte off of r.
func readAt(r io.ReaderAt, p []byte, off int64) error {
	n, err := r.ReadAt(p, off)
	switch {
	case n == len(p):
		return nil // An end of file right behind the bytes is no error.
	case err == nil || errors.Is(err, io.EOF):
		return errAt(off, fmt.Errorf("%w: expected %d bytes, got %d", pod.ErrTruncated, len(p), n))
	case known(err):
		return errAt(off, err)
	}
	return errAt(off, fmt.Errorf("%w: %w", pod.ErrIO, err))
}

// known reports whether err says already what kind of failure it is.
func known(err error) bool {
	for _, kind := range []error{
		pod.ErrTruncated, pod.ErrClosed, pod.ErrIO, pod.ErrTooLarge, pod.ErrCorrupt, pod.ErrChecksum,
		pod.ErrFormat, pod.ErrVersion, pod.ErrStale, pod.ErrUnsupported, pod.ErrNotFound,
	} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}
