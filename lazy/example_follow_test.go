package lazy_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"example.com/tracecache/lazy"
	"example.com/tracecache/trace"
	"example.com/tracecache/writer"
)

// A viewer that runs for weeks: it follows files that others replace, within a budget
// for all of them.
func ExampleFollow() {
	dir, err := os.MkdirTemp("", "tracecache")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "app.ztac")
	publish := func(name string) {
		model := &trace.Model{Symbols: []trace.Symbol{{Address: 0x401000, Name: name}}}
		if err := writer.WriteFile(path, model); err != nil {
			log.Fatal(err)
		}
	}
	publish("main")

	budget := lazy.NewBudget(64 << 20) // shared by all files that are followed
	follower, err := lazy.Follow(path, lazy.WithBudget(budget))
	if err != nil {
		log.Fatal(err)
	}
	defer follower.Close()
	// A program that runs for long would do: go follower.Run(ctx, nil)

	show := func() {
		cache := follower.Cache() // one file, for as long as it is held
		name, err := cache.LookupExact(0x401000)
		fmt.Println(name, err)
	}
	show()
	publish("start")
	if _, err := follower.Refresh(context.Background()); err != nil {
		log.Print(err) // the old file keeps serving
	}
	show()
	// Output:
	// main <nil>
	// start <nil>
}

// The whole use of a cache in one call: it is built where it must be, once.
func ExampleOpenOrBuild() {
	dir, err := os.MkdirTemp("", "tracecache")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	source := filepath.Join(dir, "app.trace")
	if err := os.WriteFile(source, []byte("main"), 0o600); err != nil {
		log.Fatal(err)
	}
	build := func(_ context.Context, tmpPath string) error {
		fmt.Println("analysing")
		fi, err := os.Stat(source) // before it is read
		if err != nil {
			return err
		}
		name, err := os.ReadFile(source)
		if err != nil {
			return err
		}
		model := &trace.Model{Symbols: []trace.Symbol{{Address: 0x401000, Name: string(name)}}}
		return writer.WriteFile(tmpPath, model, writer.WithSource(fi.Size(), fi.ModTime()))
	}
	for range 2 {
		cache, err := lazy.OpenOrBuild(context.Background(), source+".ztac", source, build)
		if err != nil {
			log.Fatal(err)
		}
		name, err := cache.LookupExact(0x401000)
		fmt.Println(name, err)
		if err := cache.Close(); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// analysing
	// main <nil>
	// main <nil>
}
