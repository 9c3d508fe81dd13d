package oodle

import "example.com/tracecache/pod"

const (
	// lazyGain is how many bits a match one byte on must save beyond what this
	// one does.
	lazyGain = 2

	// lazyMax and lazyMaxRecords are from which length on a match is taken
	// without a look at the next byte. In records most matches that start later
	// are at another distance, to be paid for twice.
	lazyMax        = 64
	lazyMaxRecords = 8
)

// greedy parses the sub-chunk that t stands at the start of, taking the match
// that saves most at each position in turn, or, but for SuperFast, that of the
// next position where that saves more.
func (m *matcher) greedy(t *chunkTables, end int) {
	m.startSubChunk(t, end)
	lazy, shift := lazyMax, 6
	switch {
	case m.level == pod.LevelSuperFast:
		lazy, shift = 0, 5
	case m.stride != 0:
		lazy = lazyMaxRecords
	}
	for i := t.next; i+minSearch <= m.limit; {
		b := m.find(i, t.recent)
		if b.gain <= 0 {
			// The longer there is nothing, the wider the steps.
			i += 1 + (i-t.next)>>shift
			continue
		}
		for b.n < lazy && i+1+minSearch <= m.limit {
			next := m.find(i+1, t.recent)
			if next.gain <= b.gain+lazyGain {
				break
			}
			i++
			b = next
		}
		for i > t.next && i > b.distance && m.src[i-1] == m.src[i-1-b.distance] {
			i--
			b.n++
		}
		t.match(i, b.n, b.distance)
		m.skip(i, i+b.n)
		i += b.n
	}
}
