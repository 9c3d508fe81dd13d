// Package pod holds the records of a trace cache file, and this comment is the
// description of the format: who reads it to the end can write another reader or
// another writer.
//
// A cache file keeps what the analysis of one program trace found, so that the
// analysis need not be repeated: a model of the run (session, threads, modules,
// counters, memory statistics, callstacks) and the names of code addresses. It
// holds no more than its source does; whoever loses it makes it anew.
//
// # The file
//
//	0          24         144
//	+----------+-----------+---------+-----+----------+-----+-----+---------+-----+
//	| header   | directory | section | sum | section  | sum | ... | section | sum |
//	| 24 bytes | 5 x 24    | strings | tab | metadata | tab |     | symbols | tab |
//	+----------+-----------+---------+-----+----------+-----+-----+---------+-----+
//	                       |         |     |
//	                       |         |     +- one CRC-32C a block; optional
//	                       |         +- where CompressedSize ends
//	                       +- a compressed buffer:
//
//	+-----------+------------+---------+---------+-----+
//	| header    | block-size | block 0 | block 1 | ... |
//	| 64 bytes, | table, 4 B |         |         |     |
//	| big-endian| a block    |         |         |     |
//	+-----------+------------+---------+---------+-----+
//	                            | decode, join
//	                            v
//	+--------------+-------+-----------------+-------+-----------+-----
//	| fixed record | count | count x record  | count | records   | ...   the payload
//	+--------------+-------+-----------------+-------+-----------+-----
//
// All integers and floats are little-endian, floats in IEEE 754 binary64, signed
// integers in two's complement; the header of a compressed buffer and its
// block-size table, and only they, are big-endian. Sizes and offsets are in bytes
// unless said otherwise. Offsets of the file count from its first byte.
//
// There are always five sections, one for each [Section] id. They may lie in any
// order in the file and have gaps between and behind them, whose content means
// nothing except where a checksum table is. The first byte that a section may
// use is [DataOffset], 144. Our writer stores them in id order without gaps
// beyond the checksum tables.
//
// Nothing in the file is aligned to anything. Sections begin where the bytes
// before them end; records are laid so that each field has its natural
// alignment within the record, but a record array may begin at any offset.
//
// # File header
//
// 24 bytes at offset 0, see [FileHeader]. Magic is the four characters "ZTAC"
// ([Magic] read as a little-endian u32), Version is [Version]. SourceFileSize
// and SourceModTimeNs identify the trace that was analysed, see "Fresh and
// stale". The time is in nanoseconds since the Unix epoch and may be negative; 0
// says that it is not known.
//
// A file with another magic is no cache ([ErrFormat]). A file with this magic and
// another version is a cache that this package does not describe ([ErrVersion]).
//
// # Directory
//
// Five entries of 24 bytes at offset 24, see [DirectoryEntry] and [Directory].
// Entry i has SectionID i; a file where it has not, or that ends before byte
// 144, is not opened at all. FileOffset and CompressedSize give the section's
// stored bytes. Reserved is the checksum of the section's checksum table, or 0.
//
// Each entry is then judged for itself. Its section is usable if
//
//   - FileOffset is at least 144,
//   - FileOffset + CompressedSize, computed so that it cannot wrap, is not
//     beyond the end of the file,
//   - CompressedSize is not 0, and
//   - it shares no byte with another section.
//
// A section that fails is damaged, and asking for it fails; asking for one that
// does not need it succeeds. Two overlapping sections are both damaged.
//
// # Checksum tables
//
// Directly behind a section's CompressedSize bytes there may be a table with one
// u32 for each stored block, in block order: the CRC-32C (Castagnoli) of the
// block's stored bytes, without the buffer's header and block-size table. Where
// the section is stored with [MethodNone] the unit is not the one block but a
// piece of [RawPieceSize], 256 KiB, of which the last may be shorter; no bytes
// make no pieces.
//
// Reserved is the CRC-32C of the table's bytes. As 0 means that there is no
// table, a sum that comes out as 0 is stored, and expected, as 1. The table's
// size is not stored: it follows from the number of blocks.
//
// A table is part of its section for the rule that sections do not overlap: with
// Reserved set, a table that would lie beyond the end of the file or in another
// section, or that has another sum, makes the section damaged. A reader that does
// not know the tables sees gaps.
//
// # Fresh and stale
//
// A cache is fresh for a source file if the source's present size and
// modification time both equal SourceFileSize and SourceModTimeNs. Otherwise it
// is stale, which calls for a rebuild and is not damage. It is stale as well if
// the source cannot be looked at now, or if SourceModTimeNs is 0: two times that
// are both unknown are not equal. A writer takes the two values before the
// analysis starts, so that a source that changes meanwhile leaves a stale cache
// behind and not a wrong one; a writer without a source stores 0 and 0.
//
// A caller can tell apart what it has to treat differently: no cache file at all
// ([io/fs.ErrNotExist]), a stale one ([ErrStale]), one of another format or
// version, one that is cut short ([ErrTruncated]), and one that is damaged, with
// the section and the place ([Error]).
//
// # Compressed buffers
//
// Each section is stored as one compressed buffer, a container that other
// programs use as well. It begins with a header of 64 bytes, see [BufferHeader],
// all of it big-endian:
//
//	off  size  field
//	0x00    4  Magic                0xB7756362
//	0x04    4  Crc32                CRC-32 (IEEE 802.3, as in zlib) of the bytes
//	                                from 8 to the end of the block-size table;
//	                                to byte 64 for method 0
//	0x08    1  Method               0 none, 3 Oodle, 4 LZ4, 0x5A Zstandard
//	0x09    1  Compressor           Oodle: 1 Selkie, 2 Mermaid, 3 Kraken,
//	                                4 Leviathan; else 0
//	0x0a    1  CompressionLevel     Oodle, signed: -4 HyperFast4 to -1 HyperFast1,
//	                                0 none, 1 SuperFast, 2 VeryFast, 3 Fast,
//	                                4 Normal, 5 and more Optimal; else 0
//	0x0b    1  BlockSizeExponent    10 to 30, for Oodle to 18; 0 for method 0
//	0x0c    4  BlockCount
//	0x10    8  TotalRawSize         bytes of the payload
//	0x18    8  TotalCompressedSize  bytes of the buffer, from this header's first
//	0x20   32  RawHash              BLAKE3-256 of the payload
//
// TotalCompressedSize equals the directory's CompressedSize.
//
// Method 0 ([MethodNone]): BlockCount is 1, bytes 9 to 11 are 0, and the payload
// follows the header; TotalCompressedSize is TotalRawSize + 64.
//
// The other methods cut the payload into blocks of 1 << BlockSizeExponent bytes,
// of which the last may be shorter; BlockCount is their number. Behind the
// header stands the block-size table, one big-endian u32 a block, the stored
// size; behind it the blocks, back to back. 64 + 4*BlockCount and the stored
// sizes sum up to TotalCompressedSize. A block whose stored size equals its raw
// size is stored as it is; a stored size of 0, or above the raw size, is invalid.
// Each block is compressed for itself, so any block can be decoded alone:
//
//   - [MethodLZ4]: the raw LZ4 block format, without the LZ4 frame. Every reader
//     of the container knows it, so it is the default.
//   - [MethodZstd]: one complete Zstandard frame a block. This is an addition of
//     this format; other readers of the container do not know it.
//   - [MethodOodle]: one Oodle block of the compressor named in the header. The
//     first writers of the format used Mermaid at level VeryFast. Selkie, Mermaid
//     and Kraken blocks are read, Selkie and Mermaid are written. A
//     BlockSizeExponent above 18 is unsupported, not damaged.
//
// A method that a reader does not know makes the section unsupported, not
// damaged. A writer that cannot get the whole buffer below the size of the
// payload stores it with method 0, and always does so with an empty payload.
//
// RawHash is the full 32 bytes of BLAKE3 in what this module writes. Some writers
// keep 20 bytes and leave the others 0, so a reader that finds the last 12 zero
// compares the first 20 only.
//
// # What the checksums cover
//
//	bytes                               covered by
//	file header, directory              nothing, but each field is checked for sense
//	buffer header from byte 8, sizes    Crc32 of the buffer header
//	checksum table                      Reserved in the directory
//	stored blocks, one by one           the CRC-32C in the checksum table, if any
//	payload as a whole                  RawHash
//	gaps                                nothing
//
// So a reader that wants one name checks the blocks that hold it and no others,
// before it decodes them. RawHash needs the whole payload; it is for
// verification, and for files without checksum tables it is the only word on the
// blocks.
//
// # Records
//
// A payload is a sequence of records and lists, back to back, without alignment.
// A list is a u32 count and that many records. Each record type of this package
// has the layout that its table of offsets gives, on every machine, and a size
// that is a multiple of 4. Padding is written as zero and ignored by a reader.
// Flags are a u8, 0 for no; a reader takes any other value for yes.
//
// A string field is a u32, an index into the string table ([StringIndex]).
//
// Bytes behind the last list of a payload are ignored by a reader and reported
// by a verifier. A payload that ends before its last list does is damaged.
//
// # The string table
//
// Section 0, [SectionStringTable]:
//
//	u32  count
//	u32  offset[count]    where string i starts in the bytes that follow
//	...  packed bytes     to the end of the payload
//
// String i is the bytes from offset[i] up to the first NUL, which is not part of
// it. Three cases are no errors: an index at or above count is the empty string;
// so is an offset at or beyond the end of the packed bytes ([StringOffset]);
// a string that no NUL ends is ended by the end of the packed bytes.
//
// A writer stores each distinct string once, in the order of first use: those of
// Metadata, in the order of its fields and records, those of Memory, then those
// of Symbols by ascending address, so that neighbours in address order are
// neighbours in the table. It ends each with a NUL and leaves no gaps. A reader
// relies on none of this: strings may share bytes, overlap, lie in any order and
// have gaps.
//
// Strings are bytes. UTF-8 is usual and not required. What cannot be stored is a
// NUL within a string, and packed bytes beyond what a u32 offset can reach: a
// writer refuses the first by naming the string (or cuts there if told to), and
// the second.
//
// # Metadata section
//
// Section 1, [SectionMetadata]. It needs the string table for its names.
//
//	      Metadata          72 bytes
//	list  ThreadInfo        20 each
//	list  ChannelInfo        8 each
//	list  ModuleInfo        32 each
//	...   image id bytes    no count
//	list  EventTypeCount    16 each
//	list  CPUScopeStat      48 each
//
// The image id of a module, its build id, is ImageIDSize bytes at ImageIDOffset
// within the image id bytes. Those have no count: they reach to the greatest
// ImageIDOffset + ImageIDSize of all modules, in 64 bits, those of ImageIDSize 0
// included. They are not padded, so the lists behind them may begin at any
// offset. Writers put the ids back to back in module order; a reader accepts ids
// that overlap and gaps between them.
//
// # Memory section
//
// Section 2, [SectionMemory]. It needs the string table for the names of heaps.
//
//	      AllocSummary        72 bytes
//	list  HeapInfo            16 each
//	list  HeapStat            40 each
//	list  CallstackAllocStat  48 each
//	list  CallstackChurnStat  48 each
//
// [CallstackAllocStat] has room for [MaxThreadIDs] thread ids. A writer keeps the
// first four and stores the number kept; a reader takes four at most, whatever
// ThreadIDCount says.
//
// # Callstacks section
//
// Section 3, [SectionCallstacks]. It needs no other section.
//
//	list  CallstackHeader  12 each
//	...   ResolvedFrame    16 each, no count
//
// The frames of a callstack are FrameCount of them from FrameOffset, an index
// into the frame array. The array has no count: its length is the greatest
// FrameOffset + FrameCount of all headers, in 64 bits. Writers lay the frames in
// callstack order; a reader accepts callstacks that share frames and frames that
// belong to none. Frames are innermost first. A frame's ModuleIndex is an index
// into the module list, or [NoModule], 0xFFFFFFFF, and its Offset is Address less
// the module's Base.
//
// # Symbols section
//
// Section 4, [SectionSymbols]. It needs the string table for the names, and the
// Metadata section for the modules that bound a floor look-up.
//
//	list  SymbolEntry  16 each
//
// Writers sort the entries by Address, stably: entries of one address, such as
// the aliases of folded functions, stay next to one another in the order in which
// they were given. A file whose entries are not sorted is sound; a reader answers
// from it as if it had been searched from the first entry to the last.
//
// An entry whose string is empty is a hole: at this address the function before
// it has ended. A writer that knows the sizes of functions puts a hole at the end
// of each function, except where another entry starts there or where the end lies
// within another function. A function of size 0 reaches to the next entry or to
// the end of its code section, whichever is first. So addresses in padding and
// behind the last function have no name, rather than a plausible wrong one.
//
// # Look-up rules
//
// Exact: the name of an address is the string of the first entry, in array order,
// with that Address and a string that is not empty. Modules have no say.
//
// Floor, for an address within a function:
//
//  1. An exact hit answers.
//  2. Of the entries not above the address, take those of the greatest Address.
//     There are none: the address is before the first symbol, and has no name.
//  3. The first of them whose string is not empty is the candidate. All are
//     empty: the address is in a hole.
//  4. Without modules the candidate answers. With modules it answers only if the
//     address asked for and the candidate's Address lie in the same module. An
//     address in no module has no name.
//
// A module takes [Base, Base+Size), where an end beyond 2^64 is the end of the
// address space. One of Size 0 reaches to the next higher Base, or to the end of
// the address space where there is none. Of several modules that hold an address
// the one with the highest Base is its module.
//
// Where the Metadata section is damaged, nobody knows the bounds: a floor look-up
// then gives exact hits only, and exact look-ups are not affected.
//
// # Limits
//
//	sections                            5
//	raw size of a block                 1 KiB to 1 GiB; Oodle 256 KiB
//	records of one list                 2^32 - 1
//	strings                             2^32 - 1, their packed bytes 4 GiB
//	offset and size of an image id      2^32 - 1
//	place and number of frames          2^32 - 1
//	Offset of a frame                   32 bits
//	thread ids of an allocation record  4
//
// What does not fit is refused by a writer, with [ErrTooLarge], never cut or
// wrapped; the thread ids alone are cut.
//
// # Versions
//
// Version goes up when a reader of the version before would misread a file: when
// a record changes its size or a field its meaning. What such a reader can
// ignore is added without a new version: the checksum tables (gaps to it), holes
// (empty names, which it skips) and Zstandard (a method that it reports as
// unknown) came that way. A reader reads the versions that it knows and refuses
// others with [ErrVersionOld] or [ErrVersionNew]. No file is ever converted: a
// cache is made anew from its source, and a newer version is a reason to do so,
// not damage.
//
// # Why it is so
//
//   - Fixed records in the machine's usual byte order: an array of them is usable
//     where it lies, without decoding, and an entry is found by its index.
//   - Strings once and by index: symbol names dominate the size of a cache, many
//     repeat, and an index keeps records of fixed size.
//   - Sections compressed apart: who wants names need not decode callstacks, and
//     damage stays where it is.
//   - Blocks compressed apart: they are encoded and decoded in parallel, and one
//     name costs a few blocks and not a section.
//   - A container that others know, in spite of its other byte order: their tools
//     open our sections, and we theirs. LZ4 is the default because all of them
//     know it.
//   - Checksum tables in gaps, their sum in a field that was always 0: readers
//     that do not know them are not disturbed, and files without them are read.
//   - A CRC for each block beside the one hash of the payload: the hash is only
//     known at the end, when a damaged block has long been decoded.
//   - Holes as entries of their own, not a size in each entry: the entry stays at
//     16 bytes, and to older readers a hole is an address without a name.
//   - Method 0 where compression does not pay: such a section is copied, not
//     decoded.
//
// # Security
//
// A cache file is untrusted input. Any bytes at all give an answer or an error
// that says where and what was expected ([Error]), never a panic, a hang or a
// read outside a section. A reader checks every count, size, sum and index
// before it uses it, in 64 bits and without wrapping, and checks a size before it
// allocates: against its own limit for one section, and against what the stored
// bytes can hold: with LZ4 at most 255 times their number, with Zstandard 128 KiB
// and another 128 KiB for every 4 of them, with method 0 themselves.
//
// The checksums find damage. They do not stop somebody who means to deceive and
// can compute them anew.
//
// The decode functions of this package ([DecodeFileHeader], [DecodeDirectory],
// [DecodeBufferHeader]) read fields and check nothing; they need as many bytes as
// they say and panic with fewer.
//
// # Lifetime
//
// The types of this package are plain values without pointers. Decoding copies:
// a decoded value keeps nothing of the bytes it came from, and appending keeps
// nothing of the value.
//
// # Concurrency
//
// There is no shared state but the error values and [Sections], which nobody may
// change. Values are safe for concurrent reading.
package pod
