package lazy

import (
	"fmt"
	"log/slog"
	"math"
)

// Option changes how a cache is opened. None is needed.
type Option func(*options)

type options struct {
	source     string
	hasSource  bool
	maxSection int64
	hashCheck  bool
	exactIndex bool
	budget     *Budget
	log        *slog.Logger // nil: none
}

// defaultMaxSection bounds what one section may decompress to: 2 GiB, and 256 MiB on
// a 32-bit host, where several sections of 2 GiB are more than there is to address
// and a program that asks for it ends.
const defaultMaxSection = 256 << 20 << (3 * (math.MaxUint >> 63))

// WithSource names the file that the cache was made from. Opening fails with
// [ErrStale] where the source has changed since, is missing, or was not recorded.
func WithSource(path string) Option {
	return func(o *options) { o.source, o.hasSource = path, true }
}

// WithMaxSection bounds what one section may decompress to, by default 2 GiB, or
// 256 MiB on a 32-bit host.
// A section above it fails with [ErrTooLarge] when it is asked for, before memory
// is taken.
func WithMaxSection(bytes int64) Option {
	return func(o *options) { o.maxSection = bytes }
}

// WithHashCheck compares each section with its hash when it is loaded. It costs
// one pass of BLAKE3 over the decompressed bytes, and finds damage in files that
// have no checksum tables.
func WithHashCheck() Option {
	return func(o *options) { o.hashCheck = true }
}

// WithExactIndex makes [Symbols.Resolve] faster, for programs that resolve many
// addresses which are starts of functions: loading symbols also builds a hash
// table, of 32 bytes a name. No answer changes.
func WithExactIndex() Option {
	return func(o *options) { o.exactIndex = true }
}

// WithBudget counts what the cache holds decoded on b, which other caches may share.
// A cache without one has no bound.
func WithBudget(b *Budget) Option {
	return func(o *options) { o.budget = b }
}

// WithLogger makes the cache tell l what it does: at level Debug that a section was
// loaded, or dropped for want of room, at Info that a [Follower] has taken up a new
// file, at Warn that a section or a new file cannot be used, and why. Without it
// nothing is logged. Handlers are called by the goroutines that load, so they must not
// wait for a section of the cache, with its accessors; everything else they may use.
func WithLogger(l *slog.Logger) Option {
	return func(o *options) { o.log = l }
}

func newOptions(opts []Option) (options, error) {
	o := options{maxSection: defaultMaxSection}
	for _, opt := range opts {
		opt(&o)
	}
	if o.budget == nil {
		o.budget = NewBudget(unlimited)
	}
	if o.maxSection <= 0 {
		return o, fmt.Errorf("lazy: WithMaxSection(%d): expected a positive number of bytes", o.maxSection)
	}
	return o, nil
}
