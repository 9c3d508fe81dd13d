// Package mapped opens a trace cache file and places its sections, without
// reading them.
//
// A file is memory-mapped where the system can, and read with plain reads where
// it cannot. Pieces of 16 KiB and more are read from the open file in either case:
// they are wanted once, and a copy from a mapping that faults page by page takes
// several times as long. Bytes in memory and any [io.ReaderAt] work as well. Opening reads
// the header and the directory and nothing else, so it costs the same for 10 KB
// and for 10 GB.
//
// # Security
//
// Every byte of a file may be hostile. A place in the file that the directory
// gives is checked, in 64 bits and without wrapping, before anything is read
// there. A section that is misplaced fails alone, when it is asked for.
//
// # Lifetime
//
// Mapped memory is never handed out: [File.ReadAt] copies, and a fault while it
// copies (the file was truncated, the disk failed) comes back as an error. A
// File keeps the open file beside its mapping and asks it for its size after
// each read, because a file that shrank inside its last page faults nowhere and
// reads as zeros. The mapping goes when the File is closed and the last read in
// flight is done; a File that is forgotten is unmapped when the garbage
// collector finds it.
//
// # Concurrency
//
// All methods may be called from many goroutines at once, [File.Close] too.
package mapped
