package convert

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"iter"
	"slices"

	"example.com/tracecache/pod"
	"example.com/tracecache/trace"
)

// stackMerge joins the callstacks of several models and what refers to them.
type stackMerge struct {
	m     *trace.Model
	seed  maphash.Seed
	equal map[uint64][]int    // callstacks of earlier parts by the hash of their frames
	used  map[uint32]bool     // ids of earlier parts
	taken map[uint32]struct{} // ids of any part, and those given out
	next  uint32              // where to look for an id that is not taken
	live  map[uint32]int      // positions of earlier parts' stats by id
	churn map[uint32]int
}

// newStackMerge makes a merge into m of all of models.
func newStackMerge(m *trace.Model, models []*trace.Model) *stackMerge {
	s := &stackMerge{
		m:     m,
		seed:  maphash.MakeSeed(),
		equal: make(map[uint64][]int),
		used:  make(map[uint32]bool),
		taken: make(map[uint32]struct{}),
		live:  make(map[uint32]int),
		churn: make(map[uint32]int),
	}
	for _, part := range models {
		for id := range stackIDs(part) {
			s.taken[id] = struct{}{}
			s.next = max(s.next, id)
		}
	}
	return s
}

// stackIDs yields every callstack id of a model, in order: those of callstacks,
// then those that only stats know.
func stackIDs(m *trace.Model) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for i := range m.Callstacks {
			if !yield(m.Callstacks[i].ID) {
				return
			}
		}
		for i := range m.CallstackStats {
			if !yield(m.CallstackStats[i].CallstackID) {
				return
			}
		}
		for i := range m.ChurnStats {
			if !yield(m.ChurnStats[i].CallstackID) {
				return
			}
		}
	}
}

// add joins in one more model, whose module i is remap[i] now.
func (s *stackMerge) add(part *trace.Model, remap []uint32) error {
	ids := make(map[uint32]uint32, len(part.Callstacks)) // old to new
	from := len(s.m.Callstacks)
	var hashes []uint64 // of those added now
	for _, c := range part.Callstacks {
		frames, err := remapped(c, remap)
		if err != nil {
			return err
		}
		h := s.hash(frames)
		id, again := ids[c.ID]
		if !again {
			if at := s.find(h, frames); at >= 0 {
				ids[c.ID] = s.m.Callstacks[at].ID
				continue
			}
			id = s.freeID(c.ID)
			ids[c.ID] = id
		}
		hashes = append(hashes, h)
		s.m.Callstacks = append(s.m.Callstacks, trace.Callstack{ID: id, Frames: frames})
	}
	s.addDangling(part, ids)
	s.addLive(part, ids)
	s.addChurn(part, ids)

	// Only now, so that a part's own repetitions stay as they are.
	for i, h := range hashes {
		s.equal[h] = append(s.equal[h], from+i)
	}
	for _, id := range ids {
		s.used[id] = true
	}
	return nil
}

// addDangling gives ids to what stats refer to and the part has no callstack for.
// Id 0 stands for no callstack, so it is shared unless another part has one.
func (s *stackMerge) addDangling(part *trace.Model, ids map[uint32]uint32) {
	for old := range stackIDs(part) {
		if _, ok := ids[old]; ok {
			continue
		}
		id := old
		if old != 0 || slices.ContainsFunc(s.m.Callstacks, func(c trace.Callstack) bool { return c.ID == 0 }) {
			id = s.freeID(old)
		}
		ids[old] = id
	}
}

// freeID is id, or a new one if an earlier part uses it. Ids cannot run out: a
// model with all of them does not fit in memory.
func (s *stackMerge) freeID(id uint32) uint32 {
	if !s.used[id] {
		return id
	}
	for {
		s.next++ // from the last to 0, where gaps are looked for
		if _, ok := s.taken[s.next]; !ok && s.next != 0 {
			s.taken[s.next] = struct{}{}
			return s.next
		}
	}
}

// find is the position of an earlier part's callstack with these frames, or -1.
func (s *stackMerge) find(h uint64, frames []trace.Frame) int {
	for _, at := range s.equal[h] {
		if slices.Equal(s.m.Callstacks[at].Frames, frames) {
			return at
		}
	}
	return -1
}

func (s *stackMerge) hash(frames []trace.Frame) uint64 {
	var h maphash.Hash
	h.SetSeed(s.seed)
	var b [20]byte
	for _, f := range frames {
		binary.LittleEndian.PutUint64(b[:], f.Address)
		binary.LittleEndian.PutUint64(b[8:], f.Offset)
		binary.LittleEndian.PutUint32(b[16:], f.ModuleIndex)
		h.Write(b[:])
	}
	return h.Sum64()
}

// remapped is a callstack's frames with the module indices of the merged model.
func remapped(c trace.Callstack, remap []uint32) ([]trace.Frame, error) {
	frames := slices.Clone(c.Frames)
	for i := range frames {
		at := frames[i].ModuleIndex
		if at == trace.NoModule {
			continue
		}
		if uint64(at) >= uint64(len(remap)) {
			return nil, fmt.Errorf("%w: callstack %d, frame %d: expected a module index below %d, got %d", pod.ErrCorrupt, c.ID, i, len(remap), at)
		}
		frames[i].ModuleIndex = remap[at]
	}
	return frames, nil
}

func (s *stackMerge) addLive(part *trace.Model, ids map[uint32]uint32) {
	from := len(s.m.CallstackStats)
	for _, st := range part.CallstackStats {
		st.CallstackID = ids[st.CallstackID]
		at, ok := s.live[st.CallstackID]
		if !ok {
			s.m.CallstackStats = append(s.m.CallstackStats, st)
			continue
		}
		sum := &s.m.CallstackStats[at]
		grow(&sum.LiveCount, st.LiveCount)
		grow(&sum.LiveBytes, st.LiveBytes)
		sum.ThreadIDs = union(sum.ThreadIDs, st.ThreadIDs)
	}
	for i := from; i < len(s.m.CallstackStats); i++ {
		s.live[s.m.CallstackStats[i].CallstackID] = i
	}
}

// union is a followed by what b has besides.
func union(a, b []uint32) []uint32 {
	seen := make(map[uint32]bool, len(a))
	for _, v := range a {
		seen[v] = true
	}
	all := slices.Clone(a)
	for _, v := range b {
		if !seen[v] {
			seen[v] = true
			all = append(all, v)
		}
	}
	return all
}

func (s *stackMerge) addChurn(part *trace.Model, ids map[uint32]uint32) {
	from := len(s.m.ChurnStats)
	for _, st := range part.ChurnStats {
		st.CallstackID = ids[st.CallstackID]
		at, ok := s.churn[st.CallstackID]
		if !ok {
			s.m.ChurnStats = append(s.m.ChurnStats, st)
			continue
		}
		sum := &s.m.ChurnStats[at]
		if a, b := float64(sum.ChurnAllocs), float64(st.ChurnAllocs); a+b > 0 {
			sum.MeanDistance = (sum.MeanDistance*a + st.MeanDistance*b) / (a + b)
		}
		grow(&sum.ChurnAllocs, st.ChurnAllocs)
		grow(&sum.ChurnBytes, st.ChurnBytes)
		grow(&sum.TotalAllocs, st.TotalAllocs)
		grow(&sum.TotalBytes, st.TotalBytes)
	}
	for i := from; i < len(s.m.ChurnStats); i++ {
		s.churn[s.m.ChurnStats[i].CallstackID] = i
	}
}
