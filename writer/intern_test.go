package writer

import (
	"bytes"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/tracecache/pod"
	"example.com/tracecache/trace"
)

func TestInternAgainstMap(t *testing.T) {
	in := newInterner(false, formatLimits)
	index := map[string]pod.StringIndex{}
	var order []string
	for i := range 20_000 {
		s := fmt.Sprint("name ", i*7919%9000)
		if i%5 == 0 {
			s = s[:i%len(s)]
		}
		got, err := in.intern(s, in.hash(s), place{})
		require.NoError(t, err)
		want, ok := index[s]
		if !ok {
			want = pod.StringIndex(len(order))
			index[s] = want
			order = append(order, s)
		}
		require.Equal(t, want, got)
	}
	for i, s := range order {
		require.Equal(t, s, in.table.at(uint32(i)))
	}
}

// TestInternEqualHashes puts all strings on one probe sequence.
func TestInternEqualHashes(t *testing.T) {
	in := newInterner(false, formatLimits)
	for i := range 100 {
		got, err := in.intern(fmt.Sprint(i), in.hash(fmt.Sprint(i)), place{})
		require.NoError(t, err)
		require.Equal(t, pod.StringIndex(i), got)
		for slot, v := range in.slots { // Give every string the same hash.
			in.slots[slot] = v & (1<<32 - 1)
		}
	}
	size := len(in.slots)
	in.grow(2 * size)
	assert.Len(t, in.slots, 2*size)
	used := map[uint64]bool{}
	for _, v := range in.slots {
		if v != 0 {
			assert.False(t, used[v])
			used[v] = true
		}
	}
	assert.Len(t, used, 100, "a string was lost")
}

func TestInternAllocatesLittle(t *testing.T) {
	const n = 100_000
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("example.com/pkg.(*Type).method%d", i)
	}
	mallocs := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.Mallocs
	}
	in := newInterner(false, formatLimits)
	for round, most := range []uint64{n / 1000, 5} { // New strings, then known ones.
		before := mallocs()
		for i, s := range names {
			if _, err := in.intern(s, in.hash(s), place{addr: uint64(i)}); err != nil {
				t.Fatal(err)
			}
		}
		assert.LessOrEqual(t, mallocs()-before, most, "round %d", round)
	}
}

func TestStringTableTooLarge(t *testing.T) {
	// Seven strings of the session, all empty but the last, take 1 and 5 bytes.
	m := &trace.Model{Session: trace.Session{BuildVersion: "1234"}, Symbols: []trace.Symbol{{Address: 0x10, Name: "main"}}}
	for packed, want := range map[int64]string{
		0:  `string table: expected at most 0 bytes, got more with session.platform ""`,
		5:  `string table: expected at most 5 bytes, got more with session.buildVersion "1234"`,
		10: `string table: expected at most 10 bytes, got more with symbol 0x10: name "main"`,
		11: "",
	} {
		l := formatLimits
		l.packed = packed
		_, err := Write(&bytes.Buffer{}, m, withLimits(l))
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, pod.ErrTooLarge)
		assert.EqualError(t, err, "write cache: too large: "+want)
	}
	assert.LessOrEqual(t, uint64(formatLimits.packed), uint64(1<<32), "offsets have 32 bits")
}

func withLimits(l limits) Option {
	return func(o *options) error {
		o.limits = l
		return nil
	}
}

func TestCountsTooLarge(t *testing.T) {
	for what, m := range map[string]*trace.Model{
		"threads":                       {Threads: make([]trace.Thread, 4)},
		"channels":                      {Channels: make([]trace.Channel, 4)},
		"modules":                       {Modules: make([]trace.Module, 4)},
		"eventTypeCounts":               {EventTypeCounts: make([]trace.EventTypeCount, 4)},
		"scopeStats":                    {ScopeStats: make([]trace.ScopeStat, 4)},
		"heaps":                         {Heaps: make([]trace.Heap, 4)},
		"heapStats":                     {HeapStats: make([]trace.HeapStat, 4)},
		"callstackStats":                {CallstackStats: make([]trace.CallstackStat, 4)},
		"churnStats":                    {ChurnStats: make([]trace.ChurnStat, 4)},
		"callstacks":                    {Callstacks: make([]trace.Callstack, 4)},
		"frames of all callstacks":      {Callstacks: []trace.Callstack{{Frames: make([]trace.Frame, 3)}, {Frames: make([]trace.Frame, 1)}}},
		"symbols":                       {Symbols: make([]trace.Symbol, 4)},
		"image id bytes of all modules": {Modules: []trace.Module{{ImageID: []byte{1, 2}}, {ImageID: []byte{1, 2}}}},
	} {
		l := formatLimits
		l.count = 3
		var out bytes.Buffer
		_, err := Write(&out, m, withLimits(l))
		require.ErrorIs(t, err, pod.ErrTooLarge)
		assert.EqualError(t, err, "write cache: too large: "+what+": expected at most 3, got 4")
		assert.Zero(t, out.Len())
		l.count = 4
		_, err = Write(&out, m, withLimits(l))
		assert.NoError(t, err, what)
	}
	assert.Equal(t, uint64(1<<32-1), formatLimits.count, "counts have 32 bits")
}

func TestPayloadTooLarge(t *testing.T) {
	for want, m := range map[string]*trace.Model{
		"section symbols: expected at most 200 bytes, got 212":    {Symbols: make([]trace.Symbol, 13)},
		"section callstacks: expected at most 200 bytes, got 208": {Callstacks: []trace.Callstack{{Frames: make([]trace.Frame, 12)}}},
		"section metadata: expected at most 200 bytes, got 216":   {Modules: []trace.Module{{ImageID: make([]byte, 100)}}},
		"section strings: expected at most 200 bytes, got 210":    {Session: trace.Session{AppName: string(bytes.Repeat([]byte{'x'}, 196))}},
	} {
		l := formatLimits
		l.payload = 200
		_, err := Write(&bytes.Buffer{}, m, withLimits(l))
		require.ErrorIs(t, err, pod.ErrTooLarge)
		assert.EqualError(t, err, "write cache: too large: "+want)
	}
}
