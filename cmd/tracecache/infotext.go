package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// printInfo shows a file to people.
func printInfo(out io.Writer, info fileInfo) error {
	access := "read"
	if info.Mapped {
		access = "memory-mapped"
	}
	fmt.Fprintf(out, "file     %s, %d bytes, %s\n", printable(info.Path), info.Size, access)
	fmt.Fprintf(out, "format   version %d\n", info.Version)
	if s := info.Source; s.Recorded {
		fmt.Fprintf(out, "source   %d bytes, modified %s\n\n", s.Size, s.ModTime)
	} else {
		fmt.Fprintf(out, "source   not recorded\n\n")
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "SECTION\tOFFSET\tMETHOD\tBLOCKS\tBLOCK SIZE\tSTORED\tRAW\tRATIO\tCHECKSUMS\tHASH")
	for _, s := range info.Sections {
		if s.storage == nil {
			fmt.Fprintf(table, "%s\t%#x\t?\t?\t?\t%d\t?\t?\t?\t?\n", s.Name, s.Offset, s.Stored)
			continue
		}
		fmt.Fprintf(table, "%s\t%#x\t%s\t%d\t%d\t%d\t%d\t%.1f%%\t%s\t%s\n", s.Name, s.Offset, s.methodText(),
			s.Blocks, s.BlockSize, s.Stored, s.Raw, 100*s.Ratio, s.checksumText(), s.Hash[:16])
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out)
	for _, s := range info.Sections {
		fmt.Fprintf(out, "%-10s  %s\n", s.Name, s.countText())
	}
	return nil
}

func (s *storage) methodText() string {
	if s.Level == nil {
		return s.Method
	}
	return fmt.Sprintf("%s %s %s", s.Method, s.Compressor, s.LevelName)
}

func (s *storage) checksumText() string {
	if !s.Checksums {
		return "none"
	}
	return s.Checksum
}

// countText is the counts of a section in words, or its error.
func (s *sectionInfo) countText() string {
	if s.Error != "" {
		return s.Error
	}
	var words []string
	for _, c := range s.Counts {
		words = append(words, counted(c.n, c.thing))
	}
	return strings.Join(words, ", ")
}
