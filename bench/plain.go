package bench

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"example.com/tracecache/internal/codec"
	"example.com/tracecache/internal/container"
	"example.com/tracecache/mapped"
	"example.com/tracecache/pod"
	"example.com/tracecache/trace"
)

// Stored is the stored blocks of a file's StringTable and Symbols sections, in
// memory.
type Stored struct {
	strings, symbols storedSection
	zstd             *zstd.Decoder
	oodle            codec.Codec
}

// storedSection is the blocks of one section.
type storedSection struct {
	method pod.Method
	size   int64 // decompressed
	blocks []storedBlock
	hash   func(raw []byte) error // compares the hash of raw with the file's
}

type storedBlock struct {
	stored []byte
	raw    int // bytes, decompressed
}

// ReadStored reads the stored blocks of the file path. It decodes nothing, so that
// the memory that a plain loop takes afterwards is fresh in a fresh process.
func ReadStored(path string) (*Stored, error) {
	f, err := mapped.Open(path)
	if err != nil {
		return nil, err
	}
	s := &Stored{}
	err = s.read(f)
	return s, errors.Join(err, f.Close())
}

func (s *Stored) read(f *mapped.File) (err error) {
	if s.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1)); err != nil {
		return err
	}
	if s.oodle, err = codec.ForMethod(pod.MethodOodle); err != nil {
		return err
	}
	for _, p := range []struct {
		id  pod.Section
		dst *storedSection
	}{{pod.SectionStringTable, &s.strings}, {pod.SectionSymbols, &s.symbols}} {
		place, err := f.Section(p.id)
		if err != nil {
			return err
		}
		buf, err := container.Open(place, place.Size, math.MaxInt64)
		if err != nil {
			return err
		}
		p.dst.method, p.dst.size = buf.Header().Method, buf.RawSize()
		for i := range buf.NumBlocks() {
			off, n := buf.StoredRange(i)
			_, raw := buf.RawRange(i)
			b := storedBlock{make([]byte, n), int(raw)}
			if _, err := place.ReadAt(b.stored, off); err != nil {
				return err
			}
			p.dst.blocks = append(p.dst.blocks, b)
		}
		p.dst.hash = buf.CheckHash
	}
	return nil
}

// Check compares what the plain loop decodes with the hashes of the file.
func (s *Stored) Check() error {
	table, symbols, err := s.PlainLoop()
	if err != nil {
		return err
	}
	return errors.Join(s.strings.hash(table), s.symbols.hash(symbols))
}

// PlainLoop decodes both sections, block after block, into fresh memory.
func (s *Stored) PlainLoop() (strings, symbols []byte, err error) {
	if strings, err = s.decode(&s.strings); err != nil {
		return nil, nil, err
	}
	symbols, err = s.decode(&s.symbols)
	return strings, symbols, err
}

func (s *Stored) decode(section *storedSection) ([]byte, error) {
	dst := make([]byte, section.size)
	at := 0
	for _, b := range section.blocks {
		out := dst[at : at+b.raw : at+b.raw]
		n, err := b.raw, error(nil)
		switch {
		case len(b.stored) == b.raw:
			copy(out, b.stored)
		case section.method == pod.MethodLZ4:
			n, err = lz4.UncompressBlock(b.stored, out)
		case section.method == pod.MethodZstd:
			var got []byte
			got, err = s.zstd.DecodeAll(b.stored, out[:0])
			n = len(got)
		default:
			err = s.oodle.Decode(out, b.stored)
		}
		if err != nil {
			return nil, err
		}
		if n != b.raw {
			return nil, fmt.Errorf("bench: block of %d bytes, expected %d", n, b.raw)
		}
		at += b.raw
	}
	return dst, nil
}

// EagerMap decodes both sections and puts every name into a map, as a reader does
// that has no index and no lazy strings.
func (s *Stored) EagerMap() (map[uint64]string, error) {
	table, symbols, err := s.PlainLoop()
	if err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	count := int(le.Uint32(table))
	packed := string(table[pod.CountSize+count*pod.StringOffsetSize:])
	entries := symbols[pod.CountSize:]
	names := make(map[uint64]string, len(entries)/pod.SymbolEntrySize)
	for e := range slices.Chunk(entries, pod.SymbolEntrySize) {
		off := le.Uint32(table[pod.CountSize+int(le.Uint32(e[8:]))*pod.StringOffsetSize:])
		name := packed[off:]
		if name = name[:strings.IndexByte(name, 0)]; name != "" {
			if addr := le.Uint64(e); names[addr] == "" {
				names[addr] = name
			}
		}
	}
	return names, nil
}

// Finished is what a plain writer is given: symbols to sort, and the bytes of the
// finished sections to compress.
type Finished struct {
	symbols  []trace.Symbol
	sections [][]byte
	method   pod.Method
	zstd     *zstd.Encoder
	oodle    codec.Codec
}

// NewFinished takes the sections of the cache in a file. It is to be compressed by
// the method that the file is stored by; symbols are not changed.
func NewFinished(path string, symbols []trace.Symbol, method pod.Method) (*Finished, error) {
	s, err := ReadStored(path)
	if err != nil {
		return nil, err
	}
	f := &Finished{symbols: symbols, method: method}
	table, entries, err := s.PlainLoop()
	if err != nil {
		return nil, err
	}
	f.sections = [][]byte{table, entries}
	f.zstd, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false),
		zstd.WithWindowSize(pod.RawPieceSize), zstd.WithLowerEncoderMem(true))
	f.oodle = s.oodle
	return f, err
}

// PlainWrite sorts the symbols and compresses the sections in blocks of 256 KiB,
// on one goroutine, and returns the number of compressed bytes.
func (f *Finished) PlainWrite() (size int, err error) {
	symbols := slices.Clone(f.symbols)
	slices.SortFunc(symbols, func(a, b trace.Symbol) int {
		switch {
		case a.Address < b.Address:
			return -1
		case a.Address > b.Address:
			return 1
		}
		return 0
	})
	dst := make([]byte, lz4.CompressBlockBound(pod.RawPieceSize))
	var c lz4.Compressor
	for _, section := range f.sections {
		for block := range slices.Chunk(section, pod.RawPieceSize) {
			n := len(block)
			switch f.method {
			case pod.MethodLZ4:
				n, err = c.CompressBlock(block, dst)
			case pod.MethodZstd:
				n = len(f.zstd.EncodeAll(block, dst[:0]))
			case pod.MethodOodle:
				n = f.oodle.Encode(dst, block, 0)
			}
			if err != nil {
				return 0, err
			}
			size += n
		}
	}
	return size, nil
}
