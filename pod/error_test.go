package pod

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var sentinels = []error{
	ErrFormat, ErrVersion, ErrVersionOld, ErrVersionNew, ErrTruncated, ErrChecksum, ErrCorrupt, ErrTooLarge,
	ErrStale, ErrClosed, ErrUnsupported, ErrIO, ErrNotFound,
}

// A sentinel matches itself, and no other but those named here.
func TestSentinelsAreApart(t *testing.T) {
	also := map[error]error{ErrVersionOld: ErrVersion, ErrVersionNew: ErrVersion}
	for _, err := range sentinels {
		for _, target := range sentinels {
			assert.Equal(t, err == target || also[err] == target, errors.Is(err, target), "%v is %v", err, target)
		}
		assert.Equal(t, err == ErrClosed, errors.Is(err, fs.ErrClosed), "%v", err)
	}
}

func TestError(t *testing.T) {
	cause := fmt.Errorf("%w: expected 1, got 2", ErrCorrupt)
	tests := []struct {
		err  Error
		want string
	}{
		{Error{Section: SectionNone, Off: 4, Err: ErrVersionOld}, "file: offset 0x4: another format version: older"},
		{Error{Path: "a/b.ztac", Section: SectionSymbols, Off: 0x1234, Err: cause}, "a/b.ztac: symbols: offset 0x1234: corrupt: expected 1, got 2"},
		{Error{Path: "c", Section: SectionMetadata, Off: 72, Decoded: true, Err: cause}, "c: metadata: decoded offset 0x48: corrupt: expected 1, got 2"},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, tt.err.Error())

		wrapped := fmt.Errorf("open: %w", &tt.err)
		assert.ErrorIs(t, wrapped, tt.err.Err)
		var got *Error
		require.ErrorAs(t, wrapped, &got)
		assert.Same(t, &tt.err, got)
	}
	assert.ErrorIs(t, &tests[1].err, ErrCorrupt)
	assert.NotErrorIs(t, &tests[1].err, ErrChecksum)
}

func TestDamaged(t *testing.T) {
	damaged := map[error]bool{ErrFormat: true, ErrTruncated: true, ErrChecksum: true, ErrCorrupt: true}
	for _, err := range sentinels {
		assert.Equal(t, damaged[err], Damaged(&Error{Err: fmt.Errorf("%w: more", err)}), "%v", err)
	}
	assert.False(t, Damaged(nil))
	assert.False(t, Damaged(fs.ErrNotExist))
}
