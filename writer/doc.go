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
// The payloads of all sections and their compressed form are in memory at once.
// Beside them there are one block for each worker and, until the sections are
// compressed, a table of 8 to 32 bytes for each distinct string.
package writer
