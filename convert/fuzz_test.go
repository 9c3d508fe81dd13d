package convert

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/tracecache/trace"
)

// fuzzPart reads data as the importer does and checks what must hold for any
// part that comes out.
func fuzzPart(t *testing.T, kind Kind, data []byte) {
	p, err := readers[kind](bytes.NewReader(data), int64(len(data)), "in", new(options))
	if err != nil {
		require.Nil(t, p)
		return
	}
	m, err := Merge(p)
	require.NoError(t, err)
	checkModel(t, m)

	// Joined with itself nothing new appears but the sums.
	twice, err := Merge(p, p)
	if err != nil {
		return // a callstack's module index may be wrong
	}
	require.Len(t, twice.Modules, len(m.Modules))
	require.Len(t, twice.Callstacks, len(m.Callstacks))
}

// checkModel checks that frames and stats refer to what is there, and that a
// point or a function with an end has a hole behind it.
func checkModel(t *testing.T, m *trace.Model) {
	ids := make(map[uint32]bool)
	for _, c := range m.Callstacks {
		require.False(t, ids[c.ID])
		ids[c.ID] = true
		for _, f := range c.Frames {
			if f.ModuleIndex != trace.NoModule {
				require.Less(t, uint64(f.ModuleIndex), uint64(len(m.Modules)))
				require.Equal(t, f.Address, m.Modules[f.ModuleIndex].Base+f.Offset)
			}
		}
	}
	for _, s := range m.CallstackStats {
		require.True(t, ids[s.CallstackID])
	}
	for _, s := range m.ChurnStats {
		require.True(t, ids[s.CallstackID])
		require.LessOrEqual(t, s.ChurnAllocs, s.TotalAllocs)
	}
	for i, s := range m.Symbols[min(1, len(m.Symbols)):] {
		require.LessOrEqual(t, m.Symbols[i].Address, s.Address)
	}
}

func FuzzPprof(f *testing.F) {
	var plain bytes.Buffer
	require.NoError(f, handProfile().WriteUncompressed(&plain))
	f.Add(plain.Bytes())
	f.Add(encode(f, handProfile()))
	f.Add([]byte("heap profile: 3: 300 [10: 1000] @ heap_v2/1\n 1: 100 [ 4: 400] @ 0x401011 0x401021\nMAPPED_LIBRARIES:\n00401000-00402000 r-xp 00001000 08:01 123 /bin/prog\n"))
	f.Add([]byte("goroutine profile: total 1\n1 @ 0x401011 0x401021\n"))
	f.Add([]byte("--- contentionz 1 ---\ncycles/second = 100\nsampling period = 1\n100 1 @ 0x401011\n"))
	f.Add([]byte("--- threadz 1 ---\n\n--- Thread 7f (name: main/1) stack: ---\n  PC: 0x401011 0x401021: main\n"))
	f.Add([]byte("\x00\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00\x10\x27\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x10\x10\x40\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 {
			return
		}
		fuzzPart(t, KindPprof, data)
	})
}

func FuzzBreakpad(f *testing.F) {
	f.Add([]byte(breakpadText))
	f.Add([]byte("MODULE windows x86 33221100554477668899AABBCCDDEEFF1F a.pdb\r\nPUBLIC ffffffffffffffff 0 p\r\nFUNC fffffffffffffff0 f 0 f"))
	f.Fuzz(func(t *testing.T, data []byte) {
		fuzzPart(t, KindBreakpad, data)
	})
}

// Whatever can be read is written so that it reads the same.
func FuzzJSON(f *testing.F) {
	f.Add([]byte(modelJSON))
	f.Add([]byte(`{}`))
	f.Add([]byte(`{"symbols":[{"name":{"base64":"/w=="},"address":"0x1"},{"name":"A😀\n"}],"scopeStats":[{"meanUs":-0},{"meanUs":"NaN:0x7ff0000000000001"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := ReadJSON(bytes.NewReader(data))
		if err != nil {
			require.Nil(t, m)
			return
		}
		var first, second bytes.Buffer
		require.NoError(t, WriteJSON(&first, m))
		again, err := ReadJSON(bytes.NewReader(first.Bytes()))
		require.NoError(t, err, "%s", first.Bytes())
		require.NoError(t, WriteJSON(&second, again))
		require.Equal(t, first.String(), second.String())
		requireSameModel(t, m, again)

		// Merging is safe for any model, alone and with itself.
		if twice, err := Merge(jsonPart("a", m), jsonPart("b", m)); err == nil {
			assert.GreaterOrEqual(t, len(twice.Modules), len(m.Modules))
		}
	})
}
