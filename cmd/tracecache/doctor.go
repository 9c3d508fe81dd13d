package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"example.com/tracecache/lazy"
	"example.com/tracecache/pod"
	"example.com/tracecache/writer"
)

func newDoctor() *cobra.Command {
	var out, source string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor FILE",
		Short: "Say what is wrong with a cache, and save what can be saved",
		Long: `Doctor checks a cache as verify does and says of each section whether it is
  sound      nothing is wrong with it
  irregular  a rule is broken, but all of it can be read
  lost       it cannot be read, or its bytes are not those that were written
  unsupported  it is stored in a way that this release does not read
with all findings, one a line, and what is lost with a section.

With -o it writes a sound cache of what can be read, and says what it left out. A
section stands for itself: symbols that are lost take nothing else with them. Where
the string table is lost all names are, and the symbols; where Metadata is lost no
module is known, and in the new cache only the exact addresses of symbols have names.
Where all is lost nothing is written. OUT may be FILE, unless that holds what is not
supported and would be gone. The new cache is compressed by the same method. It
records the same source if nothing is left out; else it records none, so that it is
stale for every source and will be built anew.

With --source it also says whether the cache was made from that file as it is now,
and if not, why.

With --json it prints one object:
  path; state: "sound", "damaged", "unsupported" or "unreadable"
  source     path, fresh, and reason where it is not fresh
  sections   a list: name, state, findings (a list of texts), lost (what goes with it)
  error      why nothing can be read
  out        the file written; leftOut: the names of the sections that it is without

The exit code is 0 for a sound cache; 3 for a damaged one, also when what is left of
it was saved; 1 where it is stale, missing, of another version, or holds something
that is not supported.`,
		Example: `  tracecache doctor go.ztac
  tracecache doctor damaged.ztac -o saved.ztac`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("output") {
				if err := checkRescue(cmd, out, source); err != nil {
					return err
				}
			}
			ctx, stop := interruptible(cmd.Context())
			defer stop()
			d := &diagnosis{Path: args[0], State: stateSound}
			if cmd.Flags().Changed("source") {
				d.Source = &sourceState{Path: source}
			}
			if err := d.examine(ctx, out); err != nil {
				return err
			}
			return d.tell(cmd, asJSON)
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "write what can be saved to this `file`")
	cmd.Flags().StringVar(&source, "source", "", "the `file` that the cache was made from")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// The states of a file and of a section.
const (
	stateSound       = "sound"
	stateIrregular   = "irregular"
	stateLost        = "lost"
	stateUnsupported = "unsupported"
	stateDamaged     = "damaged"
	stateUnreadable  = "unreadable"
)

// diagnosis is what doctor found. Its JSON is described in the command's help.
type diagnosis struct {
	Path     string         `json:"path"`
	State    string         `json:"state"`
	Source   *sourceState   `json:"source,omitempty"`
	Sections []sectionState `json:"sections,omitempty"`
	Error    string         `json:"error,omitempty"`
	Out      string         `json:"out,omitempty"`
	LeftOut  []string       `json:"leftOut,omitempty"`

	worst error
}

type sourceState struct {
	Path   string `json:"path"`
	Fresh  bool   `json:"fresh"`
	Reason string `json:"reason,omitempty"`
}

type sectionState struct {
	Name     string   `json:"name"`
	State    string   `json:"state"`
	Findings []string `json:"findings,omitempty"`
	Lost     string   `json:"lost,omitempty"`
}

// lostWith is what is lost with a section.
var lostWith = [pod.SectionCount]string{
	pod.SectionStringTable: "all names: the symbols, and the names of modules, threads, channels, event types, scopes and heaps",
	pod.SectionMetadata:    "session, threads, channels, modules with their build ids, event counts and scopes; without modules only exact addresses have names",
	pod.SectionMemory:      "the allocation summary, heaps, and the statistics of callstacks",
	pod.SectionCallstacks:  "the frames of all callstacks",
	pod.SectionSymbols:     "the names of addresses",
}

