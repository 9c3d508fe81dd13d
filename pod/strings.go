package pod

// StringIndex is the place of a string in the string table. Every string field
// of a record is one. An index at or beyond the table's count reads as the
// empty string.
type StringIndex uint32

// StringOffset is where a string starts, counted from the first of the string
// table's packed bytes. An offset at or beyond their end reads as the empty
// string.
type StringOffset uint32

const (
	// CountSize is the size of the count in front of every list.
	CountSize = 4

	// StringOffsetSize is the size of a [StringOffset] in the file.
	StringOffsetSize = 4
)
