package main

import (
	"bufio"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"example.com/tracecache/convert"
	"example.com/tracecache/lazy"
	"example.com/tracecache/pod"
)

func newDump() *cobra.Command {
	var name string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "dump FILE",
		Short: "Print what a cache holds",
		Long: `Dump prints everything that a cache holds, or one section of it: strings,
metadata, memory, callstacks or symbols. A section that cannot be read is left
out, and its error goes to standard error.

With --json it prints the model as one JSON object that build reads: every list
is present, in the order of the file; a string that is not UTF-8 is
{"base64":"..."} and a float that is not finite a string. With --section the
object has the keys of that section only, {"strings":[...]} for the string table.
Nothing is printed where a section that is asked for cannot be read.`,
		Example: `  tracecache dump go.ztac --section symbols | head
  tracecache dump --json go.ztac >model.json && tracecache build -o copy.ztac model.json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			sections := pod.Sections[:]
			if cmd.Flags().Changed("section") {
				id, err := parseSection(cmd, name)
				if err != nil {
					return err
				}
				sections = []pod.Section{id}
			}
			cache, err := lazy.Open(args[0])
			if err != nil {
				return err
			}
			defer cache.Close()
			out := bufio.NewWriterSize(cmd.OutOrStdout(), ioSize)
			if asJSON {
				err = dumpJSON(out, cache, sections)
			} else {
				err = dumpText(out, cache, sections)
			}
			if flushErr := out.Flush(); err == nil {
				err = flushErr
			}
			return err
		},
	}
	cmd.Flags().StringVar(&name, "section", "", "print only this `section`: "+sectionNames())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the model as JSON")
	return cmd
}

func sectionNames() string {
	var names []string
	for _, id := range pod.Sections {
		names = append(names, id.String())
	}
	return strings.Join(names, ", ")
}

func parseSection(cmd *cobra.Command, name string) (pod.Section, error) {
	i := slices.IndexFunc(pod.Sections[:], func(id pod.Section) bool { return id.String() == name })
	if i < 0 {
		return 0, wrongUse(cmd, "unknown section %q, expected one of %s", name, sectionNames())
	}
	return pod.Sections[i], nil
}

// dumpText prints sections for people. Those that fail are left out; the error
// joins theirs.
func dumpText(out *bufio.Writer, cache *lazy.Cache, sections []pod.Section) error {
	var errs []error
	for i, id := range sections {
		if i > 0 {
			fmt.Fprintln(out)
		}
		fmt.Fprintf(out, "== %v\n", id)
		// Sections that need the string table all fail with its error.
		if err := printSection(out, cache, id); err != nil && !slices.Contains(errs, err) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// dumpJSON prints the model, or the keys of the one section that is asked for. It
// reads everything before it prints anything.
func dumpJSON(out *bufio.Writer, cache *lazy.Cache, sections []pod.Section) error {
	if len(sections) == 1 && sections[0] == pod.SectionStringTable {
		s, err := cache.Strings()
		if err != nil {
			return err
		}
		return dumpStringsJSON(out, s)
	}
	model, err := cache.ModelOf(sections...)
	if err != nil {
		return err
	}
	if len(sections) == 1 {
		return convert.WriteJSONSection(out, model, sections[0])
	}
	return convert.WriteJSON(out, model)
}

// dumpStringsJSON prints the string table, which is no part of the model, in the
// form of the others. Write errors stay in out.
func dumpStringsJSON(out *bufio.Writer, s *lazy.Strings) error {
	out.WriteString(`{"strings":[`)
	var line []byte
	for i := range s.Len() {
		line = line[:0]
		if i > 0 {
			line = append(line, ',')
		}
		line = convert.AppendJSONString(append(line, '\n'), s.At(i))
		if _, err := out.Write(line); err != nil {
			return err
		}
	}
	_, err := out.WriteString("]}\n")
	return err
}
