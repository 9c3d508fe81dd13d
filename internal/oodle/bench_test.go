package oodle_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pierrec/lz4/v4"
	"github.com/stretchr/testify/require"

	"example.com/tracecache/internal/oodle"
)

// BenchmarkDecode decodes vectors of 64 KiB and more, and in turn with them the
// same bytes as LZ4 compresses them: those with all arrays raw, which is what Selkie
// writes, and those with Huffman codes. An operation is every vector once. With one
// vector over and over, the processor would know LZ4's branches by heart.
//
// Speeds are of medians, so that what else the machine does for a moment does not
// count. The ratio of both is the figure that other machines have as well.
func BenchmarkDecode(b *testing.B) {
	var vectors []vector
	for _, dir := range []string{filepath.Join(sharedVectors, "oodle-genuine"), filepath.Join(sharedVectors, "oodle"), "testdata"} {
		if len(vectors) == 0 || dir != "testdata" {
			vectors = append(vectors, readVectors(b, dir)...)
		}
	}
	var raw, coded []timed
	for _, v := range vectors {
		packed := make([]byte, lz4.CompressBlockBound(len(v.raw)))
		var c lz4.Compressor
		n, err := c.CompressBlock(v.raw, packed)
		require.NoError(b, err)
		// Where one of them is little but a copy, there is nothing to compare.
		if len(v.raw) < 64<<10 || n > len(v.raw)*4/5 || len(v.block) > len(v.raw)*4/5 || len(v.block) < len(v.raw)/50 {
			continue
		}
		t := timed{vector: v, packed: packed[:n]}
		if strings.Contains(v.features, "huff-") {
			coded = append(coded, t)
		} else {
			raw = append(raw, t)
		}
	}
	b.Run("raw", func(b *testing.B) { benchmarkDecode(b, raw) })
	b.Run("huffman", func(b *testing.B) { benchmarkDecode(b, coded) })
}

// timed is a vector, what LZ4 makes of its bytes, and how long either took.
type timed struct {
	vector
	packed       []byte
	ours, theirs []time.Duration
}

func benchmarkDecode(b *testing.B, vectors []timed) {
	var d oodle.Decoder
	buf := make([]byte, oodle.MaxBlock)
	for b.Loop() {
		for i := range vectors {
			v := &vectors[i]
			start := time.Now()
			require.NoError(b, d.Decode(buf[:len(v.raw)], v.block))
			v.ours = append(v.ours, time.Since(start))
		}
		for i := range vectors {
			v := &vectors[i]
			start := time.Now()
			_, err := lz4.UncompressBlock(v.packed, buf[:len(v.raw)])
			v.theirs = append(v.theirs, time.Since(start))
			require.NoError(b, err)
		}
	}
	var size int
	var ours, theirs time.Duration
	for _, v := range vectors {
		size += len(v.raw)
		our, their := median(v.ours), median(v.theirs)
		ours, theirs = ours+our, theirs+their
		b.Logf("%-34s %6.0f MB/s  %5.2f of LZ4", v.name, float64(len(v.raw))/our.Seconds()/1e6, their.Seconds()/our.Seconds())
	}
	b.ReportMetric(0, "ns/op") // Both together are of no interest.
	b.ReportMetric(float64(size)/ours.Seconds()/1e6, "MB/s")
	b.ReportMetric(float64(size)/theirs.Seconds()/1e6, "lz4-MB/s")
	b.ReportMetric(theirs.Seconds()/ours.Seconds(), "x-lz4")
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}
