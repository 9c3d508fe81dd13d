package main

import (
	"bufio"
	"encoding/hex"
	"fmt"

	"example.com/tracecache/lazy"
	"example.com/tracecache/pod"
)

// printSection prints a section for people. Its error is that of the section; a
// write error stays in out and ends the longer lists.
func printSection(out *bufio.Writer, cache *lazy.Cache, id pod.Section) error {
	switch id {
	case pod.SectionStringTable:
		return printStrings(out, cache)
	case pod.SectionMetadata:
		return printMetadata(out, cache)
	case pod.SectionMemory:
		return printMemory(out, cache)
	case pod.SectionCallstacks:
		return printCallstacks(out, cache)
	default:
		return printSymbols(out, cache)
	}
}

func printStrings(out *bufio.Writer, cache *lazy.Cache) error {
	s, err := cache.Strings()
	if err != nil {
		return err
	}
	for i := range s.Len() {
		if _, err := fmt.Fprintf(out, "%8d  %s\n", i, printable(s.At(i))); err != nil {
			return nil
		}
	}
	return nil
}

// names is the string table for records that are of use without: with a damaged
// one, a string is shown as its number.
type names struct{ table *lazy.Strings }

func (n names) of(i pod.StringIndex) string {
	if n.table == nil {
		return fmt.Sprintf("string#%d", i)
	}
	if int64(i) >= int64(n.table.Len()) {
		return ""
	}
	return printable(n.table.At(int(i)))
}

func printMetadata(out *bufio.Writer, cache *lazy.Cache) error {
	m, err := cache.Metadata()
	if err != nil {
		return err
	}
	table, err := m.Names()
	name := names{table}.of
	r := m.Record()
	fmt.Fprintf(out, "trace         %d bytes, %d events, parsed in %d ms\n", r.FileSize, r.TotalEvents, r.ParseTimeMs)
	fmt.Fprintf(out, "time          %d to %d us\n", r.TraceStartUs, r.TraceEndUs)
	fmt.Fprintf(out, "session       known: %t\n", r.SessionHasSession != 0)
	fmt.Fprintf(out, "platform      %s\n", name(r.SessionPlatform))
	fmt.Fprintf(out, "app           %s\n", name(r.SessionAppName))
	fmt.Fprintf(out, "project       %s\n", name(r.SessionProjectName))
	fmt.Fprintf(out, "command line  %s\n", name(r.SessionCommandLine))
	fmt.Fprintf(out, "branch        %s\n", name(r.SessionBranch))
	fmt.Fprintf(out, "build         %s, changelist %d, configuration %d\n", name(r.SessionBuildVersion), r.SessionChangelist, r.SessionConfigType)

	heading(out, "threads", len(m.Threads()), "        id   system id   sort hint  name  (group)")
	for _, t := range m.Threads() {
		fmt.Fprintf(out, "%10d  %10d  %10d  %s  (%s)\n", t.ThreadID, t.SystemID, t.SortHint, name(t.Name), name(t.GroupName))
	}
	heading(out, "channels", len(m.Channels()), "enabled  read-only  name")
	for _, ch := range m.Channels() {
		fmt.Fprintf(out, "%7t  %9t  %s\n", ch.Enabled != 0, ch.ReadOnly != 0, name(ch.Name))
	}
	heading(out, "modules", len(m.Modules()), "index                base        size  name  (path)  build id")
	for i, mod := range m.Modules() {
		fmt.Fprintf(out, "%5d  %18s  %10d  %s  (%s)  %s\n", i, fmt.Sprintf("%#x", mod.Base), mod.Size, name(mod.Name), name(mod.FullPath), hex.EncodeToString(m.ImageID(i)))
	}
	heading(out, "event types", len(m.EventTypeCounts()), "     count  name")
	for _, e := range m.EventTypeCounts() {
		fmt.Fprintf(out, "%10d  %s\n", e.Count, name(e.Name))
	}
	heading(out, "scopes", len(m.ScopeStats()), "     count      min us      max us     mean us   stddev us  name")
	for _, s := range m.ScopeStats() {
		fmt.Fprintf(out, "%10d  %10d  %10d  %10.3f  %10.3f  %s\n", s.Count, s.MinUs, s.MaxUs, s.MeanUs, s.StdDevUs, name(s.Name))
	}
	return err
}

// heading starts a list of n records with its title and, unless it is empty, the
// names of its columns.
func heading(out *bufio.Writer, title string, n int, columns string) {
	fmt.Fprintf(out, "\n%s: %d\n", title, n)
	if n > 0 {
		fmt.Fprintln(out, columns)
	}
}

