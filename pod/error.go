package pod

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// The errors that every layer returns, for errors.Is. Each stands for one thing
// that a caller can do about it.
var (
	// ErrFormat: the file is not a cache of this format. Look for another file.
	ErrFormat = errors.New("not a trace cache")

	// ErrVersion: the file is a cache of another format version. Build it
	// anew, or use another release; ErrVersionOld and ErrVersionNew, which
	// both match it, say which.
	ErrVersion = errors.New("another format version")

	// ErrVersionOld: the version is older than any that can be read.
	ErrVersionOld = fmt.Errorf("%w: older", ErrVersion)

	// ErrVersionNew: the version is newer than any that can be read.
	ErrVersionNew = fmt.Errorf("%w: newer", ErrVersion)

	// ErrTruncated: the file ends before what its header or directory says.
	ErrTruncated = errors.New("truncated")

	// ErrChecksum: bytes differ from their checksum or hash.
	ErrChecksum = errors.New("checksum mismatch")

	// ErrCorrupt: bytes break a rule of the format.
	ErrCorrupt = errors.New("corrupt")

	// ErrTooLarge: something exceeds a limit: of the reader (raise it if the
	// file is trusted) or, in a writer, of the format.
	ErrTooLarge = errors.New("too large")

	// ErrStale: the cache was made from another state of its source. Build it
	// anew.
	ErrStale = errors.New("stale")

	// ErrClosed: the cache was closed. It matches [fs.ErrClosed].
	ErrClosed = fmt.Errorf("cache closed: %w", fs.ErrClosed)

	// ErrUnsupported: the file is well formed and needs something that this
	// build does not have, such as a codec.
	ErrUnsupported = errors.New("unsupported")

	// ErrIO: the system failed to read the file. Trying again may help.
	ErrIO = errors.New("read failed")

	// ErrNotFound: the cache has no answer to what was asked.
	ErrNotFound = errors.New("not found")
)

// Error says where in a cache file something is wrong. Err holds what was
// expected and matches one of the sentinels of this package.
type Error struct {
	// Path is the file's name as it was opened; empty where the bytes came
	// from elsewhere.
	Path string

	// Section is the section at fault, [SectionNone] for the file header, the
	// directory, or the file as a whole.
	Section Section

	// Off is the byte at fault, counted from the start of the file, or, where
	// Decoded is set, from the start of the section's decompressed bytes.
	Off int64

	// Decoded tells the two spaces of Off apart.
	Decoded bool

	// Err is the cause.
	Err error
}

// Error is the path, the section, the offset and the cause on one line.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Path != "" {
		b.WriteString(e.Path)
		b.WriteString(": ")
	}
	b.WriteString(e.Section.String())
	if e.Decoded {
		b.WriteString(": decoded offset ")
	} else {
		b.WriteString(": offset ")
	}
	fmt.Fprintf(&b, "%#x: %v", e.Off, e.Err)
	return b.String()
}

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Err }

// Damaged reports whether err says that the bytes of the file are wrong, as
// against missing, stale, of another version, unreadable for the moment or
// unsupported. It is true for [ErrFormat], [ErrTruncated], [ErrChecksum] and
// [ErrCorrupt].
func Damaged(err error) bool {
	return errors.Is(err, ErrFormat) || errors.Is(err, ErrTruncated) ||
		errors.Is(err, ErrChecksum) || errors.Is(err, ErrCorrupt)
}
