// Package oodle reads and writes the Oodle block formats of the 'compressed
// buffer' kind: one independent block of at most 256 KiB at a time.
//
// [Decoder] reads Selkie, Mermaid and Kraken blocks. [Encoder] writes Selkie and
// Mermaid. A Mermaid and a Selkie block have the same format: Selkie merely
// stores every array as it is, where Mermaid codes them by their entropy.
//
// A block is a list of chunks of 128 KiB. A chunk is stored, or is one coded
// array, or holds literals, commands, distances and lengths, each in an array of
// its own; the commands say in which order to copy literals and earlier bytes.
//
// # Security
//
// The bytes of a block are untrusted. Every count, size and distance is checked
// before it is used; nothing outside the given slices is read or written,
// whatever the bytes. The time for a block is linear in its two sizes, and the
// memory that a Decoder keeps is bounded by a constant. Nothing in a block
// protects its content: a damaged block may well decode, to other bytes, so the
// checksum or hash of its container must be checked.
//
// # Concurrency
//
// A Decoder and an Encoder are each for one goroutine at a time. Any number of
// them may work side by side.
//
// # Cost
//
// A Decoder keeps about 1 MiB of scratch memory from block to block, after hostile
// ones up to 9 MiB; an Encoder keeps up to 6 MiB. They allocate nothing once they
// have seen blocks of the kind.
//
// Over all sections of a cache, Selkie blocks decode at about the speed of LZ4 and
// Mermaid blocks at about half of it, as much of their time goes to Huffman codes.
// Text of many short matches is the slowest, at a third of that.
package oodle

// MaxBlock is the largest raw size of a block.
const MaxBlock = 1 << 18