func printMemory(out *bufio.Writer, cache *lazy.Cache) error {
	m, err := cache.Memory()
	if err != nil {
		return err
	}
	table, err := m.Names()
	name := names{table}.of
	s := m.Summary()
	fmt.Fprintf(out, "memory data   %t\n", s.HasMemoryData != 0)
	fmt.Fprintf(out, "allocations   %d allocs, %d frees, %d realloc allocs, %d realloc frees, %d live at the end\n",
		s.TotalAllocs, s.TotalFrees, s.TotalReallocAllocs, s.TotalReallocFrees, s.LiveAllocations)
	fmt.Fprintf(out, "bytes         %d at the end, %d at the peak at %d us\n", s.EndBytes, s.PeakBytes, s.PeakTimeUs)

	heading(out, "heaps", len(m.Heaps()), "        id      parent       flags  name")
	for _, h := range m.Heaps() {
		fmt.Fprintf(out, "%10d  %10d  %10s  %s\n", h.ID, h.ParentID, fmt.Sprintf("%#x", h.Flags), name(h.Name))
	}
	heading(out, "heap stats", len(m.HeapStats()), "      heap       bytes  peak bytes      allocs       frees")
	for _, st := range m.HeapStats() {
		fmt.Fprintf(out, "%10d  %10d  %10d  %10d  %10d\n", st.HeapID, st.CurrentBytes, st.PeakBytes, st.AllocCount, st.FreeCount)
	}
	heading(out, "callstack stats", len(m.CallstackStats()), " callstack  live count  live bytes  threads")
	for _, st := range m.CallstackStats() {
		fmt.Fprintf(out, "%10d  %10d  %10d  %d\n", st.CallstackID, st.LiveCount, st.LiveBytes, lazy.ThreadIDs(&st))
	}
	heading(out, "churn stats", len(m.ChurnStats()), " callstack  churn allocs  churn bytes  all allocs   all bytes  mean distance")
	for _, st := range m.ChurnStats() {
		fmt.Fprintf(out, "%10d  %12d  %11d  %10d  %10d  %13.3f\n", st.CallstackID, st.ChurnAllocs, st.ChurnBytes, st.TotalAllocs, st.TotalBytes, st.MeanDistance)
	}
	return err
}

// printCallstacks prints each callstack, innermost frame first. Modules and
// symbols are named where their sections can be read; that they cannot is told
// where these are printed, or asked for.
func printCallstacks(out *bufio.Writer, cache *lazy.Cache) error {
	s, err := cache.Callstacks()
	if err != nil {
		return err
	}
	var modules []string
	if m, err := cache.Metadata(); err == nil {
		if table, err := m.Names(); err == nil {
			for _, mod := range m.Modules() {
				modules = append(modules, names{table}.of(mod.Name))
			}
		}
	}
	symbols, err := cache.Symbols()
	if err != nil {
		symbols = nil
	}
	fmt.Fprintf(out, "callstacks: %d\n", s.Len())
	for stack := range s.All() {
		fmt.Fprintf(out, "callstack %d: %s\n", stack.ID, counted(len(stack.Frames), "frame"))
		for i, f := range stack.Frames {
			fmt.Fprintf(out, "  #%-3d  %#x  %s", i, f.Address, modulePlace(f, modules))
			if symbols != nil {
				if sym, ok := symbols.Find(f.Address); ok {
					fmt.Fprintf(out, "  %s+%#x", printable(sym.Name), sym.Offset)
				}
			}
			if _, err := fmt.Fprintln(out); err != nil {
				return nil
			}
		}
	}
	return nil
}

// modulePlace is the place of a frame in its module.
func modulePlace(f pod.ResolvedFrame, modules []string) string {
	switch {
	case f.ModuleIndex == pod.NoModule:
		return "(no module)"
	case int64(f.ModuleIndex) >= int64(len(modules)):
		return fmt.Sprintf("module#%d+%#x", f.ModuleIndex, f.Offset)
	}
	return fmt.Sprintf("%s+%#x", modules[f.ModuleIndex], f.Offset)
}

func printSymbols(out *bufio.Writer, cache *lazy.Cache) error {
	s, err := cache.Symbols()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "symbols: %d\n", s.Len())
	for addr, name := range s.All() {
		shown := "(end)"
		if name != "" {
			shown = printable(name)
		}
		if _, err := fmt.Fprintf(out, "%#18x  %s\n", addr, shown); err != nil {
			return nil
		}
	}
	return nil
}
