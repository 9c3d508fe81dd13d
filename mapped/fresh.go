package mapped

import (
	"fmt"
	"os"

	"example.com/tracecache/pod"
)

// Fresh returns nil where the cache was made from the file source as it is now:
// its size and modification time are those in the header. Else the error matches
// [pod.ErrStale] and says why. A source that is missing, that cannot be looked
// at, or that the header does not record is stale. The cost is one stat.
func (f *File) Fresh(source string) error {
	if f.header.SourceModTimeNs == 0 {
		return f.stale(16, "the cache does not record its source")
	}
	fi, err := os.Stat(source)
	if err != nil {
		// Not wrapped: a missing source must not look like a missing cache.
		return f.stale(8, fmt.Sprintf("source: %v", err))
	}
	if size := uint64(fi.Size()); size != f.header.SourceFileSize {
		return f.stale(8, fmt.Sprintf("source %s has %d bytes, it had %d when it was analysed", source, size, f.header.SourceFileSize))
	}
	if ns := fi.ModTime().UnixNano(); ns != f.header.SourceModTimeNs {
		return f.stale(16, fmt.Sprintf("source %s was modified at %d ns, it was analysed as of %d ns", source, ns, f.header.SourceModTimeNs))
	}
	return nil
}

func (f *File) stale(off int64, reason string) error {
	return f.fault(pod.SectionNone, off, fmt.Errorf("%w: %s", pod.ErrStale, reason))
}
