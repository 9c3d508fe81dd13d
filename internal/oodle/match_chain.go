package oodle

// How many candidates of a chain are tried. In records, whose neighbours are much
// alike, more of them tempt the parser away from the distance of the records.
const (
	chainDepth        = 12
	chainDepthRecords = 8
)

// findChained looks for the best match of position i in the chain of its hash.
func (m *matcher) findChained(best *match, i, recent int) {
	m.enter(i)
	if best.n >= 4*good {
		return
	}
	if m.stride != 0 && m.stride != recent {
		m.consider(best, i, m.stride, recent)
	}
	depth := chainDepth
	if m.stride != 0 {
		depth = chainDepthRecords
	}
	c := int(m.chain[i])
	for range depth {
		d := i - c
		// All but the nearest must be longer than the best one.
		if i+best.n < m.limit && m.src[c+best.n] == m.src[i+best.n] || d < minDistance {
			m.consider(best, i, d, recent)
		}
		if c == 0 || best.n >= 4*good {
			return
		}
		c = int(m.chain[c])
	}
}

// enter puts the positions up to i into the chains.
func (m *matcher) enter(i int) {
	for ; m.done <= i; m.done++ {
		head := &m.head[hash4(load32(m.src, m.done), m.headWidth)%headSize]
		m.chain[m.done] = *head
		*head = int32(m.done)
	}
}