// examine finds out what is wrong, and writes what is left to out, if that is not
// empty.
func (d *diagnosis) examine(ctx context.Context, out string) error {
	cache, err := openHashed(d.Path)
	if err != nil {
		if !pod.Damaged(err) && !errors.Is(err, pod.ErrVersion) {
			return err
		}
		d.State, d.Error, d.worst = stateUnreadable, oneLine(err), err
		if d.Source != nil {
			d.Source.Reason = "what the cache was made from is not known"
		}
		return nil
	}
	defer cache.Close()
	if d.Source != nil {
		err := cache.Fresh(d.Source.Path)
		if d.Source.Fresh = err == nil; err != nil {
			d.Source.Reason = oneLine(err)
			d.note(err)
		}
	}
	findings := cache.Verify(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	model, lost, err := cache.Salvage(ctx)
	if err != nil {
		return err
	}
	d.sections(findings, lost)
	if out == "" || ctx.Err() != nil {
		return ctx.Err()
	}
	for id, err := range lost {
		if err != nil {
			d.LeftOut = append(d.LeftOut, pod.Section(id).String())
		}
	}
	if len(d.LeftOut) == len(lost) {
		return nil
	}
	if slices.ContainsFunc(lost[:], func(err error) bool { return errors.Is(err, pod.ErrUnsupported) }) && sameFile(out, d.Path) {
		err := fmt.Errorf("%s holds a section that another release may read; save the rest to another file", d.Path)
		return &exitError{code: exitFailed, err: err, noCache: true}
	}
	opts := append(sameStorage(cache, len(d.LeftOut) == 0), writer.WithContext(ctx))
	if err := cache.Close(); err != nil { // on some systems an open file cannot be replaced
		return err
	}
	if err := writer.WriteFile(out, model, opts...); err != nil {
		return &exitError{code: exitFailed, err: err, noCache: true}
	}
	d.Out = out
	return nil
}

// checkRescue sees that what is saved can be written to out.
func checkRescue(cmd *cobra.Command, out, source string) error {
	if out == "" {
		return wrongUse(cmd, "--output is empty")
	}
	if source != "" && sameFile(out, source) {
		return wrongUse(cmd, "the output %s is the source, expected another file", out)
	}
	return checkPlace(cmd, out)
}

// openHashed opens a cache whose sections must agree with their hashes, unless it was
// written without any.
func openHashed(path string) (*lazy.Cache, error) {
	cache, err := lazy.Open(path)
	if err != nil {
		return nil, err
	}
	for _, id := range pod.Sections {
		info, err := cache.Info(id)
		if err == nil && info.Header.RawHash != [32]byte{} {
			if err := cache.Close(); err != nil {
				return nil, err
			}
			return lazy.Open(path, lazy.WithHashCheck())
		}
	}
	return cache, nil
}

// note keeps the worst error: damage before all others.
func (d *diagnosis) note(err error) {
	if d.worst == nil || pod.Damaged(err) && !pod.Damaged(d.worst) {
		d.worst = err
	}
}

// sections says how each section is, of the findings and of why it could not be read.
func (d *diagnosis) sections(findings error, lost [pod.SectionCount]error) {
	of := map[pod.Section][]error{}
	if joined, ok := findings.(interface{ Unwrap() []error }); ok {
		for _, err := range joined.Unwrap() {
			var e *pod.Error
			if errors.As(err, &e) {
				of[e.Section] = append(of[e.Section], err)
			}
		}
	}
	for _, id := range pod.Sections {
		s := sectionState{Name: id.String(), State: stateSound}
		errs := of[id]
		if err := lost[id]; err != nil {
			s.State, s.Lost = stateLost, lostWith[id]
			if errors.Is(err, pod.ErrUnsupported) {
				s.State = stateUnsupported
			}
			if !slices.ContainsFunc(errs, func(e error) bool { return e.Error() == err.Error() }) {
				errs = append(errs, err)
			}
		} else if len(errs) > 0 {
			s.State = stateIrregular
		}
		for _, err := range errs {
			s.Findings = append(s.Findings, oneLine(err))
			d.note(err)
		}
		d.Sections = append(d.Sections, s)
		switch s.State {
		case stateIrregular, stateLost:
			d.State = stateDamaged
		case stateUnsupported:
			if d.State == stateSound {
				d.State = stateUnsupported
			}
		}
	}
}

// sameStorage are the options that store a cache as another one is, with its source
// where it is whole.
func sameStorage(cache *lazy.Cache, whole bool) []writer.Option {
	var opts []writer.Option
	if h := cache.Header(); whole && h.SourceModTimeNs != 0 && int64(h.SourceFileSize) >= 0 {
		opts = append(opts, writer.WithSource(int64(h.SourceFileSize), time.Unix(0, h.SourceModTimeNs)))
	}
	for _, id := range pod.Sections {
		info, err := cache.Info(id)
		if err != nil || info.Header.Method == pod.MethodNone && id != pod.SectionSymbols {
			continue // small sections are stored as they are, whatever the method
		}
		if info.Header.Method == pod.MethodOodle && info.Header.Compressor == pod.CompressorSelkie {
			return append(opts, writer.WithOodle(pod.CompressorSelkie))
		}
		return append(opts, writer.WithCodec(info.Header.Method)) // of Oodle's others, Mermaid is written
	}
	return opts
}

func (d *diagnosis) tell(cmd *cobra.Command, asJSON bool) error {
	out := bufio.NewWriter(cmd.OutOrStdout())
	if asJSON {
		enc := json.NewEncoder(out)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(d); err != nil {
			return err
		}
	} else {
		d.print(out)
	}
	if err := out.Flush(); err != nil && !isBrokenPipe(err) {
		return err
	}
	if d.worst == nil {
		return nil
	}
	code := failureCode(d.worst)
	what := d.State
	if what == stateSound {
		what = "stale"
	}
	err := fmt.Errorf("%s: %s%s", d.Path, what, advice(code, d.worst))
	if d.Out != "" && d.State != stateSound {
		err = fmt.Errorf("%s: %s; what is left of it is in %s", d.Path, what, d.Out)
	}
	return &exitError{code: code, err: err, noCache: true}
}

func (d *diagnosis) print(w io.Writer) {
	fmt.Fprintf(w, "%s: %s\n", printable(d.Path), d.State)
	if d.Error != "" {
		fmt.Fprintf(w, "  %s\n  nothing can be saved\n", d.Error)
	}
	if s := d.Source; s != nil {
		if s.Fresh {
			fmt.Fprintf(w, "  source      fresh\n")
		} else {
			fmt.Fprintf(w, "  source      %s\n", s.Reason)
		}
	}
	for _, s := range d.Sections {
		fmt.Fprintf(w, "  %-11s %s\n", s.Name, s.State)
		for _, text := range s.Findings {
			fmt.Fprintf(w, "              %s\n", text)
		}
		if s.Lost != "" {
			fmt.Fprintf(w, "              lost: %s\n", s.Lost)
		}
	}
	if d.Out == "" {
		if len(d.LeftOut) > 0 {
			fmt.Fprintln(w, "nothing is left to be saved")
		}
		return
	}
	fmt.Fprintf(w, "wrote %s", printable(d.Out))
	for i, name := range d.LeftOut {
		if i == 0 {
			fmt.Fprint(w, ", without ")
		} else {
			fmt.Fprint(w, ", ")
		}
		fmt.Fprint(w, name)
	}
	fmt.Fprintln(w)
}
