package lazy_test

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/tracecache/lazy"
	"example.com/tracecache/pod"
	"example.com/tracecache/trace"
	"example.com/tracecache/writer"
)

// manySymbols is a model whose symbols and strings take several blocks.
func manySymbols() *trace.Model {
	m := &trace.Model{Modules: []trace.Module{{Name: "app", Base: 0x1000, Size: 1 << 30}}}
	for i := range 25_000 {
		m.Symbols = append(m.Symbols, trace.Symbol{Address: 0x1000 + uint64(i)*48, Name: fmt.Sprintf("app/part%d.(*Thing).method%d", i%77, i)})
	}
	m.Symbols = append(m.Symbols, trace.Symbol{Address: 0x1000 + 25_000*48})
	for i := range uint32(5000) {
		m.Callstacks = append(m.Callstacks, trace.Callstack{ID: i, Frames: []trace.Frame{
			{Address: 0x1000 + uint64(i)*48, Offset: uint64(i) * 48}, {Address: 0x1010, Offset: 0x10},
		}})
	}
	return m
}

// A cache in Oodle gives what the same cache gives without compression, name by
// name before its sections are loaded, and whole.
func TestOodle(t *testing.T) {
	m := manySymbols()
	var plain bytes.Buffer
	_, err := writer.Write(&plain, m, writer.WithCodec(pod.MethodNone))
	require.NoError(t, err)
	want, err := lazy.OpenBytes(plain.Bytes())
	require.NoError(t, err)
	wantModel, err := want.Model()
	require.NoError(t, err)
	for compressor, levels := range map[pod.Compressor][]int{pod.CompressorMermaid: {0, 4}, pod.CompressorSelkie: {1}} {
		for _, level := range levels {
			t.Run(fmt.Sprintf("%v/%d", compressor, level), func(t *testing.T) {
				var file bytes.Buffer
				_, err := writer.Write(&file, m, writer.WithOodle(compressor), writer.WithLevel(level))
				require.NoError(t, err)
				require.Less(t, file.Len(), plain.Len()*2/3)
				c, err := lazy.OpenBytes(file.Bytes(), lazy.WithHashCheck())
				require.NoError(t, err)
				requireOodle(t, c, compressor)
				compareNames(t, want, c)
				require.NoError(t, c.Verify(t.Context()))
				got, err := c.Model()
				require.NoError(t, err)
				assert.Equal(t, describe(wantModel), describe(got))
			})
		}
	}
}

// requireOodle requires the large sections to be what they are here for.
func requireOodle(t *testing.T, c *lazy.Cache, compressor pod.Compressor) {
	t.Helper()
	for _, id := range []pod.Section{pod.SectionStringTable, pod.SectionSymbols} {
		info, err := c.Info(id)
		require.NoError(t, err)
		require.Equal(t, pod.MethodOodle, info.Header.Method)
		require.Equal(t, compressor, info.Header.Compressor)
		require.Greater(t, info.Blocks, 1)
	}
}

// compareNames looks some addresses up in both caches.
func compareNames(t *testing.T, want, got *lazy.Cache) {
	t.Helper()
	a, err := want.Symbols()
	require.NoError(t, err)
	b, err := got.Symbols()
	require.NoError(t, err)
	require.Equal(t, a.Len(), b.Len())
	for pc := uint64(0x0FF0); pc < 0x1000+25_001*48; pc += 1001 {
		nameA, okA := a.Resolve(pc &^ 15)
		nameB, okB := b.Resolve(pc &^ 15)
		require.Equal(t, okA, okB)
		require.Equal(t, nameA, nameB)
		symbolA, okA := a.Find(pc)
		symbolB, okB := b.Find(pc)
		require.Equal(t, okA, okB)
		require.Equal(t, symbolA, symbolB)
	}
}

// Every byte of the checked-in file that is changed is found, or belongs to
// nothing that is read.
func TestOodleDamage(t *testing.T) {
	file, err := os.ReadFile("../testdata/golden/small-oodle.ztac")
	require.NoError(t, err)
	c, err := lazy.OpenBytes(file)
	require.NoError(t, err)
	require.NoError(t, c.Verify(t.Context()))
	info, err := c.Info(pod.SectionSymbols)
	require.NoError(t, err)
	require.Equal(t, pod.MethodOodle, info.Header.Method)
	start := int(info.Entry.FileOffset)
	for i := start; i < start+int(info.Entry.CompressedSize); i++ {
		damaged := bytes.Clone(file)
		damaged[i] ^= 0x55
		c, err := lazy.OpenBytes(damaged)
		require.NoError(t, err)
		_, err = c.Symbols()
		require.True(t, pod.Damaged(err), "byte %d: %v", i, err)
		_, err = c.Callstacks()
		require.NoError(t, err)
	}
}
