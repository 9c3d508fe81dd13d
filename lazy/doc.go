// Package lazy reads trace cache files: the reader to embed.
//
// Open costs the same for any file size. A section is decompressed when it is
// first asked for, once, however many goroutines ask, into memory of the Go
// heap; records and strings are then views of these bytes, and nothing is
// copied. What is not asked for costs nothing.
//
//	cache, err := lazy.Open("app.ztac")
//	if err != nil {
//		return err
//	}
//	defer cache.Close()
//	symbols, err := cache.Symbols()
//	if err != nil {
//		return err
//	}
//	if sym, ok := symbols.Find(pc); ok {
//		fmt.Printf("%s+%#x\n", sym.Name, sym.Offset)
//	}
//
// Who has a few addresses only need not wait for whole sections: [Cache.Lookup]
// decodes the blocks that its answer is in, a few MB of a cache of any size, also
// over a slow reader. Many addresses are answered faster by [Symbols].
//
// # Errors
//
// Errors match the sentinels of this package with errors.Is; errors.As with a
// [pod.Error] gives file, section and offset. A missing file is
// [io/fs.ErrNotExist]. Damage is final: the same call gives the same error. An
// error of the moment (a context, a failing disk) is not kept. One broken section
// leaves the others usable; symbols need the string table, and where Metadata is
// damaged [Symbols.Find] answers exact hits only, since it knows no module bounds.
//
// # Security
//
// Any bytes whatever give an error or an answer, never a panic. A section takes
// at most [WithMaxSection] bytes, and no more than its stored bytes can decode
// to. A file that is cut under its mapping is an error that matches [ErrTruncated],
// of the section that is not there any more; what is decoded goes on answering.
//
// What else is promised depends on checksums. tracecache writes one for each block.
// A block with a checksum is compared with it before it is decoded, and what is
// compared and decoded is one private copy of it, read once: bytes that differ from
// those written, or are changed in the file after Open, are an error and never an
// answer. In a file without checksum tables, as other writers make them, only the
// header of each section and the structure of what is decoded are checked, and the
// hash of a section where its lists could have been shifted: of Metadata and Memory,
// and of the others where a count does not fit what it counts. A changed byte of a
// string, an address, an offset, an index or a number then gives a wrong answer,
// though never a panic and never memory of anything else. [Cache.Verify] and
// [WithHashCheck] find it, by the hash of every section. The size and time of the
// source in the file header are covered by nothing; where they are changed the cache
// is stale.
//
// # Memory
//
// A cache keeps what it has decoded until [Cache.Release] or [Cache.Close], or, where
// it was opened [WithBudget], until other sections need the room. [Cache.Stats] says
// how much that is. A cache that is forgotten without Close gives everything back
// when the collector finds it.
//
// # Lifetime
//
// Everything handed out lives on the Go heap and stays valid for as long as it
// is referenced, after [Cache.Close] too. It is shared by all callers and
// read-only; slices have no spare capacity.
//
// # Concurrency
//
// Everything may be called from many goroutines at once, [Cache.Close] included.
package lazy
