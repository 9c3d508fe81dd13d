package lazy_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/tracecache/internal/gen"
	"example.com/tracecache/lazy"
	"example.com/tracecache/pod"
	"example.com/tracecache/trace"
	"example.com/tracecache/writer"
)

// One flipped byte, anywhere in the blocks: who touches the block gets the error
// of its section, who does not gets the answer. Damage in Metadata leaves exact
// hits.
func TestLookupInDamagedFile(t *testing.T) {
	m := gen.Model(gen.Config{Seed: 5, Symbols: 600, Holes: 100})
	good := written(t, m, writer.WithBlockSize(1<<10))
	l := linear{symbols: m.Symbols, modules: m.Modules}
	rng := rand.New(rand.NewPCG(1, 13))
	seen := map[string]int{}
	for _, id := range []pod.Section{pod.SectionStringTable, pod.SectionMetadata, pod.SectionSymbols} {
		off, size := stored(good, id)
		info, err := openBytes(t, good).Info(id)
		require.NoError(t, err)
		head := 64 + 4*info.Blocks
		for range 300 {
			b := bytes.Clone(good)
			b[off+head+rng.IntN(size-head)] ^= byte(1 + rng.IntN(255))
			addr := m.Symbols[rng.IntN(len(m.Symbols))].Address + rng.Uint64N(2)
			want, reason := l.find(addr)
			c := openBytes(t, b)
			got, err := c.Lookup(addr)
			var place *pod.Error
			switch {
			case errors.As(err, &place):
				require.ErrorIs(t, err, lazy.ErrChecksum)
				require.Equal(t, id, place.Section)
				require.NotEqual(t, pod.SectionMetadata, id)
				_, again := c.Lookup(addr)
				require.Equal(t, err, again, "damage is final")
				seen[id.String()+" error"]++
			case c.BoundsErr() != nil:
				require.Equal(t, pod.SectionMetadata, id)
				require.ErrorIs(t, c.BoundsErr(), lazy.ErrChecksum)
				if reason == lazy.Found && want.Offset == 0 {
					want.Module = ""
				} else if want = (lazy.Symbol{}); reason == lazy.Found {
					reason = lazy.UnknownModules
				} else {
					reason = lazy.InHole // symbols are back to back, so a miss is a hole
				}
				checkAnswer(t, addr, want, reason, got, err)
				seen[id.String()+" bounds"]++
			default:
				checkAnswer(t, addr, want, reason, got, err)
				seen[id.String()+" answer"]++
			}
			_, err = c.Symbols()
			require.Equal(t, id != pod.SectionMetadata, err != nil, "a load sees it")
		}
	}
	for _, kind := range []string{"strings error", "strings answer", "symbols error", "symbols answer", "metadata bounds", "metadata answer"} {
		assert.Greater(t, seen[kind], 10, kind)
	}
}

// Addresses that do not ascend are seen within a block and from one probe to the
// next, and then all of the section answers.
func TestLookupInUnorderedBlocks(t *testing.T) {
	const perPiece = 256 << 10 / 16
	for name, spoil := range map[string]func([]trace.Symbol){
		"in a block":     func(s []trace.Symbol) { s[perPiece+5], s[perPiece+6] = s[perPiece+6], s[perPiece+5] },
		"between blocks": func(s []trace.Symbol) { slices.Reverse(s); sortPieces(s, perPiece) },
		"first block":    func(s []trace.Symbol) { s[0].Address = ^uint64(0) },
	} {
		t.Run(name, func(t *testing.T) {
			var l linear
			for i := range uint64(3 * perPiece) {
				l.symbols = append(l.symbols, trace.Symbol{Address: 100 * i, Name: fmt.Sprint("f", i/1000)})
			}
			spoil(l.symbols)
			b := l.file()
			for _, i := range []int{0, 5, perPiece, perPiece + 5, perPiece + 6, perPiece + 7, 2*perPiece - 1, 3*perPiece - 1} {
				for d := range uint64(2) {
					l.checkCold(t, openBytes(t, b), l.symbols[i].Address+d)
				}
			}
		})
	}
}

func sortPieces(s []trace.Symbol, n int) {
	for piece := range slices.Chunk(s, n) {
		slices.Reverse(piece)
	}
}

// Counts that are larger than the section are damage, found before anything is
// read by them.
func TestLookupLyingCounts(t *testing.T) {
	good := linear{symbols: []trace.Symbol{{Address: 16, Name: "f"}}, modules: []trace.Module{{Name: "m", Size: 100}}}.file()
	for id, at := range map[pod.Section]int{pod.SectionStringTable: 0, pod.SectionSymbols: 0, pod.SectionMetadata: 72} {
		b := bytes.Clone(good)
		off, _ := stored(b, id)
		b[off+64+at+3] = 0xff
		c := openBytes(t, b)
		_, err := c.Lookup(17)
		if id == pod.SectionMetadata {
			assert.Equal(t, &lazy.NotFoundError{Address: 17, Reason: lazy.UnknownModules}, err)
			err = c.BoundsErr()
		}
		var e *pod.Error
		require.ErrorAs(t, err, &e)
		assert.ErrorIs(t, err, lazy.ErrCorrupt)
		assert.Equal(t, id, e.Section)
		_, want := c.Symbols()
		if id != pod.SectionMetadata {
			assert.Equal(t, want, err, "the same as a load says")
		}
	}
}
