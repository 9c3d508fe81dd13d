package lazy_test

import (
	"fmt"
	"time"

	"example.com/tracecache/trace"
)

// The files of the soak. What each holds follows from its number and generation by
// arithmetic, and its header says both, so that every answer can be checked against
// the file it came from.
const (
	soakFiles   = 4
	soakSymbols = 3000
	soakStacks  = 40
	soakFrames  = 5
	soakStep    = 64 // bytes from one function to the next
	soakBudget  = 400 << 10
)

type soakFile struct{ number, generation uint64 }

func (f soakFile) String() string {
	return fmt.Sprintf("file %d of generation %d", f.number, f.generation)
}

func (f soakFile) base() uint64         { return 0x10000*(f.generation%977+1) + f.number<<40 }
func (f soakFile) address(i int) uint64 { return f.base() + uint64(i)*soakStep }
func (f soakFile) name(i int) string {
	return fmt.Sprintf("f%d::g%d::function_%d", f.number, f.generation, i)
}
func (f soakFile) module() string         { return fmt.Sprintf("f%d.g%d.so", f.number, f.generation) }
func (f soakFile) frame(stack, k int) int { return (stack*7 + k*11) % soakSymbols }
func (f soakFile) liveBytes(s int) uint64 { return f.generation*1000 + uint64(s) }
func (f soakFile) source() (int64, time.Time) {
	return int64(f.number), time.Unix(0, int64(f.generation))
}

func (f soakFile) model() *trace.Model {
	m := &trace.Model{
		TotalEvents: f.generation,
		Session:     trace.Session{BuildVersion: f.String(), HasSession: true},
		Modules:     []trace.Module{{Name: f.module(), Base: f.base(), Size: soakSymbols * soakStep}},
		Heaps:       []trace.Heap{{ID: 1, Name: f.String()}},
	}
	for i := range soakSymbols {
		m.Symbols = append(m.Symbols, trace.Symbol{Address: f.address(i), Name: f.name(i)})
	}
	for s := range soakStacks {
		stack := trace.Callstack{ID: uint32(s + 1)}
		for k := range soakFrames {
			addr := f.address(f.frame(s, k))
			stack.Frames = append(stack.Frames, trace.Frame{Address: addr, Offset: addr - f.base()})
		}
		m.Callstacks = append(m.Callstacks, stack)
		m.CallstackStats = append(m.CallstackStats, trace.CallstackStat{CallstackID: stack.ID, LiveCount: 1, LiveBytes: f.liveBytes(s)})
	}
	return m
}
