package bench

import (
	"math/rand/v2"
	"slices"

	"example.com/tracecache/trace"
)

// Draws is how many addresses a stream of look-ups has.
const Draws = 1 << 20

// Queries is a stream of addresses, of hits in two orders.
type Queries struct{ Random, Sorted []uint64 }

func newQueries(draw func() uint64) []uint64 {
	addrs := make([]uint64, Draws)
	for i := range addrs {
		addrs[i] = draw()
	}
	return addrs
}

func inBothOrders(addrs []uint64) Queries {
	return Queries{addrs, slices.Sorted(slices.Values(addrs))}
}

// maxGap is the largest distance of two neighbouring entries that are taken to be
// in one module.
const maxGap = 1 << 20

// draw makes the queries. known tells what is a miss.
func (l *Lookups) draw(symbols []trace.Symbol, known *records) {
	rng := rand.New(rand.NewPCG(1, uint64(len(symbols))))
	// entry is any entry that is a function, or any that is a hole, and the
	// number of addresses up to the next one.
	entry := func(named bool) (addr, room uint64) {
		for {
			i := rng.IntN(len(symbols))
			if (symbols[i].Name != "") != named {
				continue
			}
			addr, room = symbols[i].Address, 1
			if i+1 < len(symbols) && symbols[i+1].Address-addr < maxGap {
				room = symbols[i+1].Address - addr
			}
			return addr, room
		}
	}
	l.Exact = inBothOrders(newQueries(func() uint64 {
		addr, _ := entry(true)
		return addr
	}))
	l.Floor = inBothOrders(newQueries(func() uint64 {
		addr, room := entry(true)
		return addr + rng.Uint64N(room)
	}))
	l.Miss = newQueries(func() uint64 {
		for {
			addr, _ := entry(true)
			addr += 1 + rng.Uint64N(15)
			if _, hit := known.resolve(addr); !hit {
				return addr
			}
		}
	})
	l.Outside = newQueries(func() uint64 {
		for {
			pc := rng.Uint64()
			if rng.IntN(2) == 0 {
				addr, room := entry(false)
				pc = addr + rng.Uint64N(room)
			}
			if _, hit := known.find(pc); !hit {
				return pc
			}
		}
	})
}
