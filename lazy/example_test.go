package lazy_test

import (
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"example.com/tracecache/lazy"
	"example.com/tracecache/trace"
	"example.com/tracecache/writer"
)

func Example() {
	dir, err := os.MkdirTemp("", "tracecache")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "app.ztac")
	model := &trace.Model{
		Modules: []trace.Module{{Name: "app", Base: 0x400000, Size: 0x2000}},
		Symbols: []trace.Symbol{
			{Address: 0x401000, Name: "main"},
			{Address: 0x401040, Name: "parse"},
			{Address: 0x401080}, // a hole: parse has ended
		},
	}
	if err := writer.WriteFile(path, model); err != nil {
		log.Fatal(err)
	}

	cache, err := lazy.Open(path)
	if err != nil {
		log.Fatal(err)
	}
	defer cache.Close()
	symbols, err := cache.Symbols()
	if err != nil {
		log.Fatal(err)
	}
	for _, pc := range []uint64{0x401047, 0x401090, 0x500000} {
		if sym, ok := symbols.Find(pc); ok {
			fmt.Printf("%#x  %s+%#x  %s\n", pc, sym.Name, sym.Offset, sym.Module)
		} else {
			fmt.Printf("%#x  %v\n", pc, symbols.Explain(pc))
		}
	}
	// Output:
	// 0x401047  parse+0x7  app
	// 0x401090  in a hole
	// 0x500000  outside every module
}

// A cache is worth having as long as its source has not changed.
func ExampleWithSource() {
	_, err := lazy.Open("app.ztac", lazy.WithSource("app.trace"))
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, lazy.ErrStale), errors.Is(err, lazy.ErrVersion):
		fmt.Println("build it anew")
	case err != nil:
		fmt.Println("damaged:", err)
	}
	// Output:
	// build it anew
}
