package convert

import (
	"bytes"
	"cmp"
	"compress/flate"
	"compress/gzip"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"example.com/tracecache/pod"
	"example.com/tracecache/trace"
)

// The bounds on what a profile may take: of its bytes once unpacked, and of the
// memory to parse them. Both grow with the file, for real ones may be large.
const (
	maxProfileBytes = 256 << 20
	maxUnpackRatio  = 32 // unpacked to stored; real profiles have 3 to 10
	maxProfileCost  = 2 << 30
	maxCostRatio    = 256 // memory to stored
	maxLegacyCost   = 2e9 // steps, of a few seconds in all
)

// readPprof reads a profile: mappings as modules, samples as callstacks, heap
// values as allocation stats, functions as points.
func readPprof(r io.ReaderAt, size int64, path string, o *options) (*Part, error) {
	raw, err := unpackProfile(r, size)
	if err != nil {
		return nil, err
	}
	p, err := parseProfile(raw, size)
	if err != nil {
		return nil, err
	}
	m, err := profileModel(p, o)
	if err != nil {
		return nil, err
	}
	return &Part{Path: path, Kind: KindPprof, Model: m, points: profilePoints(p)}, nil
}

// unpackProfile is the file's bytes, without gzip around them.
func unpackProfile(r io.ReaderAt, size int64) ([]byte, error) {
	in := source(r, size)
	hint := size
	var magic [2]byte
	if _, err := r.ReadAt(magic[:], 0); err == nil && bytes.Equal(magic[:], gzipMagic) {
		zr, err := gzip.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("%w: gzip: %w", pod.ErrCorrupt, err)
		}
		in = zr
		hint = unpackedSize(r, size)
	}
	limit := int64(math.MaxInt / 4)
	if size <= limit/maxUnpackRatio {
		limit = max(maxProfileBytes, size*maxUnpackRatio)
	}
	var buf bytes.Buffer
	buf.Grow(int(min(hint, limit)) + bytes.MinRead) // room to see the end too
	_, err := buf.ReadFrom(io.LimitReader(in, limit+1))
	raw := buf.Bytes()
	_, deflate := errors.AsType[flate.CorruptInputError](err)
	switch {
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), deflate:
		return nil, fmt.Errorf("%w: gzip: %w", pod.ErrCorrupt, err)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fmt.Errorf("%w: gzip: the stream ends early", pod.ErrTruncated)
	case err != nil:
		return nil, fmt.Errorf("read after %d bytes: %w", len(raw), err)
	case int64(len(raw)) > limit:
		return nil, fmt.Errorf("%w: %d bytes unpack to more than %d", pod.ErrTooLarge, size, limit)
	case bytes.HasPrefix(raw, gzipMagic):
		return nil, fmt.Errorf("%w: a gzip stream inside the gzip stream", pod.ErrUnsupported)
	}
	return raw, nil
}

// unpackedSize is what a gzip file says of its unpacked size, or as much as the
// file can hold where that is less. It is a hint: the file may lie, or consist of
// several streams.
func unpackedSize(r io.ReaderAt, size int64) int64 {
	const mostPacked = 1032 // no byte of a deflate stream stands for more
	var trailer [4]byte
	if _, err := r.ReadAt(trailer[:], size-4); err != nil || size > math.MaxInt64/mostPacked {
		return 0
	}
	return min(int64(binary.LittleEndian.Uint32(trailer[:])), size*mostPacked)
}

// parseProfile parses raw, which came from a file of size bytes.
func parseProfile(raw []byte, size int64) (*profile.Profile, error) {
	head := raw[:min(len(raw), detectSize)]
	cost, err := profileCost(raw)
	if err != nil {
		if !legacyProfile.Match(head) && !isLegacyCPU(head) {
			return nil, err
		}
		if n := legacyCost(raw); n > maxLegacyCost {
			return nil, fmt.Errorf("%w: looking for each address in each mapping takes %d steps, more than %d", pod.ErrTooLarge, n, uint64(maxLegacyCost))
		}
	}
	if limit := maxProfileCost + maxCostRatio*uint64(size); cost > limit {
		return nil, fmt.Errorf("%w: parsing takes %d bytes of memory, more than %d", pod.ErrTooLarge, cost, limit)
	}
	p, err := profile.ParseData(raw)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", pod.ErrCorrupt, err)
	}
	return p, nil
}

// profileModel is the profile without the names of its addresses.
func profileModel(p *profile.Profile, o *options) (*trace.Model, error) {
	m := new(trace.Model)
	modules, err := profileModules(p, m)
	if err != nil {
		return nil, err
	}
	cols, err := heapColumns(p)
	if err != nil {
		return nil, err
	}
	stacks := newStackTable(p, m.Modules, modules)
	var heap []heapValues // of callstack i+1
	for i, s := range p.Sample {
		if i%4096 == 0 {
			if err := o.done(); err != nil {
				return nil, err
			}
		}
		for j, v := range s.Value {
			if v < 0 {
				return nil, fmt.Errorf("%w: sample %d: %s is %d: values below zero, as in a profile that is the difference of two, cannot be kept",
					pod.ErrUnsupported, i, p.SampleType[j].Type, v)
			}
		}
		at := stacks.add(s)
		if !cols.any() {
			continue
		}
		if at == len(heap) {
			heap = append(heap, heapValues{})
		}
		if err := cols.add(&heap[at], s); err != nil {
			return nil, fmt.Errorf("sample %d: %w", i, err)
		}
	}
	m.Callstacks = stacks.callstacks()
	if err := cols.fill(m, heap); err != nil {
		return nil, err
	}

	m.TotalEvents = uint64(len(p.Sample))
	start, dur := uint64(max(p.TimeNanos, 0)), uint64(max(p.DurationNanos, 0))
	m.TraceStartUs, m.TraceEndUs = start/1000, (start+dur)/1000
	if len(p.Mapping) > 0 && p.Mapping[0].File != "" {
		// The first mapping is the main binary's, by the format's rule.
		m.Session = trace.Session{AppName: baseName(p.Mapping[0].File), HasSession: true}
	}
	return m, nil
}

