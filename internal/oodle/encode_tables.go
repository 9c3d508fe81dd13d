package oodle

import (
	"encoding/binary"
	"slices"
)

const (
	maxCommandLiterals = 7
	maxCommandMatch    = 15
	farBias            = 5 // the command of a short far match is its length less this

	minNear = 3 // the shortest match at a near distance that is not the last one
	maxNear = 1<<16 - 1

	splitNear = 0xFFFF // count of near distances that are stored in two arrays
	farEscape = 4095   // count of far distances that stands behind

	splitCommandsSize = 2
	nearCountSize     = 2
	farCountsSize     = 3
	farEscapeSize     = 2 // for each of the counts that stands behind
	farSize           = 3
)

// chunkTables is a chunk as literals, commands, distances and lengths.
type chunkTables struct {
	src      []byte // the block up to the end of the chunk
	pos, end int    // the chunk
	mermaid  bool
	differ   bool // deltas are made

	base   int // the sub-chunk at work
	half   int // its number, 0 or 1
	next   int // the first byte that no command covers yet
	recent int // the last distance

	lits   []byte
	deltas []byte // lits, each less the byte one distance before
	cmds   []byte
	split  int // commands of the first sub-chunk
	high   []byte
	low    []byte // bytes of the near distances
	far    [2][]uint32
	lens   []byte

	useDeltas                  bool
	litPlan, deltaPlan         arrayPlan
	cmdPlan, highPlan, lowPlan arrayPlan
	splitNear                  bool
	size                       int // without the chunk's header
}

// reset starts the chunk src[pos:end]. A match of it has at least one byte, and
// one with a distance three, so no table outgrows what is made here.
func (t *chunkTables) reset(src []byte, pos, end int, mermaid, differ bool) {
	n := end - pos
	t.src, t.pos, t.end, t.mermaid, t.differ = src[:end], pos, end, mermaid, differ
	t.next, t.recent = pos, firstDistance
	if pos == 0 {
		t.next = seedSize
	}
	t.lits = slices.Grow(t.lits[:0], n)
	t.deltas = t.deltas[:0]
	if differ {
		t.deltas = slices.Grow(t.deltas, n)
	}
	t.cmds = slices.Grow(t.cmds[:0], n)
	t.high = slices.Grow(t.high[:0], n/minNear)
	t.low = slices.Grow(t.low[:0], n/minNear)
	for i := range t.far {
		t.far[i] = slices.Grow(t.far[i][:0], min(n, halfSize)/minFar)
	}
	t.lens = slices.Grow(t.lens[:0], n/minLongFar*3)
}

// startSubChunk begins the sub-chunk at base. The bytes before it that no match
// has covered need no command.
func (t *chunkTables) startSubChunk(base int) {
	t.literals(base)
	t.base, t.half = base, (base-t.pos)/halfSize
	t.split = len(t.cmds)
}

// literals takes the bytes up to end as literals, without a command.
func (t *chunkTables) literals(end int) {
	if end <= t.next {
		return
	}
	run := t.src[t.next:end]
	t.lits = append(t.lits, run...)
	if t.differ {
		before := t.src[t.next-t.recent:][:len(run)]
		for i, v := range run {
			t.deltas = append(t.deltas, v-before[i])
		}
	}
	t.next = end
}

// match adds the literals up to at, and a match there of n bytes.
func (t *chunkTables) match(at, n, distance int) {
	lits := at - t.next
	t.literals(at)
	t.next = at + n
	if lits >= minLongLiterals {
		t.cmds = append(t.cmds, commandLiterals)
		t.length(lits - minLongLiterals)
		lits = 0
	}
	for ; lits > maxCommandLiterals; lits -= maxCommandLiterals {
		t.cmds = append(t.cmds, commandRepeat|maxCommandLiterals)
	}
	repeat := distance == t.recent
	t.recent = distance
	switch {
	case n < minLongNear && repeat:
		t.short(commandRepeat, lits, n)
	case n < minLongNear && distance <= maxNear:
		t.near(distance)
		t.short(0, lits, n)
	case distance <= maxNear:
		t.rest(lits)
		t.cmds = append(t.cmds, commandLongNear)
		t.length(n - minLongNear)
		t.near(distance)
	default:
		t.rest(lits)
		if n < minLongFar {
			t.cmds = append(t.cmds, byte(n-farBias))
		} else {
			t.cmds = append(t.cmds, commandLongFar)
			t.length(n - minLongFar)
		}
		t.far[t.half] = append(t.far[t.half], uint32(t.base-(at-distance)))
	}
}

