package gen

import (
	"fmt"
	"hash/crc64"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/tracecache/trace"
)

func configs() map[string]Config {
	return map[string]Config{
		"zero":            {},
		"one":             {Seed: 1, Symbols: 1, Callstacks: 1},
		"a hole":          {Seed: 1, Symbols: 2, Holes: 1, Callstacks: 3},
		"fewer than mods": {Seed: 2, Symbols: 39, Holes: 7},
		"clustered":       {Seed: 3, Symbols: 5000, Holes: 1250, Callstacks: 200},
		"all with holes":  {Seed: 4, Symbols: 5000, Holes: 2500, Callstacks: 10},
		"uniform":         {Seed: 5, Symbols: 5000, Holes: 1250, Spread: Uniform, Callstacks: 200},
		"uniform, full":   {Seed: 6, Symbols: 4001, Holes: 2000, Spread: Uniform},
	}
}

func each(t *testing.T, check func(t *testing.T, c Config, m *trace.Model)) {
	for name, c := range configs() {
		t.Run(name, func(t *testing.T) { check(t, c, Model(c)) })
	}
}

func TestCounts(t *testing.T) {
	each(t, func(t *testing.T, c Config, m *trace.Model) {
		assert.Len(t, m.Modules, Modules)
		assert.Len(t, m.Symbols, c.Symbols)
		assert.Len(t, m.Callstacks, c.Callstacks)
		assert.Len(t, m.CallstackStats, c.Callstacks)
		holes := 0
		perModule := make([]int, Modules)
		for _, s := range m.Symbols {
			if s.Name == "" {
				holes++
			}
			perModule[moduleOf(t, m, s.Address)]++
		}
		assert.Equal(t, c.Holes, holes)
		for i, n := range perModule {
			assert.InDelta(t, float64(c.Symbols)/Modules, n, 2, "module %d", i)
		}
		for _, n := range []int{len(m.Threads), len(m.Channels), len(m.EventTypeCounts), len(m.ScopeStats), len(m.Heaps), len(m.HeapStats)} {
			assert.Greater(t, n, 10)
		}
	})
}

// moduleOf is the one module that addr is in.
func moduleOf(t *testing.T, m *trace.Model, addr uint64) int {
	t.Helper()
	in := -1
	for i, mod := range m.Modules {
		if addr >= mod.Base && addr-mod.Base < mod.Size {
			require.Equal(t, -1, in, "%#x is in two modules", addr)
			in = i
		}
	}
	require.NotEqual(t, -1, in, "%#x is in no module", addr)
	return in
}

func TestAscending(t *testing.T) {
	each(t, func(t *testing.T, c Config, m *trace.Model) {
		for i := 1; i < len(m.Symbols); i++ {
			require.Less(t, m.Symbols[i-1].Address, m.Symbols[i].Address, "symbol %d", i)
		}
		for i, mod := range m.Modules {
			require.Zero(t, mod.Base%pageSize)
			require.LessOrEqual(t, mod.Size, ^mod.Base, "module %d ends in the address space", i)
			require.True(t, i == 0 || m.Modules[i-1].Base+m.Modules[i-1].Size < mod.Base, "module %d lies apart", i)
			require.InDelta(t, float64(i)+0.5, float64(mod.Base)/(1<<64/Modules), 0.501, "module %d is in its part of the address space", i)
		}
	})
}

// A hole ends the function in front of it, in the same module.
func TestHoles(t *testing.T) {
	each(t, func(t *testing.T, c Config, m *trace.Model) {
		for i, s := range m.Symbols {
			if s.Name != "" {
				assert.Zero(t, s.Address%align, "symbol %d", i)
				continue
			}
			require.NotZero(t, i)
			assert.NotEmpty(t, m.Symbols[i-1].Name, "hole %d", i)
			assert.Equal(t, moduleOf(t, m, m.Symbols[i-1].Address), moduleOf(t, m, s.Address), "hole %d", i)
		}
	})
}

func TestNames(t *testing.T) {
	each(t, func(t *testing.T, c Config, m *trace.Model) {
		seen := map[string]bool{}
		total, shared, kinds := 0, 0, map[string]int{}
		last := ""
		for _, s := range m.Symbols {
			if s.Name == "" {
				continue
			}
			require.False(t, seen[s.Name], s.Name)
			seen[s.Name] = true
			require.GreaterOrEqual(t, len(s.Name), MinName, s.Name)
			require.LessOrEqual(t, len(s.Name), MaxName, s.Name)
			require.NotContains(t, s.Name, "\x00")
			kinds[s.Name[:7]]++
			total += len(s.Name)
			shared += commonPrefix(last, s.Name)
			last = s.Name
		}
		if c.Symbols < 1000 {
			return
		}
		n := len(seen)
		assert.Greater(t, total/n, 50)
		assert.Less(t, total/n, 100)
		assert.Greater(t, shared/n, 30, "neighbours have long prefixes in common")
		assert.Len(t, kinds, 2)
		assert.InDelta(t, kinds["engine:"], kinds["example"], 100)
	})
}

