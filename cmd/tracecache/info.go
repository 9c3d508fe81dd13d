package main

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"example.com/tracecache/lazy"
	"example.com/tracecache/pod"
)

func newInfo() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "info FILE",
		Short: "Show how a cache is stored and how much it holds",
		Long: `Info shows the header of a cache, the file that it was made from, and for each
section where and how it is stored and how many records it holds. A section that
cannot be read is shown with its error, the others with their figures.

With --json it prints one object:
  path, size, version; mapped: whether the file is memory-mapped
  source     recorded, size, modTimeNs, modTime: the file that was analysed;
             the last three are missing where none is recorded
  sections   a list, in the order of the directory:
    id, name, offset, stored   from the directory; offset and sizes in bytes
    method, blocks, blockSize, raw, ratio   how it is compressed; ratio is
               stored/raw, and 0 for an empty section
    compressor, level, levelName   for method oodle; level is a number
    checksums  whether each block has one; checksum: that of their table
    headerCRC, hash   those of the container, in hex
    counts     an object with the number of records of each kind; "symbols"
               counts all entries, "holes" those that end a function, "frames"
               a frame that callstacks share once for each
    error      why the section, or its contents, cannot be read
What an error leaves unknown is missing. Checksums are hex strings.`,
		Example: `  tracecache info go.ztac
  tracecache info --json go.ztac | jq '.sections[] | {name, ratio}'`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cache, err := lazy.Open(args[0])
			if err != nil {
				return err
			}
			defer cache.Close()
			info, worst := readInfo(cache, args[0])
			out := bufio.NewWriter(cmd.OutOrStdout())
			if asJSON {
				enc := json.NewEncoder(out)
				enc.SetEscapeHTML(false)
				err = enc.Encode(info)
			} else {
				err = printInfo(out, info)
			}
			if flushErr := out.Flush(); err == nil {
				err = flushErr
			}
			if worst != nil && (err == nil || isBrokenPipe(err)) {
				return worst
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// fileInfo is what the command shows of a file. Its JSON is described in the
// command's help.
type fileInfo struct {
	Path     string        `json:"path"`
	Size     int64         `json:"size"`
	Mapped   bool          `json:"mapped"`
	Version  uint32        `json:"version"`
	Source   sourceInfo    `json:"source"`
	Sections []sectionInfo `json:"sections"`
}

type sourceInfo struct {
	Recorded  bool   `json:"recorded"`
	Size      uint64 `json:"size,omitempty"`
	ModTimeNs int64  `json:"modTimeNs,omitempty"`
	ModTime   string `json:"modTime,omitempty"`
}

type sectionInfo struct {
	ID     uint32 `json:"id"`
	Name   string `json:"name"`
	Offset uint64 `json:"offset"`
	Stored uint64 `json:"stored"`
	*storage
	Counts counts `json:"counts,omitempty"`
	Error  string `json:"error,omitempty"`
}

// storage is how a section is compressed.
type storage struct {
	Method     string  `json:"method"`
	Compressor string  `json:"compressor,omitempty"`
	Level      *int8   `json:"level,omitempty"`
	LevelName  string  `json:"levelName,omitempty"`
	Blocks     int64   `json:"blocks"`
	BlockSize  int64   `json:"blockSize"`
	Raw        uint64  `json:"raw"`
	Ratio      float64 `json:"ratio"`
	Checksums  bool    `json:"checksums"`
	Checksum   string  `json:"checksum,omitempty"`
	HeaderCRC  string  `json:"headerCRC"`
	Hash       string  `json:"hash"`
}

// counts are numbers of records, in the order in which they are shown.
type counts []count

type count struct {
	key   string // in JSON
	thing string // one of them, for people
	n     int
}

// MarshalJSON makes an object of the counts.
func (c counts) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, one := range c {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendQuote(b, one.key) // a word of letters
		b = append(b, ':')
		b = strconv.AppendInt(b, int64(one.n), 10)
	}
	return append(b, '}'), nil
}

