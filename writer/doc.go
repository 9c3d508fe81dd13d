// Package writer writes trace cache files: a trace.Model in, a file out.
//
// [WriteFile] makes the file appear whole or not at all: it is written under
// another name in the same folder, synced and renamed. [Write] writes to any
// [io.Writer]. The model is only read; it must not change while it is written.
//
// The same model and options give the same bytes, on every machine and for any
// number of workers, as long as the compression libraries are of the same
// release.
//
// What the format cannot hold is refused before anything is written, by an
// error that names it and matches [ErrNUL] or pod.ErrTooLarge.
//
// # Memory
//
// The compressed form of all sections is in memory at once, and of those before
// compression all but the largest two: the string table and the symbols are put
// together block by block, from the caller's strings, which are kept until the
// cache is written. Beside them there are, raw and compressed, one block for each
// worker, 16 bytes for each symbol and 20 for each distinct string, and before
// sections are compressed up to 24 bytes more for each symbol that [WithSymbols] gave
// and 11 to 21 for the hash table.
package writer
