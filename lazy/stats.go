package lazy

import (
	"fmt"
	"time"

	"example.com/tracecache/pod"
)

// State is how much of a section is there.
type State uint8

// The states.
const (
	Cold    State = iota // nothing is decoded
	Partial              // some blocks are, or room has been made for them
	Loading              // a load is in flight
	Loaded               // all of it is decoded
	Failed               // it cannot be used, or a part of it cannot: SectionStats.Err says why
)

// String is the state in lower case.
func (s State) String() string {
	switch s {
	case Cold:
		return "cold"
	case Partial:
		return "partial"
	case Loading:
		return "loading"
	case Loaded:
		return "loaded"
	case Failed:
		return "failed"
	}
	return fmt.Sprintf("state(%d)", uint8(s))
}

// SectionStats says how a section stands.
type SectionStats struct {
	State    State
	Stored   int64         // bytes in the file; 0 where the directory has no valid place
	Resident int64         // bytes that the cache holds for it: all of the decoded section, with its indexes
	Released int64         // bytes released that handles and strings still refer to, or that wait for the collector
	Loads    int64         // how often all of it was decoded
	Spent    time.Duration // in reading, decompressing and checking it
	Err      error         // where State is Failed
}

// Stats says how a cache stands.
type Stats struct {
	Sections [pod.SectionCount]SectionStats

	Stored, Resident, Released int64 // sums, in bytes

	Mapped bool // the file is memory-mapped, as against read
}

// Stats is how the cache stands at this moment. The bytes of all sections are of one
// moment, and sum up. A closed cache has no resident bytes.
func (c *Cache) Stats() Stats {
	st := Stats{Mapped: c.file.Mapped()}
	b := c.account.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	for id := range c.sections {
		s := &c.sections[id]
		one := SectionStats{
			State:    s.stateNow(),
			Resident: c.account.resident[id],
			Released: c.account.released[id],
			Loads:    s.loads.Load(),
			Spent:    time.Duration(s.spent.Load()),
		}
		if err := s.fault.Load(); err != nil {
			one.Err = *err
		}
		if place, err := c.file.Section(s.id); err == nil {
			one.Stored = place.Size
		}
		st.Sections[id] = one
		st.Stored += one.Stored
		st.Resident += one.Resident
		st.Released += one.Released
	}
	return st
}

func (s *section) stateNow() State {
	switch d := s.state.Load(); {
	case s.fault.Load() != nil:
		return Failed
	case s.loading.Load() > 0:
		return Loading
	case d == nil:
		return Cold
	case d.whole.Load():
		return Loaded
	}
	return Partial
}
