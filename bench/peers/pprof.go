package main

import (
	"bytes"
	"debug/elf"
	"errors"
	"io"
	"time"

	"github.com/google/pprof/driver"
	"github.com/google/pprof/profile"
)

// viaPprof has the driver of pprof symbolize a profile of all addresses, and one of
// a single address.
func viaPprof(binary string, pcs []uint64, want []string) (*result, error) {
	mapping, err := codeMapping(binary)
	if err != nil {
		return nil, err
	}
	r := &result{}
	for round := range rounds {
		start := time.Now()
		if _, err := symbolize(mapping, pcs[:1]); err != nil {
			return nil, err
		}
		one := time.Since(start)
		start = time.Now()
		names, err := symbolize(mapping, pcs)
		if err != nil {
			return nil, err
		}
		all := time.Since(start)
		r.load = append(r.load, float64(one.Nanoseconds())/1e6)
		r.lookup = append(r.lookup, float64((all-one).Nanoseconds())/float64(len(pcs)))
		if round == 0 {
			r.count(want, names)
		}
	}
	return r, nil
}

// codeMapping is how the code of a binary that is not moved lies in memory.
func codeMapping(path string) (*profile.Mapping, error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 {
			return &profile.Mapping{ID: 1, Start: p.Vaddr, Limit: p.Vaddr + p.Memsz, Offset: p.Off, File: path}, f.Close()
		}
	}
	return nil, errors.Join(errors.New("no code"), f.Close())
}

// symbolize is the names of addresses by pprof.
func symbolize(mapping *profile.Mapping, pcs []uint64) ([]string, error) {
	m := *mapping
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "n", Unit: "count"}}, Mapping: []*profile.Mapping{&m}}
	for i, pc := range pcs {
		l := &profile.Location{ID: uint64(i + 1), Mapping: &m, Address: pc}
		p.Location = append(p.Location, l)
		p.Sample = append(p.Sample, &profile.Sample{Location: []*profile.Location{l}, Value: []int64{1}})
	}
	var out bytes.Buffer
	s := session{profile: p, out: &out}
	if err := driver.PProf(&driver.Options{Flagset: s, Fetch: s, Writer: s, UI: s}); err != nil {
		return nil, err
	}
	done, err := profile.Parse(&out)
	if err != nil {
		return nil, err
	}
	byAddress := map[uint64]string{}
	for _, l := range done.Location {
		if len(l.Line) > 0 {
			byAddress[l.Address] = l.Line[0].Function.SystemName
		}
	}
	names := make([]string, len(pcs))
	for i, pc := range pcs {
		names[i] = byAddress[pc]
	}
	return names, nil
}

// session is all that the driver wants of its surroundings.
type session struct {
	profile *profile.Profile
	out     *bytes.Buffer
}

// As a driver.Fetcher it gives the profile.
func (s session) Fetch(string, time.Duration, time.Duration) (*profile.Profile, string, error) {
	return s.profile, "", nil
}

// As a driver.Writer it keeps the result.
func (s session) Open(string) (io.WriteCloser, error) { return nopCloser{s.out}, nil }

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// As a driver.FlagSet it says what is asked for.
func (session) Bool(name string, def bool, _ string) *bool {
	v := def || name == "proto"
	return &v
}
func (session) Int(_ string, def int, _ string) *int             { return &def }
func (session) Float64(_ string, def float64, _ string) *float64 { return &def }
func (session) String(name string, def string, _ string) *string {
	switch name {
	case "symbolize":
		def = "fastlocal:force:demangle=none"
	case "output":
		def = "out"
	}
	return &def
}
func (session) StringList(_ string, def string, _ string) *[]*string { return &[]*string{&def} }
func (session) ExtraUsage() string                                   { return "" }
func (session) AddExtraUsage(string)                                 {}
func (session) Parse(func()) []string                                { return []string{"profile"} }

// As a driver.UI it is silent; PProf returns its errors.
func (session) ReadLine(string) (string, error)     { return "", io.EOF }
func (session) Print(...any)                        {}
func (session) PrintErr(...any)                     {}
func (session) IsTerminal() bool                    { return false }
func (session) WantBrowser() bool                   { return false }
func (session) SetAutoComplete(func(string) string) {}
