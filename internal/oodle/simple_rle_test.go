package oodle_test

import (
	"fmt"
	"slices"
	"testing"
)

// simpleRLE is the two ends of an RLE array's buffer, and what it stands for.
type simpleRLE struct {
	front    []byte
	commands [][]byte // in the order in which they are carried out
	fill     byte
	out      []byte
}

func (r *simpleRLE) command(b ...byte) {
	r.commands = append(r.commands, b)
}

func (r *simpleRLE) copy(lits []byte) {
	r.front = append(r.front, lits...)
	r.out = append(r.out, lits...)
}

func (r *simpleRLE) repeat(n int) {
	r.out = append(r.out, slices.Repeat([]byte{r.fill}, n)...)
}

// set chooses the byte to fill with.
func (r *simpleRLE) set(fill byte) {
	r.command(1)
	r.front = append(r.front, fill)
	r.fill = fill
}

// short is up to 15 literals and 3 to 15 fills, or 15 literals alone.
func (r *simpleRLE) short(lits []byte, fills int) {
	r.command(byte(fills<<4 | 15 - len(lits)))
	r.copy(lits)
	r.repeat(fills)
}

// medium is up to 63 literals and up to 127 fills.
func (r *simpleRLE) medium(lits []byte, fills int) {
	r.command(simpleLE16(0x1000 + fills<<6 + len(lits))...)
	r.copy(lits)
	r.repeat(fills)
}

// longCopy is up to 1792 times 64 literals, longFill as many times 128 fills.
func (r *simpleRLE) longCopy(lits []byte) {
	r.command(simpleLE16(0x1FF + len(lits)/64)...)
	r.copy(lits)
}

func (r *simpleRLE) longFill(n int) {
	r.command(simpleLE16(0x8FF + n/128)...)
	r.repeat(n)
}

// back is the commands as they stand at the buffer's end.
func (r *simpleRLE) back() []byte {
	commands := slices.Clone(r.commands)
	slices.Reverse(commands)
	return slices.Concat(commands...)
}

// payload has the buffer as it is.
func (r *simpleRLE) payload() []byte {
	return slices.Concat([]byte{0}, r.front, r.back())
}

// nested has the first n bytes of the buffer in an array.
func (r *simpleRLE) nested(n int, code func([]byte) []byte) []byte {
	buf := append(slices.Clone(r.front), r.back()...)
	return append(code(buf[:n]), buf[n:]...)
}

// simpleRLECoded is b as an array of type 3.
func simpleRLECoded(short bool) func(b []byte) []byte {
	return func(b []byte) []byte {
		var r simpleRLE
		for len(b) > 0 {
			n := 1 // the run that b begins with
			for n < len(b) && b[n] == b[0] {
				n++
			}
			if n >= 8 {
				if r.fill != b[0] {
					r.set(b[0])
				}
				n = min(n, 127)
				r.medium(nil, n)
			} else {
				n = min(n, 15)
				r.medium(b[:n], 0)
			}
			b = b[n:]
		}
		return simpleArray(3, short, len(r.out), r.payload())
	}
}

func TestSimpleRLE(t *testing.T) {
	rnd := simpleRand(12)
	for i := range 60 {
		var r simpleRLE
		for range 1 + rnd.IntN(30) {
			switch rnd.IntN(7) {
			case 0:
				r.set(byte(rnd.IntN(256)))
			case 1:
				r.short(simpleText(rnd, 15, 15), 0) // the byte 0
			case 2:
				n := rnd.IntN(16)
				r.short(simpleText(rnd, n, max(n, 1)), 3+rnd.IntN(13))
			case 3:
				r.medium(simpleText(rnd, rnd.IntN(64), 64), rnd.IntN(128))
			case 4:
				r.longCopy(simpleText(rnd, 64*(1+rnd.IntN(3)), 64))
			case 5:
				r.longFill(128 * (1 + rnd.IntN(20)))
			case 6:
				r.repeat(0) // nothing at all
				r.medium(nil, 0)
			}
		}
		r.longFill(128 * 40)
		if len(r.out) > 120000 {
			continue
		}
		what := fmt.Sprintf("list %d", i)
		simpleCheckPayload(t, what, 3, r.payload(), r.out)
		size := len(r.front) + len(r.back())
		for name, n := range map[string]int{"all": size, "part": 1 + rnd.IntN(size), "none": 0} {
			short := n < 4096
			raw := func(b []byte) []byte { return simpleRaw(true, b) }
			if short {
				simpleCheckPayload(t, what+", nested raw, "+name, 3, r.nested(n, raw), r.out)
			}
		}
	}
}

// The greatest counts of each form.
func TestSimpleRLELimits(t *testing.T) {
	lits := simpleText(simpleRand(13), 0x700*64, 256)
	var r simpleRLE
	r.longCopy(lits)
	r.longFill(128)
	simpleCheckPayload(t, "longest copy", 3, r.payload(), r.out)

	r = simpleRLE{}
	r.longFill(1000 * 128)
	simpleCheckPayload(t, "long fill of zeros", 3, r.payload(), r.out)

	r = simpleRLE{}
	r.set('a')
	r.medium(lits[:63], 127)
	r.set('b')
	r.short(lits[:15], 15)
	r.short(lits[:15], 3) // the smallest of the long bytes
	r.short(nil, 3)
	r.set('c') // and no use of it
	simpleCheckPayload(t, "medium and short", 3, r.payload(), r.out)

	for _, n := range []int{2, 3, 64, 1024, 100000, simpleChunkSize} {
		if n == simpleChunkSize {
			simpleCheck(t, "one byte", simpleBlock(10, simpleArray(3, false, n, lits[:1])), slices.Repeat(lits[:1], n))
			continue
		}
		simpleCheckPayload(t, "one byte", 3, lits[:1], slices.Repeat(lits[:1], n))
	}
}

// The nested array may be of any type.
func TestSimpleRLENested(t *testing.T) {
	rnd := simpleRand(14)
	var r simpleRLE
	for i := range 12 {
		r.set(byte(i & 1))
		r.medium(simpleText(rnd, 60, 5), 100)
	}
	size := len(r.front) + len(r.back())
	for name, code := range simpleCoders() {
		for _, n := range []int{300, 301, size} {
			simpleCheckPayload(t, fmt.Sprintf("%s of %d of %d", name, n, size), 3, r.nested(n, code), r.out)
		}
	}
}

// simpleCoders is a coder of each type of array, for bytes of some hundred and few
// values.
func simpleCoders() map[string]func([]byte) []byte {
	return map[string]func([]byte) []byte{
		"short tANS": simpleTANS(true),
		"tANS":       simpleTANS(false),
		"short 3":    simpleHuffman(2, true),
		"3 streams":  simpleHuffman(2, false),
		"short 6":    simpleHuffman(4, true),
		"6 streams":  simpleHuffman(4, false),
		"concat":     simpleConcatHalves,
		"multi":      simpleMultiHalves,
	}
}
