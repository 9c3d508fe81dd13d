package writer

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/bits"
	"runtime"
	"time"

	"example.com/tracecache/internal/codec"
	"example.com/tracecache/internal/container"
	"example.com/tracecache/pod"
)

// Option changes how a cache is written. The defaults are LZ4, its fast level,
// blocks of 256 KiB and one worker for each processor.
type Option func(*options) error

type options struct {
	ctx      context.Context
	encode   container.Options
	workers  int
	progress func(done, total int64)
	source   pod.FileHeader // only what is known of the source
	symbols  iter.Seq2[uint64, string]
	cutAtNUL bool
	limits   limits
}

// newOptions applies opts to the defaults.
func newOptions(opts []Option) (*options, error) {
	o := &options{
		ctx:     context.Background(),
		encode:  container.Options{Method: pod.MethodLZ4},
		workers: runtime.GOMAXPROCS(0),
		limits:  formatLimits,
	}
	for _, opt := range opts {
		if err := opt(o); err != nil {
			return nil, err
		}
	}
	// A level is of a method, so it is checked when both are known.
	c, err := o.encode.Codec()
	if err != nil {
		return nil, fmt.Errorf("option WithCodec: %w", err)
	}
	if err := c.CheckLevel(o.encode.Level); err != nil {
		return nil, fmt.Errorf("option WithLevel: %w", err)
	}
	if err := o.encode.Check(); err != nil { // Only the block size is left.
		return nil, fmt.Errorf("option WithBlockSize: %w", err)
	}
	o.encode.Gate = container.NewGate(o.workers)
	return o, nil
}

// WithCodec compresses by method m: [pod.MethodNone], [pod.MethodLZ4],
// [pod.MethodZstd] or [pod.MethodOodle], which is its compressor Mermaid. Where
// compression does not make a section smaller, it is stored without.
func WithCodec(m pod.Method) Option {
	return func(o *options) error {
		o.encode.Method, o.encode.Compressor = m, 0
		return nil
	}
}

// WithOodle compresses by [pod.MethodOodle] with the compressor c:
// [pod.CompressorMermaid], or [pod.CompressorSelkie], which decodes faster and
// compresses less. It takes the place of [WithCodec].
func WithOodle(c pod.Compressor) Option {
	return func(o *options) error {
		if _, err := codec.ForOodle(c); err != nil {
			return fmt.Errorf("option WithOodle: %w", err)
		}
		o.encode.Method, o.encode.Compressor = pod.MethodOodle, c
		return nil
	}
}

// WithLevel sets how hard the codec tries: 1 to 9 for LZ4, 1 to 22 for
// Zstandard, 1 to 4 for Oodle, which are [pod.LevelSuperFast] to [pod.LevelNormal].
// 0 is the codec's default: a level of LZ4 below 1 that is much faster than it, 3
// for Zstandard, and VeryFast for Oodle. Neighbouring levels may give the same
// bytes.
func WithLevel(n int) Option {
	return func(o *options) error {
		o.encode.Level = n
		return nil
	}
}

// WithBlockSize sets the raw bytes of a block, a power of two from 1 KiB to
// 1 GiB, or 256 KiB for Oodle. Readers decode whole blocks: small ones make a first look-up cheaper,
// large ones the file smaller.
func WithBlockSize(bytes int) Option {
	return func(o *options) error {
		const least, most = 1 << pod.MinBlockSizeExponent, 1 << pod.MaxBlockSizeExponent
		if bytes < least || bytes > most || bytes&(bytes-1) != 0 {
			return fmt.Errorf("option WithBlockSize: expected a power of two from %d to %d, got %d", least, most, bytes)
		}
		o.encode.BlockSizeExponent = uint8(bits.Len(uint(bytes)) - 1)
		return nil
	}
}

// WithWorkers lets n blocks at a time be compressed, of all sections together.
func WithWorkers(n int) Option {
	return func(o *options) error {
		if n < 1 {
			return fmt.Errorf("option WithWorkers: expected at least 1, got %d", n)
		}
		o.workers = n
		return nil
	}
}

// WithProgress calls f as sections are compressed, with the bytes done and the
// bytes in all, before compression. Calls come one at a time, from any
// goroutine; done rises with each and is total in the last. A slow f slows the
// writer.
func WithProgress(f func(done, total int64)) Option {
	return func(o *options) error {
		o.progress = f
		return nil
	}
}

// WithContext stops the writer, with the context's error, soon after ctx is
// done. [WriteFile] then leaves everything as it was.
func WithContext(ctx context.Context) Option {
	return func(o *options) error {
		if ctx == nil {
			return errors.New("option WithContext: expected a context, got nil")
		}
		o.ctx = ctx
		return nil
	}
}

// WithSource records the size and the modification time of the file that the
// model was made from, so that readers can tell when the cache is stale. Take
// both before the analysis starts: a source that changes during it then makes
// the cache stale. The zero time stands for a time that is not known. A cache
// without a source is stale for every source.
func WithSource(size int64, mtime time.Time) Option {
	return func(o *options) error {
		if size < 0 {
			return fmt.Errorf("option WithSource: expected a size of at least 0, got %d", size)
		}
		o.source.SourceFileSize = uint64(size)
		o.source.SourceModTimeNs = 0
		if mtime.IsZero() {
			return nil
		}
		ns := mtime.UnixNano()
		if !time.Unix(0, ns).Equal(mtime) {
			return fmt.Errorf("option WithSource: expected a time within 292 years of 1970, got %v", mtime)
		}
		o.source.SourceModTimeNs = ns
		return nil
	}
}

// WithSymbols writes these addresses and names in place of the model's symbols,
// in any order. The sequence is run once, to its end unless the context is done
// before; its strings are kept until the cache is written.
func WithSymbols(symbols iter.Seq2[uint64, string]) Option {
	return func(o *options) error {
		if symbols == nil {
			return errors.New("option WithSymbols: expected a sequence, got nil")
		}
		o.symbols = symbols
		return nil
	}
}

// WithCutAtNUL writes strings that contain a NUL byte up to the first of them.
// Without it they are an error, [ErrNUL].
func WithCutAtNUL() Option {
	return func(o *options) error {
		o.cutAtNUL = true
		return nil
	}
}