// rest adds a command for literals alone.
func (t *chunkTables) rest(lits int) {
	if lits > 0 {
		t.cmds = append(t.cmds, byte(commandRepeat|lits))
	}
}

// short adds commands for up to 7 literals and a match, the first of the given
// kind.
func (t *chunkTables) short(kind, lits, n int) {
	first := min(n, maxCommandMatch)
	t.cmds = append(t.cmds, byte(kind|first<<3|lits))
	for n -= first; n > 0; n -= first {
		first = min(n, maxCommandMatch)
		t.cmds = append(t.cmds, byte(commandRepeat|first<<3))
	}
}

func (t *chunkTables) near(distance int) {
	t.high = append(t.high, byte(distance>>8))
	t.low = append(t.low, byte(distance))
}

func (t *chunkTables) length(n int) {
	if n <= lengthEscape {
		t.lens = append(t.lens, byte(n))
		return
	}
	first := lengthEscape + 1 + n&3
	t.lens = append(t.lens, byte(first))
	t.lens = binary.LittleEndian.AppendUint16(t.lens, uint16((n-first)>>2))
}

// plan ends the chunk and chooses the form of its arrays.
func (t *chunkTables) plan(h *huffWriter) {
	t.literals(t.end)
	t.useDeltas = false
	t.splitNear = false
	near := 2 * len(t.low)
	if !t.mermaid {
		t.litPlan.planRaw(len(t.lits))
		t.cmdPlan.planRaw(len(t.cmds))
	} else {
		t.litPlan.plan(t.lits, h)
		if t.differ {
			t.deltaPlan.plan(t.deltas, h)
			t.useDeltas = t.deltaPlan.size < t.litPlan.size
		}
		t.cmdPlan.plan(t.cmds, h)
		t.highPlan.plan(t.high, h)
		t.lowPlan.plan(t.low, h)
		if n := t.highPlan.size + t.lowPlan.size; n < near {
			t.splitNear = true
			near = n
		}
	}
	t.size = t.cmdPlan.size + nearCountSize + near + len(t.lens)
	if t.useDeltas {
		t.size += t.deltaPlan.size
	} else {
		t.size += t.litPlan.size
	}
	if t.pos == 0 {
		t.size += seedSize
	}
	if t.end-t.pos > halfSize {
		t.size += splitCommandsSize
	}
	t.size += farCountsSize
	for _, list := range t.far {
		t.size += farSize * len(list)
		if len(list) >= farEscape {
			t.size += farEscapeSize
		}
	}
}

// append appends the chunk without its header.
func (t *chunkTables) append(dst []byte) []byte {
	if t.pos == 0 {
		dst = append(dst, t.src[:seedSize]...)
	}
	if t.useDeltas {
		dst = t.deltaPlan.append(dst, t.deltas)
	} else {
		dst = t.litPlan.append(dst, t.lits)
	}
	dst = t.cmdPlan.append(dst, t.cmds)
	if t.end-t.pos > halfSize {
		dst = binary.LittleEndian.AppendUint16(dst, uint16(t.split))
	}
	if t.splitNear {
		dst = binary.LittleEndian.AppendUint16(dst, splitNear)
		dst = t.highPlan.append(dst, t.high)
		dst = t.lowPlan.append(dst, t.low)
	} else {
		dst = binary.LittleEndian.AppendUint16(dst, uint16(len(t.low)))
		for i, v := range t.low {
			dst = append(dst, v, t.high[i])
		}
	}
	dst = t.appendFar(dst)
	return append(dst, t.lens...)
}

// appendFar appends the far distances, their counts first.
func (t *chunkTables) appendFar(dst []byte) []byte {
	a, b := len(t.far[0]), len(t.far[1])
	v := uint32(min(a, farEscape)<<12 | min(b, farEscape))
	dst = append(dst, byte(v), byte(v>>8), byte(v>>16))
	if a >= farEscape {
		dst = binary.LittleEndian.AppendUint16(dst, uint16(a))
	}
	if b >= farEscape {
		dst = binary.LittleEndian.AppendUint16(dst, uint16(b))
	}
	for _, list := range t.far {
		for _, v := range list {
			dst = append(dst, byte(v), byte(v>>8), byte(v>>16))
		}
	}
	return dst
}
