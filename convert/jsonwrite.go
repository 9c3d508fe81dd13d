package convert

import (
	"bufio"
	"encoding/hex"
	"math"
	"strconv"
)

// jsonWriter writes JSON piece by piece. Its bufio.Writer keeps the first error.
type jsonWriter struct {
	w       *bufio.Writer
	buf     []byte // scratch
	depth   int
	started bool // something stands before in the object or list
}

// open begins an object or a list, close ends it.
func (j *jsonWriter) open(c byte) {
	j.w.WriteByte(c)
	j.depth++
	j.started = false
}

func (j *jsonWriter) close(c byte) {
	j.w.WriteByte(c)
	j.depth--
	j.started = true
}

// next goes on to the next element of a list.
func (j *jsonWriter) next() {
	if j.started {
		j.w.WriteByte(',')
	}
	j.started = true
	if j.depth == 2 { // a list of the model: one record a line
		j.w.WriteByte('\n')
	}
}

// key goes on to the next value of an object.
func (j *jsonWriter) key(k string) {
	if j.started {
		j.w.WriteByte(',')
		if j.depth == 1 {
			j.w.WriteByte('\n')
		}
	}
	j.started = true
	j.w.WriteByte('"')
	j.w.WriteString(k)
	j.w.WriteString(`":`)
}

func (j *jsonWriter) uint(v uint64) {
	j.buf = strconv.AppendUint(j.buf[:0], v, 10)
	j.w.Write(j.buf)
}

func (j *jsonWriter) int(v int64) {
	j.buf = strconv.AppendInt(j.buf[:0], v, 10)
	j.w.Write(j.buf)
}

func (j *jsonWriter) bool(v bool) {
	j.w.WriteString(strconv.FormatBool(v))
}

func (j *jsonWriter) address(v uint64) {
	j.buf = append(j.buf[:0], `"0x`...)
	j.buf = strconv.AppendUint(j.buf, v, 16)
	j.buf = append(j.buf, '"')
	j.w.Write(j.buf)
}

func (j *jsonWriter) hex(v []byte) {
	j.w.WriteByte('"')
	hex.NewEncoder(j.w).Write(v)
	j.w.WriteByte('"')
}

// The strings that stand for floats that are not finite. Behind nanPrefix are the
// bits of a NaN, in hex.
const (
	nanString   = "NaN"
	nanPrefix   = "NaN:0x"
	plusInfStr  = "+Inf"
	minusInfStr = "-Inf"
)

func (j *jsonWriter) float(v float64) {
	bits := math.Float64bits(v)
	switch {
	case bits == math.Float64bits(math.NaN()):
		j.str(nanString)
	case math.IsNaN(v):
		j.str(nanPrefix + strconv.FormatUint(bits, 16))
	case math.IsInf(v, 1):
		j.str(plusInfStr)
	case math.IsInf(v, -1):
		j.str(minusInfStr)
	default:
		j.buf = strconv.AppendFloat(j.buf[:0], v, 'g', -1, 64)
		j.w.Write(j.buf)
	}
}

func (j *jsonWriter) str(v string) {
	j.buf = AppendJSONString(j.buf[:0], v)
	j.w.Write(j.buf)
}
