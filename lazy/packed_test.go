package lazy

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/tracecache/pod"
)

// packedByScan walks from string to string by their NULs.
func packedByScan(s *Strings) bool {
	at := 0
	for _, off := range s.offsets {
		n := bytes.IndexByte(s.packed[at:], 0)
		if int(off) != at || n < 0 {
			return false
		}
		at += n + 1
	}
	return at == len(s.packed)
}

// table packs names; count is how many.
func table(rng *rand.Rand, count int) *Strings {
	s := &Strings{}
	for i := range count {
		s.offsets = append(s.offsets, pod.StringOffset(len(s.packed)))
		if rng.IntN(4) > 0 { // else it is empty
			s.packed = fmt.Appendf(s.packed, "%d", i)
		}
		s.packed = append(s.packed, 0)
	}
	return s
}

// spoils are ways to make a table other than packed, most of the time.
var spoils = map[string]func(rng *rand.Rand, s *Strings){
	"nothing": func(*rand.Rand, *Strings) {},
	"a NUL more": func(rng *rand.Rand, s *Strings) {
		s.packed[rng.IntN(len(s.packed))] = 0
	},
	"a NUL less": func(rng *rand.Rand, s *Strings) {
		i := rng.IntN(len(s.packed))
		s.packed[i+bytes.IndexByte(s.packed[i:], 0)] = 'x'
	},
	"a NUL moved": func(rng *rand.Rand, s *Strings) {
		i := rng.IntN(len(s.packed))
		end := i + bytes.IndexByte(s.packed[i:], 0)
		s.packed[i], s.packed[end] = 0, 'x'
	},
	"two offsets swapped": func(rng *rand.Rand, s *Strings) {
		i, j := rng.IntN(len(s.offsets)), rng.IntN(len(s.offsets))
		s.offsets[i], s.offsets[j] = s.offsets[j], s.offsets[i]
	},
	"an offset moved": func(rng *rand.Rand, s *Strings) {
		s.offsets[rng.IntN(len(s.offsets))] += pod.StringOffset(rng.IntN(5) - 2)
	},
	"an offset anywhere": func(rng *rand.Rand, s *Strings) {
		s.offsets[rng.IntN(len(s.offsets))] = pod.StringOffset(rng.Uint32())
	},
	"a string less": func(rng *rand.Rand, s *Strings) {
		i := rng.IntN(len(s.offsets))
		s.offsets = slices.Delete(s.offsets, i, i+1)
	},
	"a byte behind": func(rng *rand.Rand, s *Strings) {
		s.packed = append(s.packed, byte(rng.IntN(2)))
	},
	"a string twice": func(rng *rand.Rand, s *Strings) {
		i := rng.IntN(len(s.offsets))
		s.offsets = slices.Insert(s.offsets, i, s.offsets[i])
	},
}

// A table counts as packed where a walk from NUL to NUL says so.
func TestPacked(t *testing.T) {
	check := func(s *Strings, what string) bool {
		want := packedByScan(s)
		got := bytes.Count(s.packed, []byte{0}) == len(s.offsets) && s.isPacked()
		require.Equal(t, want, got, "%s: offsets %d, packed %q", what, s.offsets[:min(len(s.offsets), 10)], s.packed[:min(len(s.packed), 30)])
		return want
	}
	assert.True(t, check(&Strings{}, "empty"))
	assert.False(t, check(&Strings{packed: []byte{0}}, "no strings, a NUL"))
	assert.False(t, check(&Strings{packed: []byte("x")}, "no strings, a byte"))
	assert.False(t, check(&Strings{offsets: []pod.StringOffset{0}}, "no bytes"))
	rng := rand.New(rand.NewPCG(1, 9))
	for what, spoil := range spoils {
		packed := 0
		for range 1000 {
			s := table(rng, 1+rng.IntN(6))
			spoil(rng, s)
			if check(s, what) {
				packed++
			}
		}
		assert.Equal(t, what == "nothing", packed == 1000, what)
		s := table(rng, 80_000) // on several goroutines
		spoil(rng, s)
		check(s, what)
	}
}

// The NULs of the string table are counted right from anywhere on.
func TestNULsOfBlocks(t *testing.T) {
	for _, name := range []string{"blocks", "none", "plain"} {
		b, err := os.ReadFile("../testdata/foreign/" + name + ".ztac")
		require.NoError(t, err)
		c, err := OpenBytes(b)
		require.NoError(t, err)
		_, err = c.Strings()
		require.NoError(t, err)
		s := c.sections[pod.SectionStringTable].state.Load()
		for off := range len(s.raw) + 1 {
			if want := bytes.Count(s.raw[off:], []byte{0}); want != s.nulsFrom(off) {
				require.Equal(t, want, s.nulsFrom(off), "%s, from %d", name, off)
			}
		}
	}
}