// profileModules fills the model's modules and says which is whose. Mappings of
// one file at one base, such as two executable segments, are one module. One
// that says nothing, as profilers write, and the parser of text forms makes up,
// when they know no mappings, is none.
func profileModules(p *profile.Profile, m *trace.Model) (map[*profile.Mapping]uint32, error) {
	type key struct {
		base     uint64
		file, id string
	}
	seen := make(map[key]uint32)
	index := make(map[*profile.Mapping]uint32, len(p.Mapping))
	for i, mp := range p.Mapping {
		if mp.Limit != 0 && mp.Limit < mp.Start {
			return nil, fmt.Errorf("%w: mapping %d: expected a limit at or above the start %#x, got %#x", pod.ErrCorrupt, i, mp.Start, mp.Limit)
		}
		if mp.Start == 0 && (mp.Limit == 0 || mp.Limit == math.MaxUint64) && mp.File == "" && mp.BuildID == "" {
			index[mp] = trace.NoModule
			continue
		}
		base := mp.Start
		if mp.Offset <= mp.Start {
			base -= mp.Offset
		}
		size := uint64(0)
		if mp.Limit > base {
			size = mp.Limit - base
		}
		k := key{base, mp.File, mp.BuildID}
		at, ok := seen[k]
		if !ok {
			at = uint32(len(m.Modules))
			seen[k] = at
			m.Modules = append(m.Modules, trace.Module{
				Name: baseName(mp.File), FullPath: mp.File, Base: base, ImageID: imageID(mp.BuildID),
			})
		}
		m.Modules[at].Size = max(m.Modules[at].Size, size)
		index[mp] = at
	}
	return index, nil
}

var uuid = regexp.MustCompile(`^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$`)

// imageID is the bytes of a build id written in hex, as a UUID with dashes or
// without, or its characters where it is something else.
func imageID(s string) []byte {
	if s == "" {
		return nil
	}
	digits := s
	if uuid.MatchString(s) {
		digits = strings.ReplaceAll(s, "-", "")
	}
	if id, err := hex.DecodeString(digits); err == nil {
		return id
	}
	return []byte(s)
}

// profilePoints are the addresses that the profile names, with the name of the
// function that the code at the address belongs to: the outermost, for what was
// inlined into it comes before it. Address 0 stands for no address.
func profilePoints(p *profile.Profile) []trace.Symbol {
	var points []trace.Symbol
	for _, loc := range p.Location {
		if loc.Address == 0 || len(loc.Line) == 0 {
			continue
		}
		f := loc.Line[len(loc.Line)-1].Function
		if f == nil {
			continue
		}
		if name := cmp.Or(f.SystemName, f.Name); name != "" {
			points = append(points, trace.Symbol{Address: loc.Address, Name: name})
		}
	}
	slices.SortStableFunc(points, byAddress)
	return uniqueNames(points)
}

// stackTable numbers the distinct callstacks of a profile in order of their
// first sample. Stacks are equal if their frames are.
type stackTable struct {
	frames  []trace.Frame                // distinct ones
	frameOf map[*profile.Location]uint32 // into frames
	ids     map[string]int               // by the indices of the frames
	stacks  [][]*profile.Location
	key     []byte // scratch
	total   int    // frames of all stacks
}

func newStackTable(p *profile.Profile, modules []trace.Module, index map[*profile.Mapping]uint32) *stackTable {
	t := &stackTable{
		frameOf: make(map[*profile.Location]uint32, len(p.Location)),
		ids:     make(map[string]int),
	}
	seen := make(map[trace.Frame]uint32, len(p.Location))
	for _, loc := range p.Location {
		f := trace.Frame{Address: loc.Address, ModuleIndex: trace.NoModule}
		if at, ok := index[loc.Mapping]; ok && at != trace.NoModule {
			// Below the base the difference wraps, which is out of range too.
			if off := loc.Address - modules[at].Base; off <= math.MaxUint32 {
				f.ModuleIndex, f.Offset = at, off
			}
		}
		at, ok := seen[f]
		if !ok {
			at = uint32(len(t.frames))
			seen[f] = at
			t.frames = append(t.frames, f)
		}
		t.frameOf[loc] = at
	}
	return t
}

// add is the position of the sample's callstack.
func (t *stackTable) add(s *profile.Sample) int {
	t.key = t.key[:0]
	for _, loc := range s.Location {
		t.key = binary.LittleEndian.AppendUint32(t.key, t.frameOf[loc])
	}
	at, ok := t.ids[string(t.key)]
	if !ok {
		at = len(t.stacks)
		t.ids[string(t.key)] = at
		t.stacks = append(t.stacks, s.Location)
		t.total += len(s.Location)
	}
	return at
}

// callstacks are the stacks with their frames, numbered from 1.
func (t *stackTable) callstacks() []trace.Callstack {
	all := make([]trace.Frame, 0, t.total)
	list := make([]trace.Callstack, len(t.stacks))
	for i, locs := range t.stacks {
		from := len(all)
		for _, loc := range locs {
			all = append(all, t.frames[t.frameOf[loc]])
		}
		list[i] = trace.Callstack{ID: uint32(i + 1), Frames: all[from:len(all):len(all)]}
	}
	return list
}
