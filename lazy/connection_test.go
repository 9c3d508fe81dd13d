package lazy_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/tracecache/internal/gen"
	"example.com/tracecache/lazy"
	"example.com/tracecache/writer"
)

// cutWriter ends a response after some bytes, as a connection that breaks.
type cutWriter struct {
	http.ResponseWriter
	left int
}

func (w *cutWriter) Write(p []byte) (int, error) {
	if len(p) > w.left {
		_, _ = w.ResponseWriter.Write(p[:w.left])
		w.ResponseWriter.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	w.left -= len(p)
	return w.ResponseWriter.Write(p)
}

// A connection that breaks in the middle of an answer is of the moment: the next
// call works.
func TestBrokenConnectionIsNotKept(t *testing.T) {
	model := gen.Model(gen.Config{Seed: 1, Symbols: 50_000})
	b := written(t, model, writer.WithBlockSize(1<<16))
	var broken atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if broken.Load() {
			w = &cutWriter{w, 100}
		}
		http.ServeContent(w, r, "app.ztac", time.Time{}, bytes.NewReader(b))
	}))
	defer server.Close()
	defer http.DefaultClient.CloseIdleConnections()
	addr := model.Symbols[31_415].Address
	for range 2 {
		c, err := lazy.NewReader(&httpFile{url: server.URL}, int64(len(b)))
		require.NoError(t, err)
		broken.Store(true)
		_, err = c.Lookup(addr)
		require.ErrorIs(t, err, lazy.ErrIO)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		require.ErrorIs(t, c.Load(t.Context()), lazy.ErrIO)
		broken.Store(false)
		got, err := c.Lookup(addr)
		assert.NoError(t, err)
		assert.Equal(t, model.Symbols[31_415].Name, got.Name)
		assert.NoError(t, c.Load(t.Context()))
		assert.NoError(t, c.Close())
	}
}
