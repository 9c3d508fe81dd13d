package lazy_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/tracecache/lazy"
	"example.com/tracecache/pod"
	"example.com/tracecache/trace"
)

// TestModelOf: the parts of the sections make the whole model, each has nothing
// of the others, and damage of one is no error of the others.
func TestModelOf(t *testing.T) {
	data, err := os.ReadFile("../testdata/foreign/plain.ztac")
	require.NoError(t, err)
	cache, err := lazy.OpenBytes(data)
	require.NoError(t, err)
	defer cache.Close()
	whole, err := cache.Model()
	require.NoError(t, err)
	metadata := *whole
	metadata.AllocSummary, metadata.Heaps, metadata.HeapStats = trace.AllocSummary{}, nil, nil
	metadata.CallstackStats, metadata.ChurnStats, metadata.Callstacks, metadata.Symbols = nil, nil, nil, nil
	memory := trace.Model{
		AllocSummary: whole.AllocSummary, Heaps: whole.Heaps, HeapStats: whole.HeapStats,
		CallstackStats: whole.CallstackStats, ChurnStats: whole.ChurnStats,
	}
	for _, test := range []struct {
		id   pod.Section
		want *trace.Model
	}{
		{pod.SectionStringTable, &trace.Model{}},
		{pod.SectionMetadata, &metadata},
		{pod.SectionMemory, &memory},
		{pod.SectionCallstacks, &trace.Model{Callstacks: whole.Callstacks}},
		{pod.SectionSymbols, &trace.Model{Symbols: whole.Symbols}},
	} {
		t.Run(test.id.String(), func(t *testing.T) {
			got, err := cache.ModelOf(test.id)
			require.NoError(t, err)
			assert.Equal(t, test.want, got)

			// The last byte of a section is one of its last block.
			damaged := append([]byte(nil), data...)
			e := pod.DecodeDirectory(data[pod.FileHeaderSize:])[test.id]
			damaged[e.FileOffset+e.CompressedSize-1] ^= 1
			broken, err := lazy.OpenBytes(damaged)
			require.NoError(t, err)
			defer broken.Close()
			got, err = broken.ModelOf(test.id)
			require.ErrorIs(t, err, lazy.ErrChecksum)
			assert.Nil(t, got)
			_, err = broken.ModelOf(pod.SectionCallstacks)
			if test.id != pod.SectionCallstacks {
				assert.NoError(t, err, "callstacks need no other section")
			}
		})
	}
	_, err = cache.ModelOf(pod.SectionNone)
	assert.ErrorIs(t, err, lazy.ErrNotFound)
}

// TestInfoUnsupported: what is stored is told of a section that cannot be
// decompressed.
func TestInfoUnsupported(t *testing.T) {
	cache, err := lazy.Open("../testdata/foreign/unknown.ztac")
	require.NoError(t, err)
	defer cache.Close()
	info, err := cache.Info(pod.SectionCallstacks)
	require.ErrorIs(t, err, lazy.ErrUnsupported)
	assert.EqualValues(t, 77, info.Header.Method)
	assert.EqualValues(t, 1044, info.Header.TotalRawSize)
}
