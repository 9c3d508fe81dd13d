// Package gen makes data that look like those of a large program, for benchmarks
// and property tests: symbols of [Modules] modules with names as C++ and Go give
// them, and a whole model around them.
//
// What it makes depends on the [Config] alone and is the same on every machine:
// the generator is PCG and all arithmetic is in integers. A test holds checksums
// of it, so measurements of different days are of the same data.
package gen

import (
	"fmt"
	"math/rand/v2"

	"example.com/tracecache/trace"
)

const (
	// Modules is the number of modules of every model. They are disjoint and
	// lie all over the 64-bit address space, in ascending order.
	Modules = 40

	// Frames is the number of frames of every callstack.
	Frames = 20

	// MinName and MaxName bound the length of a symbol's name in bytes.
	MinName, MaxName = 20, 160
)

// Spread says how functions lie in their module.
type Spread uint8

// The spreads.
const (
	Clustered Spread = 0 // back to back, as a linker lays them
	Uniform   Spread = 1 // anywhere in 1 GiB, independently of one another
)

// MaxUniform is the largest number of symbols that are spread uniformly.
const MaxUniform = Modules * uniformSlots / 4

// Config says what to make. The zero Config makes a model with no symbols and no
// callstacks.
type Config struct {
	Seed       uint64
	Symbols    int // holes included, as near as can be the same number in each module
	Holes      int // of the symbols, half at most: functions end there before the next one starts
	Spread     Spread
	Callstacks int
}

// check panics where c cannot be made, which is a bug of the caller.
func (c Config) check() {
	switch {
	case c.Symbols < 0, c.Holes < 0, c.Callstacks < 0, c.Holes > c.Symbols/2:
		panic(fmt.Sprintf("gen: no such data: %+v", c))
	case c.Spread > Uniform, c.Spread == Uniform && c.Symbols > MaxUniform:
		panic(fmt.Sprintf("gen: no such spread: %+v", c))
	case c.Callstacks > 0 && c.Symbols == 0:
		panic(fmt.Sprintf("gen: callstacks need symbols: %+v", c))
	}
}

// Streams of random numbers: each part of a model has its own, so that more of
// one part leaves the others as they are.
const (
	streamModules    = 1
	streamAddresses  = 2
	streamHoles      = 3
	streamNames      = 4
	streamCallstacks = 5
	streamMetadata   = 6
	streamMemory     = 7
)

func (c Config) rand(stream uint64) *rand.Rand { return rand.New(rand.NewPCG(c.Seed, stream)) }

// Model makes a whole model: modules, symbols in ascending order at distinct
// addresses, callstacks with statistics, and the short lists of a trace. Every
// name of a symbol is unique. It panics where c asks for what it cannot make: more
// holes than half the symbols, or callstacks without symbols. It takes about
// 0.5 µs and 100 bytes for each symbol.
func Model(c Config) *trace.Model {
	c.check()
	m := &trace.Model{}
	c.addSymbols(m)
	c.addCallstacks(m)
	c.addMetadata(m)
	c.addMemory(m)
	return m
}
