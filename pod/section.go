package pod

import "strconv"

// Section is the id of one of the five sections of a cache file. An id equals
// the section's place in the directory (format chapter 1.2).
type Section uint32

// The sections, in directory order.
const (
	SectionStringTable Section = 0
	SectionMetadata    Section = 1
	SectionMemory      Section = 2
	SectionCallstacks  Section = 3
	SectionSymbols     Section = 4

	// SectionCount is the number of sections, and of directory entries.
	SectionCount = 5

	// SectionNone stands for no section: the header, the directory, or the
	// file as a whole. It never occurs in a file.
	SectionNone Section = 0xFFFFFFFF
)

// Sections lists every section in directory order.
var Sections = [SectionCount]Section{
	SectionStringTable, SectionMetadata, SectionMemory, SectionCallstacks, SectionSymbols,
}

// String is the section's name as people see it: "strings", "metadata",
// "memory", "callstacks", "symbols"; "file" for [SectionNone].
func (s Section) String() string {
	switch s {
	case SectionStringTable:
		return "strings"
	case SectionMetadata:
		return "metadata"
	case SectionMemory:
		return "memory"
	case SectionCallstacks:
		return "callstacks"
	case SectionSymbols:
		return "symbols"
	case SectionNone:
		return "file"
	}
	return "section(" + strconv.FormatUint(uint64(s), 10) + ")"
}
