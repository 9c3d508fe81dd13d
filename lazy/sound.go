package lazy

import (
	"context"
	"errors"
	"math"
	"runtime"

	"example.com/tracecache/internal/view"
	"example.com/tracecache/pod"
)

// sound reads every stored byte once and compares it with its checksum. Nothing is
// decompressed or kept, except that a section without checksums is decompressed, for
// its hash, if it has one. Sections by a method that is not supported are left out: they are not
// damaged for all that is known. Rules that [Cache.Verify] knows are not checked.
func (c *Cache) sound(ctx context.Context) error {
	defer runtime.KeepAlive(c) // whose file is closed when it goes
	for _, id := range pod.Sections {
		if err := c.soundSection(ctx, id); err != nil && !errors.Is(err, ErrUnsupported) {
			return err
		}
	}
	return nil
}

func (c *Cache) soundSection(ctx context.Context, id pod.Section) error {
	buf, base, err := openBuffer(c.file, id, math.MaxInt64)
	if err != nil {
		return err
	}
	if !buf.HasChecksums() && buf.RawSize() > c.opts.maxSection {
		return nil // this cache will not decode it either
	}
	var raw []byte
	if !buf.HasChecksums() {
		raw = view.MakeAligned(int(buf.RawSize()))
	}
	for i := range buf.NumBlocks() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if buf.HasChecksums() {
			err = buf.CheckBlock(i)
		} else {
			off, n := buf.RawRange(i)
			err = buf.DecodeBlock(i, raw[off:off+n])
		}
		if err != nil {
			return locate(c.file, id, base, err)
		}
	}
	if !buf.HasChecksums() && buf.HasHash() {
		err = buf.CheckHash(raw)
	}
	if err != nil {
		return locate(c.file, id, base, err)
	}
	return nil
}
