package container_test

import (
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"

	"example.com/tracecache/internal/container"
	"example.com/tracecache/pod"
)

// failingReader gives zeros up to byte at and then err.
type failingReader struct {
	at  int64
	err error
}

func (f failingReader) ReadAt(p []byte, off int64) (int, error) {
	clear(p)
	if off+int64(len(p)) <= f.at {
		return len(p), nil
	}
	return int(max(0, f.at-off)), f.err
}

// TestEncodeReadFails: whoever waits for its turn behind the block that cannot be
// read goes on.
func TestEncodeReadFails(t *testing.T) {
	errRead := errors.New("read")
	for _, method := range methods {
		for _, at := range []int64{0, 1, 500_000, 999_999} {
			for err, want := range map[error]error{errRead: errRead, io.EOF: io.ErrUnexpectedEOF} {
				raw := io.NewSectionReader(failingReader{at, err}, 0, 1_000_000)
				e, err := container.Encode(t.Context(), raw, container.Options{
					Method: method, BlockSizeExponent: 10, Gate: container.NewGate(4),
				})
				assert.Nil(t, e)
				assert.ErrorIs(t, err, want, "%v at %d", method, at)
			}
		}
	}
	raw := io.NewSectionReader(failingReader{1_000_000, nil}, 0, 1_000_000)
	_, err := container.Encode(t.Context(), raw, container.Options{Method: pod.MethodLZ4})
	assert.NoError(t, err)
}

// TestEncodeAllocatesPerBlock: a block costs the memory that it is kept in, and
// reading and compressing it none.
func TestEncodeAllocatesPerBlock(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector drops pooled memory")
	}
	for _, method := range methods {
		gate := container.NewGate(1)
		allocs := func(blocks int) float64 {
			raw := reader(names(blocks << 14))
			return testing.AllocsPerRun(5, func() {
				_, err := container.Encode(t.Context(), raw, container.Options{Method: method, BlockSizeExponent: 14, Gate: gate})
				assert.NoError(t, err)
			})
		}
		few, many := allocs(16), allocs(16+64)
		t.Logf("%v: %v for 64 blocks more", method, many-few)
		assert.LessOrEqual(t, many-few, 65.0, "%v", method)
	}
}
