package replace

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRename(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	require.NoError(t, os.WriteFile(from, []byte("new"), 0o600))
	require.NoError(t, os.WriteFile(to, []byte("old"), 0o600))
	require.NoError(t, Rename(t.Context(), from, to))
	got, err := os.ReadFile(to)
	require.NoError(t, err)
	assert.Equal(t, "new", string(got))
	assert.ErrorIs(t, Rename(t.Context(), from, to), os.ErrNotExist)
	assert.NoError(t, SyncFolder(dir))
}

// A file in use is tried again for a while, by a clock of the test's own.
func TestFileInUse(t *testing.T) {
	busy, other := errors.New("busy"), errors.New("other")
	inUse := func(err error) bool { return errors.Is(err, busy) }
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		after := func(n int, then error) func() error {
			tries = 0
			return func() error {
				if tries++; tries <= n {
					return busy
				}
				return then
			}
		}
		assert.NoError(t, rename(t.Context(), after(5, nil), inUse))
		assert.Equal(t, 6, tries)
		assert.ErrorIs(t, rename(t.Context(), after(5, other), inUse), other)

		start := time.Now()
		err := rename(t.Context(), after(1<<30, nil), inUse)
		assert.ErrorIs(t, err, busy)
		assert.ErrorContains(t, err, "in use")
		assert.Equal(t, Patience, time.Since(start))
		assert.Less(t, tries, 100)

		ctx, cancel := context.WithTimeout(t.Context(), Patience/2)
		defer cancel()
		err = rename(ctx, after(1<<30, nil), inUse)
		assert.ErrorIs(t, err, busy)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
	})
}
