package lazy_test

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/tracecache/lazy"
	"example.com/tracecache/pod"
)

// FuzzFile reads any bytes. Whatever they are: an error is of a documented kind and
// comes with nothing else, what has no error can be read, and memory stays within the
// limit.
func FuzzFile(f *testing.F) {
	for _, name := range foreignNames(f) {
		f.Add(readForeign(f, name))
	}
	for _, g := range goldens(f) {
		f.Add(g.bytes)
	}
	f.Fuzz(readAll)
}

// FuzzDamage writes bytes over a sound file of each codec, with and without checksum
// tables, and makes the checksums of the section right that they are in, or not: what
// FuzzFile seldom gets past.
func FuzzDamage(f *testing.F) {
	all := goldens(f)
	for which, g := range all {
		for _, id := range pod.Sections {
			off, _ := stored(g.bytes, id)
			f.Add(uint8(which), uint16(off+12), []byte{0, 0, 0, 2}, true)
			f.Add(uint8(which), uint16(off+64), []byte{1, 0, 0, 0}, true)
			f.Add(uint8(which), uint16(off+68), []byte{0xff}, false)
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, at uint16, with []byte, right bool) {
		g := all[int(which)%len(all)]
		b := bytes.Clone(g.bytes)
		off := int(at) % len(b)
		copy(b[off:], with)
		if id, _ := g.place(off); right && id != pod.SectionNone {
			makeRight(b, g.bytes, id)
		}
		readAll(t, b)
	})
}

// readAll opens a file and, where that works, reads it to its end by every accessor,
// twice, and once cold.
func readAll(t *testing.T, b []byte) {
	c, err := lazy.OpenBytes(b, lazy.WithMaxSection(1<<22))
	if err != nil {
		require.Nil(t, c)
		require.True(t, documented(err), "%v", err)
		return
	}
	defer c.Close()
	lookUp(t, b, c)
	for range 2 {
		for id, get := range accessors {
			err := get(c)
			require.True(t, err == nil || documented(err), "%v: %v", id, err)
			_, err = c.Info(id)
			require.True(t, err == nil || documented(err), "%v: %v", id, err)
		}
		readStrings(c)
		readSymbols(t, c)
		readCallstacks(c)
		c.Release()
		require.Zero(t, c.Stats().Resident)
	}
	if m, err := c.Model(); err != nil {
		require.Nil(t, m)
		require.True(t, documented(err), "%v", err)
	}
	if err := c.Verify(t.Context()); err != nil {
		require.True(t, documented(err), "%v", err)
	}
	m, lost, err := c.Salvage(t.Context())
	for id, err := range lost {
		require.True(t, err == nil || documented(err), "%v: %v", pod.Section(id), err)
	}
	require.Equal(t, err == nil, m != nil)
	require.True(t, err == nil || errors.Is(err, lazy.ErrTooLarge), "%v", err)
}

// lookUp asks a cold cache for addresses that are in its file, and others.
func lookUp(t *testing.T, b []byte, c *lazy.Cache) {
	addrs := []uint64{0, 0x401041, 1 << 63, math.MaxUint64}
	if other, err := lazy.OpenBytes(b, lazy.WithMaxSection(1<<22)); err == nil {
		if s, err := other.Symbols(); err == nil && s.Len() > 0 {
			first, _ := s.At(0)
			middle, _ := s.At(s.Len() / 2)
			last, _ := s.At(s.Len() - 1)
			addrs = append(addrs, first, middle, last-1, last)
		}
	}
	for _, addr := range addrs {
		sym, err := c.Lookup(addr)
		if err == nil {
			require.NotEmpty(t, sym.Name)
			require.Equal(t, addr, sym.Address+sym.Offset)
		} else {
			require.Zero(t, sym)
			require.True(t, errors.Is(err, lazy.ErrNotFound) || documented(err), "%v", err)
		}
		name, err := c.LookupExact(addr)
		require.Equal(t, err == nil, name != "")
		require.True(t, err == nil || errors.Is(err, lazy.ErrNotFound) || documented(err), "%v", err)
	}
}

func readStrings(c *lazy.Cache) {
	s, err := c.Strings()
	if err != nil {
		return
	}
	for i := -1; i <= s.Len(); i++ {
		_ = s.At(i)
	}
}

func readSymbols(t *testing.T, c *lazy.Cache) {
	s, err := c.Symbols()
	if err != nil {
		return
	}
	for addr, name := range s.All() {
		got, ok := s.Resolve(addr)
		require.Equal(t, got != "", ok)
		if name != "" {
			require.True(t, ok)
		}
		for _, pc := range []uint64{addr - 1, addr, addr + 1} {
			sym, ok := s.Find(pc)
			require.Equal(t, ok, s.Explain(pc) == lazy.Found)
			if ok {
				require.Equal(t, pc, sym.Address+sym.Offset)
				require.NotEmpty(t, sym.Name)
			}
		}
		for alias := range s.Aliases(addr) {
			assert.Equal(t, got, alias)
			break
		}
	}
}

func readCallstacks(c *lazy.Cache) {
	s, err := c.Callstacks()
	if err != nil {
		return
	}
	frames := 0
	for stack := range s.All() {
		frames += len(stack.Frames)
		_, _ = s.ByID(stack.ID)
		if frames > 1<<16 {
			break // callstacks may share frames
		}
	}
}
