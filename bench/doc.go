// Package bench measures tracecache beside what a program would use in its place.
// It holds the data, the contenders and the pieces of work that are timed, for the
// benchmarks in its tests and for the report.
//
//	go test -bench . ./bench
//	go test -bench 'Resolve|Find' -count 10 ./bench | benchstat -col /impl -
//	go run ./bench/report                  # tables of ratios, Markdown, three minutes
//	go run ./bench/report -growth bench    # writes growth.csv and growth.md there
//	go -C bench/peers run .                # other symbolizers, in a module of its own
//	go -C bench/peers run ./plot ../growth.csv ../growth.svg
//
// Names of benchmarks are key=value, so benchstat can lay out a table by any key.
// All of it takes some minutes and 2 GB of memory, with -benchtime 1x about one
// minute; the growth table takes 6 GB.
//
// # Data
//
// n symbols of package gen, from a fixed seed: in 40 modules spread over the
// address space, names of 20 to 160 bytes, a quarter of them holes. The key shape
// says how they lie: clustered, as a linker lays functions, or uniform, anywhere in
// 1 GiB for each module. The key data names real ones: go is the toolchain's own
// command, libllvm a C++ library of 100 MB where one is installed.
//
// # Look-ups
//
// Every contender answers the same [Draws] addresses, drawn at random with
// repetition, in that order or, hits, sorted (the key order); many more than a cache can
// learn by heart. Answers are compared before anything is timed. A name counts as
// used when its length and first byte have been read. Each contender has a loop of
// its own, of direct calls on a concrete type:
//
//   - tracecache is a lazy.Symbols of a cache in a file.
//   - exactindex is one of a cache opened with lazy.WithExactIndex. A floor
//     look-up has no use for that index.
//   - gomap is a map[uint64]string of the symbols that have names. It gives exact
//     answers only.
//   - sortsearch is sort.Search on the records of the file, address and string
//     index in 16 bytes; a name is bytes between two neighbouring offsets of the
//     string table. A floor look-up searches the modules as well, for the same
//     bounds and the same module name.
//   - binarysearchfunc is slices.BinarySearchFunc on the same.
//   - sortslice is sort.Search on a slice of address and Go string, 24 bytes: one
//     cache miss less for a name, and as much work as a map to fill.
//
// Bytes per symbol (index-B/symbol) is memory beside the decoded sections, and for
// gomap and sortslice, which need no sections, all but the names' bytes.
//
// # Loading
//
// The plain loop decodes the stored blocks of the StringTable and Symbols sections
// into fresh memory, one after another, by pierrec/lz4 or klauspost/compress or a
// copy, and Oodle by our own decoder, there being no other in Go. It gets the
// stored bytes in memory, checks nothing and builds nothing. The eager map is the
// plain loop and then a map[uint64]string. Files are read from the page cache. First
// touch of memory costs as much as decoding, and a heap that has been used before
// is another thing than a fresh one: a benchmark measures the heap that it finds,
// the report a fresh process for each figure.
package bench
