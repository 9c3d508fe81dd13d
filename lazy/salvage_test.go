package lazy_test

import (
	"bytes"
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/tracecache/lazy"
	"example.com/tracecache/pod"
	"example.com/tracecache/trace"
	"example.com/tracecache/writer"
)

// With a section goes what needs it and no more, and what is written of the rest is
// sound.
func TestSalvage(t *testing.T) {
	for _, g := range goldens(t) {
		for _, broken := range pod.Sections {
			b := bytes.Clone(g.bytes)
			off, _ := stored(b, broken)
			b[off+5] ^= 1
			m, lost, err := openBuf(t, b).Salvage(t.Context())
			require.NoError(t, err)
			for id, err := range lost {
				gone := pod.Section(id) == broken || id == int(pod.SectionSymbols) && broken == pod.SectionStringTable
				assert.Equal(t, gone, err != nil, "%s: %v broken, %v: %v", g.name, broken, pod.Section(id), err)
			}
			var out bytes.Buffer
			_, err = writer.Write(&out, m)
			require.NoError(t, err)
			saved := openBuf(t, out.Bytes())
			require.NoError(t, saved.Verify(t.Context()))
			checkSaved(t, g, saved, broken)
		}
	}
}

func checkSaved(t *testing.T, g *golden, saved *lazy.Cache, broken pod.Section) {
	for _, id := range pod.Sections {
		part, err := saved.ModelOf(id)
		require.NoError(t, err)
		switch {
		case id == broken, broken == pod.SectionStringTable && id != pod.SectionCallstacks, broken == pod.SectionMetadata && id == pod.SectionCallstacks:
		default:
			assert.Equal(t, g.parts[id], describe(part), "%s: %v broken: %v", g.name, broken, id)
		}
	}
	m, err := saved.Model()
	require.NoError(t, err)
	symbols, err := saved.Symbols()
	require.NoError(t, err)
	switch broken {
	case pod.SectionStringTable: // numbers are left, and no name at all
		assert.Empty(t, m.Symbols)
		require.Len(t, m.Modules, len(g.model.Modules))
		for i, mod := range m.Modules {
			want := g.model.Modules[i]
			want.Name, want.FullPath = "", ""
			if len(want.ImageID) == 0 {
				want.ImageID, mod.ImageID = nil, nil
			}
			assert.Equal(t, want, mod)
		}
	case pod.SectionMetadata: // exact hits only
		require.NotEmpty(t, m.Symbols)
		for _, sym := range m.Symbols {
			name, ok := symbols.Resolve(sym.Address)
			found, hit := symbols.Find(sym.Address)
			assert.Equal(t, ok, hit)
			assert.Equal(t, name, found.Name)
			if _, exact := symbols.Resolve(sym.Address + 1); !exact {
				_, hit = symbols.Find(sym.Address + 1)
				assert.False(t, hit, "a name for %#x, of which nobody knows the module", sym.Address+1)
			}
		}
		for i, stack := range m.Callstacks {
			for k, f := range stack.Frames {
				assert.Equal(t, trace.Frame{Address: g.model.Callstacks[i].Frames[k].Address, ModuleIndex: trace.NoModule}, f)
			}
		}
	case pod.SectionSymbols:
		assert.Zero(t, symbols.Len())
	}
}

// Many callstacks that share their frames are not unfolded without a bound, nor walked
// over one by one.
func TestSalvageOfSharedFrames(t *testing.T) {
	const stacks, frames = 100_000, 100_000
	headers := u32s(stacks)
	for i := range uint32(stacks) {
		headers = append(headers, u32s(i+1, frames, 0)...)
	}
	b := repack(t, "plain", pod.SectionCallstacks, append(headers, make([]byte, 16*frames)...))
	c := openBuf(t, b)
	require.NoError(t, c.Load(t.Context()))
	_, _, err := c.Salvage(t.Context())
	require.ErrorIs(t, err, lazy.ErrTooLarge)
	var e *pod.Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, pod.SectionCallstacks, e.Section)

	_, _, err = openBuf(t, b, lazy.WithMaxSection(math.MaxInt64)).Salvage(t.Context())
	assert.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err = openBuf(t, b).Salvage(ctx)
	assert.ErrorIs(t, err, context.Canceled)
}

// What fails for the moment is not lost.
func TestSalvageWithFailingReader(t *testing.T) {
	c, r := openCounting(t, "plain", nil)
	broken := error(assert.AnError)
	r.fail.Store(&broken)
	_, _, err := c.Salvage(t.Context())
	assert.ErrorIs(t, err, lazy.ErrIO)
	r.fail.Store(nil)
	_, lost, err := c.Salvage(t.Context())
	assert.NoError(t, err)
	assert.Equal(t, [pod.SectionCount]error{}, lost)
}
