package lazy_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"

	"example.com/tracecache/internal/gen"
	"example.com/tracecache/lazy"
	"example.com/tracecache/writer"
)

// httpFile reads a file behind an HTTP server that serves ranges.
type httpFile struct {
	url      string
	requests atomic.Int64
}

func (f *httpFile) ReadAt(p []byte, off int64) (int, error) {
	f.requests.Add(1)
	req, err := http.NewRequest(http.MethodGet, f.url, nil)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", off, off+int64(len(p))-1))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusPartialContent {
		return 0, errors.New(resp.Status)
	}
	return io.ReadFull(resp.Body, p)
}

// A cache that lies behind a server answers the first look-up after a few
// requests, however large it is.
func ExampleNewReader() {
	model := gen.Model(gen.Config{Seed: 1, Symbols: 50_000})
	var file bytes.Buffer
	if _, err := writer.Write(&file, model); err != nil {
		log.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "app.ztac", time.Time{}, bytes.NewReader(file.Bytes()))
	}))
	defer server.Close()
	defer http.DefaultClient.CloseIdleConnections()

	remote := &httpFile{url: server.URL}
	cache, err := lazy.NewReader(remote, int64(file.Len()))
	if err != nil {
		log.Fatal(err)
	}
	defer cache.Close()
	want := model.Symbols[31_415]
	sym, err := cache.Lookup(want.Address + 3)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(sym.Name == want.Name, sym.Offset, sym.Module)
	_, err = cache.Lookup(16)
	fmt.Println(err)
	fmt.Println("at most 16 requests:", remote.requests.Load() <= 16)
	// Output:
	// true 3 libfrustum_chunk.so
	// 0x10: before the first symbol
	// at most 16 requests: true
}
