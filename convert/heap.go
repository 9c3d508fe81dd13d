package convert

import (
	"fmt"
	"math/bits"
	"strings"

	"github.com/google/pprof/profile"

	"example.com/tracecache/pod"
	"example.com/tracecache/trace"
)

// The columns of a heap profile.
const (
	allocObjects = iota
	allocSpace
	inuseObjects
	inuseSpace
	heapColumnCount
)

// heapNames are the sample types of the columns. Older heap profiles that know
// only what is in use leave out the prefix.
var heapNames = map[string]int{
	"alloc_objects": allocObjects,
	"alloc_space":   allocSpace,
	"inuse_objects": inuseObjects,
	"inuse_space":   inuseSpace,
	"objects":       inuseObjects,
	"space":         inuseSpace,
}

// heapUnits are the units of the columns and what one is in objects or bytes.
// The larger ones are powers of 1024, as the pprof tools take them.
var heapUnits = [2]map[string]uint64{
	{"": 1, "count": 1, "object": 1, "objects": 1},
	{
		"": 1, "b": 1, "byte": 1, "bytes": 1,
		"kb": 1 << 10, "kib": 1 << 10, "kilobyte": 1 << 10, "kilobytes": 1 << 10,
		"mb": 1 << 20, "mib": 1 << 20, "megabyte": 1 << 20, "megabytes": 1 << 20,
		"gb": 1 << 30, "gib": 1 << 30, "gigabyte": 1 << 30, "gigabytes": 1 << 30,
	},
}

// heapTable says where the columns of a heap profile are.
type heapTable struct {
	index [heapColumnCount]int // of a sample's values; -1: not there
	scale [heapColumnCount]uint64
}

// heapValues are the sums of one callstack, in objects and bytes.
type heapValues [heapColumnCount]uint64

// heapColumns looks for the columns. A profile of another kind has none.
func heapColumns(p *profile.Profile) (heapTable, error) {
	t := heapTable{index: [heapColumnCount]int{-1, -1, -1, -1}}
	for i, st := range p.SampleType {
		col, ok := heapNames[st.Type]
		if !ok || t.index[col] >= 0 {
			continue
		}
		scale, ok := heapUnits[col%2][strings.ToLower(st.Unit)]
		if !ok {
			return t, fmt.Errorf("%w: sample type %s: expected a unit of %s, got %q",
				pod.ErrUnsupported, st.Type, [2]string{"objects", "bytes"}[col%2], st.Unit)
		}
		t.index[col], t.scale[col] = i, scale
	}
	return t, nil
}

// any reports whether it is a heap profile at all.
func (t *heapTable) any() bool {
	for _, i := range t.index {
		if i >= 0 {
			return true
		}
	}
	return false
}

// knows reports whether both columns are there.
func (t *heapTable) knows(a, b int) bool { return t.index[a] >= 0 && t.index[b] >= 0 }

// add adds a sample's values, which are not negative.
func (t *heapTable) add(v *heapValues, s *profile.Sample) error {
	for col, i := range t.index {
		if i < 0 {
			continue
		}
		hi, scaled := bits.Mul64(uint64(s.Value[i]), t.scale[col])
		sum, carry := bits.Add64(v[col], scaled, 0)
		if hi != 0 || carry != 0 {
			return fmt.Errorf("%w: the sum of value %d exceeds 64 bits", pod.ErrTooLarge, i)
		}
		v[col] = sum
	}
	return nil
}

// fill writes the memory lists of the model; heap[i] belongs to callstack i+1.
// What the profile does not know stays 0: without columns of what was allocated,
// or of what is in use, nothing is said of frees and of churn. A callstack that
// has nothing in use has no CallstackStat, and one that has allocated nothing no
// ChurnStat.
func (t *heapTable) fill(m *trace.Model, heap []heapValues) error {
	if !t.any() {
		return nil
	}
	var total heapValues
	for i, v := range heap {
		id := uint32(i + 1)
		if v[inuseObjects] != 0 || v[inuseSpace] != 0 {
			m.CallstackStats = append(m.CallstackStats, trace.CallstackStat{
				CallstackID: id, LiveCount: v[inuseObjects], LiveBytes: v[inuseSpace],
			})
		}
		if v[allocObjects] != 0 || v[allocSpace] != 0 {
			s := trace.ChurnStat{CallstackID: id, TotalAllocs: v[allocObjects], TotalBytes: v[allocSpace]}
			if t.knows(allocObjects, inuseObjects) {
				s.ChurnAllocs = less(v[allocObjects], v[inuseObjects])
			}
			if t.knows(allocSpace, inuseSpace) {
				s.ChurnBytes = less(v[allocSpace], v[inuseSpace])
			}
			m.ChurnStats = append(m.ChurnStats, s)
		}
		for col := range total {
			sum, carry := bits.Add64(total[col], v[col], 0)
			if carry != 0 {
				return fmt.Errorf("%w: the sum of all samples exceeds 64 bits", pod.ErrTooLarge)
			}
			total[col] = sum
		}
	}
	m.AllocSummary = trace.AllocSummary{
		HasMemoryData:   true,
		LiveAllocations: total[inuseObjects],
		TotalAllocs:     total[allocObjects],
		EndBytes:        total[inuseSpace],
	}
	if t.knows(allocObjects, inuseObjects) {
		m.AllocSummary.TotalFrees = less(total[allocObjects], total[inuseObjects])
	}
	return nil
}

// less is a - b, or 0 where sampling made b the larger.
func less(a, b uint64) uint64 {
	if b > a {
		return 0
	}
	return a - b
}