func commonPrefix(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

func TestCallstacks(t *testing.T) {
	each(t, func(t *testing.T, c Config, m *trace.Model) {
		outside := 0
		for i, stack := range m.Callstacks {
			require.Equal(t, uint32(i+1), stack.ID)
			require.Len(t, stack.Frames, Frames)
			for _, f := range stack.Frames {
				if f.ModuleIndex == trace.NoModule {
					outside++
					require.Zero(t, f.Offset)
					continue
				}
				require.Equal(t, moduleOf(t, m, f.Address), int(f.ModuleIndex))
				require.Equal(t, f.Address-m.Modules[f.ModuleIndex].Base, f.Offset)
				require.Equal(t, f.Offset, uint64(uint32(f.Offset)), "a cache keeps 32 bits")
				require.True(t, inFunction(m, f.Address), "%#x", f.Address)
			}
			ids := m.CallstackStats[i].ThreadIDs
			require.NotEmpty(t, ids)
			require.LessOrEqual(t, len(ids), 4)
		}
		if c.Callstacks >= 200 {
			assert.NotZero(t, outside)
			assert.Less(t, outside, c.Callstacks*Frames/5)
		}
	})
}

// inFunction is a linear scan for the last symbol at or before addr.
func inFunction(m *trace.Model, addr uint64) bool {
	name := ""
	for _, s := range m.Symbols {
		if s.Address > addr {
			break
		}
		name = s.Name
	}
	return name != ""
}

// The data are the same wherever and whenever they are made. A change here makes
// measurements from before it worthless for comparison.
func TestSameEverywhere(t *testing.T) {
	for name, want := range map[string]uint64{
		"zero":            0x0dd9f40c9ce4c57b,
		"one":             0x5bf8dd3831e1269f,
		"a hole":          0x2d5a49656ece9a1f,
		"fewer than mods": 0xc62b662e815739d9,
		"clustered":       0x860343fd93d7f2a3,
		"all with holes":  0x70b2510a437fb7c7,
		"uniform":         0x8c5b3eda14380418,
		"uniform, full":   0xd3c437658c355c34,
	} {
		assert.Equal(t, fmt.Sprintf("%#016x", want), fmt.Sprintf("%#016x", checksum(Model(configs()[name]))), name)
	}
}

func checksum(m *trace.Model) uint64 {
	return crc64.Checksum(fmt.Appendf(nil, "%+v", m), crc64.MakeTable(crc64.ECMA))
}

// Another seed makes other data; more of one part leaves the others as they are.
func TestSeedAndStreams(t *testing.T) {
	c := configs()["clustered"]
	m := Model(c)
	require.Equal(t, m, Model(c))

	other := c
	other.Seed++
	o := Model(other)
	assert.NotEqual(t, m.Modules, o.Modules)
	assert.NotEqual(t, m.Symbols, o.Symbols)
	assert.NotEqual(t, m.Callstacks, o.Callstacks)
	assert.NotEqual(t, m.ScopeStats, o.ScopeStats)
	assert.NotEqual(t, m.HeapStats, o.HeapStats)

	more := c
	more.Callstacks *= 2
	o = Model(more)
	assert.Equal(t, m.Symbols, o.Symbols)
	assert.Equal(t, m.Callstacks, o.Callstacks[:c.Callstacks])
	assert.Equal(t, m.ScopeStats, o.ScopeStats)
	assert.Equal(t, m.HeapStats, o.HeapStats)
}

func TestPanics(t *testing.T) {
	for _, c := range []Config{
		{Symbols: -1},
		{Symbols: 10, Holes: -1},
		{Symbols: 10, Holes: 6},
		{Symbols: 10, Callstacks: -1},
		{Callstacks: 1},
		{Symbols: 10, Spread: 2},
		{Symbols: MaxUniform + 1, Spread: Uniform},
	} {
		assert.Panics(t, func() { Model(c) }, "%+v", c)
	}
}

func ExampleModel() {
	m := Model(Config{Seed: 1, Symbols: 800})
	for _, i := range []int{0, 1, 20, 21} {
		fmt.Println(m.Modules[i/20].Name, m.Symbols[i].Name)
	}
	// Output:
	// liballoc_asset.so engine::alloc::ClusterDecal<terrain::Task>::insertPass1(input::Scene const&, physics::Probe const&, mesh::Path const&)
	// liballoc_asset.so engine::alloc::ClusterDecal<terrain::Task>::writeCore2(texture::Shadow const&, device::Object const&, sampler::Morph const&)
	// libanim_chunk.so example.com/engine/anim/solver.(*GridAsset).LockDraw21.func9
	// libanim_chunk.so example.com/engine/anim/solver.(*GridAsset).ReleaseTexture22.func1
}