// readInfo reads what there is to know of a cache, and returns the worst error
// that it met.
func readInfo(cache *lazy.Cache, path string) (info fileInfo, worst error) {
	h := cache.Header()
	info = fileInfo{Path: path, Size: cache.Size(), Mapped: cache.Mapped(), Version: h.Version}
	if h.SourceModTimeNs != 0 {
		info.Source = sourceInfo{
			Recorded: true, Size: h.SourceFileSize, ModTimeNs: h.SourceModTimeNs,
			ModTime: time.Unix(0, h.SourceModTimeNs).UTC().Format(time.RFC3339Nano),
		}
	}
	for _, id := range pod.Sections {
		section, err := readSectionInfo(cache, id)
		if err != nil {
			section.Error = oneLine(err)
		}
		if err != nil && (worst == nil || pod.Damaged(err) && !pod.Damaged(worst)) {
			worst = err
		}
		info.Sections = append(info.Sections, section)
	}
	return info, worst
}

func readSectionInfo(cache *lazy.Cache, id pod.Section) (sectionInfo, error) {
	info, err := cache.Info(id)
	section := sectionInfo{ID: uint32(id), Name: id.String(), Offset: info.Entry.FileOffset, Stored: info.Entry.CompressedSize}
	if err == nil || info.Header.Magic == pod.BufferMagic {
		section.storage = newStorage(info)
	}
	if err == nil {
		section.Counts, err = countRecords(cache, id)
	}
	return section, err
}

func newStorage(info lazy.SectionInfo) *storage {
	e, h := info.Entry, info.Header
	s := &storage{
		Method: h.Method.String(), Blocks: int64(h.BlockCount), Raw: h.TotalRawSize, Checksums: e.Reserved != 0,
		HeaderCRC: fmt.Sprintf("%#08x", h.Crc32), Hash: hex.EncodeToString(h.RawHash[:]),
	}
	switch {
	case h.Method == pod.MethodNone:
		s.Blocks, s.BlockSize = int64(info.Blocks), pod.RawPieceSize
	case h.BlockSizeExponent <= pod.MaxBlockSizeExponent: // unchecked for methods that are not supported
		s.BlockSize = 1 << h.BlockSizeExponent
	}
	if h.Method == pod.MethodOodle {
		level := int8(h.CompressionLevel)
		s.Compressor, s.Level, s.LevelName = h.Compressor.String(), &level, h.CompressionLevel.String()
	}
	if h.TotalRawSize > 0 {
		s.Ratio = float64(e.CompressedSize) / float64(h.TotalRawSize)
	}
	if s.Checksums {
		s.Checksum = fmt.Sprintf("%#08x", e.Reserved)
	}
	return s
}

// countRecords loads a section and counts what is in it.
func countRecords(cache *lazy.Cache, id pod.Section) (counts, error) {
	switch id {
	case pod.SectionStringTable:
		s, err := cache.Strings()
		if err != nil {
			return nil, err
		}
		return counts{{"strings", "string", s.Len()}}, nil
	case pod.SectionMetadata:
		m, err := cache.Metadata()
		if err != nil {
			return nil, err
		}
		return counts{
			{"threads", "thread", len(m.Threads())},
			{"channels", "channel", len(m.Channels())},
			{"modules", "module", len(m.Modules())},
			{"eventTypeCounts", "event type", len(m.EventTypeCounts())},
			{"scopeStats", "scope", len(m.ScopeStats())},
		}, nil
	case pod.SectionMemory:
		m, err := cache.Memory()
		if err != nil {
			return nil, err
		}
		return counts{
			{"heaps", "heap", len(m.Heaps())},
			{"heapStats", "heap stat", len(m.HeapStats())},
			{"callstackStats", "callstack stat", len(m.CallstackStats())},
			{"churnStats", "churn stat", len(m.ChurnStats())},
		}, nil
	case pod.SectionCallstacks:
		return countCallstacks(cache)
	default:
		return countSymbols(cache)
	}
}

func countCallstacks(cache *lazy.Cache) (counts, error) {
	s, err := cache.Callstacks()
	if err != nil {
		return nil, err
	}
	frames := 0
	for stack := range s.All() {
		frames += len(stack.Frames)
	}
	return counts{{"callstacks", "callstack", s.Len()}, {"frames", "frame", frames}}, nil
}

func countSymbols(cache *lazy.Cache) (counts, error) {
	s, err := cache.Symbols()
	if err != nil {
		return nil, err
	}
	holes := 0
	for _, name := range s.All() {
		if name == "" {
			holes++
		}
	}
	return counts{{"symbols", "symbol", s.Len()}, {"holes", "hole", holes}}, nil
}
