package convert

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"math"
	"strconv"
	"strings"
)

// maxJSONNumber bounds the text of a number.
const maxJSONNumber = 1000

// number is the text of the next number, valid until the next read.
func (j *jsonReader) number() []byte {
	j.buf = j.buf[:0]
	c := j.token()
	for ; c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E'; c = j.peek() {
		if len(j.buf) == maxJSONNumber {
			j.fail("expected a number of at most %d digits", maxJSONNumber)
			return nil
		}
		j.buf = append(j.buf, c)
		j.skip(1)
	}
	if j.err == nil && !isJSONNumber(j.buf) {
		if len(j.buf) > 0 {
			j.fail("expected a number, got %q", clip(string(j.buf)))
		} else {
			j.fail("expected a number, got %s", found(c))
		}
	}
	if j.err != nil {
		return nil
	}
	return j.buf
}

// isJSONNumber checks the grammar, which is stricter than that of strconv.
func isJSONNumber(b []byte) bool {
	digits := func() bool {
		n := 0
		for n < len(b) && b[n] >= '0' && b[n] <= '9' {
			n++
		}
		b = b[n:]
		return n > 0
	}
	b = bytes.TrimPrefix(b, []byte("-"))
	if len(b) > 1 && b[0] == '0' && b[1] >= '0' && b[1] <= '9' || !digits() {
		return false
	}
	if rest, ok := bytes.CutPrefix(b, []byte(".")); ok {
		if b = rest; !digits() {
			return false
		}
	}
	if len(b) > 0 && (b[0] == 'e' || b[0] == 'E') {
		if b = b[1:]; len(b) > 0 && (b[0] == '+' || b[0] == '-') {
			b = b[1:]
		}
		if !digits() {
			return false
		}
	}
	return len(b) == 0
}

// uint is an integer up to most.
func (j *jsonReader) uint(most uint64) uint64 {
	b := j.number()
	if j.err != nil {
		return 0
	}
	v, err := strconv.ParseUint(string(b), 10, 64)
	if err != nil || v > most {
		j.fail("expected an integer from 0 to %d, got %s", most, clip(string(b)))
		return 0
	}
	return v
}

func (j *jsonReader) int32() int32 {
	b := j.number()
	if j.err != nil {
		return 0
	}
	v, err := strconv.ParseInt(string(b), 10, 32)
	if err != nil {
		j.fail("expected an integer from %d to %d, got %s", math.MinInt32, math.MaxInt32, clip(string(b)))
	}
	return int32(v)
}

func (j *jsonReader) float() float64 {
	if j.token() == '"' {
		return j.notFinite()
	}
	b := j.number()
	if j.err != nil {
		return 0
	}
	v, err := strconv.ParseFloat(string(b), 64)
	if err != nil {
		j.fail("expected a number in the range of 64-bit floats, got %s", clip(string(b)))
	}
	return v
}

// notFinite is a float written as a string.
func (j *jsonReader) notFinite() float64 {
	s := string(j.text())
	switch s {
	case nanString:
		return math.NaN()
	case plusInfStr:
		return math.Inf(1)
	case minusInfStr:
		return math.Inf(-1)
	}
	if digits, ok := strings.CutPrefix(s, nanPrefix); ok {
		bits, err := strconv.ParseUint(digits, 16, 64)
		if v := math.Float64frombits(bits); err == nil && math.IsNaN(v) {
			return v
		}
	}
	j.fail("expected a number, or %q, %q, %q, or %q with the bits of a NaN, got %q",
		nanString, plusInfStr, minusInfStr, nanPrefix, clip(s))
	return 0
}

func (j *jsonReader) bool() bool {
	c := j.token()
	word := "false"
	if c == 't' {
		word = "true"
	}
	b, err := j.in.Peek(len(word))
	switch {
	case j.err != nil:
	case string(b) == word:
		j.skip(len(word))
		return c == 't'
	case err != nil && strings.HasPrefix(word, string(b)):
		j.ended(err)
	default:
		j.fail("expected true or false, got %s", found(c))
	}
	return false
}

func (j *jsonReader) address() uint64 {
	s := j.text()
	if j.err != nil {
		return 0
	}
	digits, ok := bytes.CutPrefix(s, []byte("0x"))
	v, err := strconv.ParseUint(string(digits), 16, 64)
	if !ok || err != nil {
		j.fail(`expected an address of 64 bits such as "0x401000", got %q`, clip(string(s)))
		return 0
	}
	return v
}

func (j *jsonReader) hex() []byte {
	s := j.text()
	if j.err != nil || len(s) == 0 {
		return nil
	}
	v := make([]byte, hex.DecodedLen(len(s)))
	if _, err := hex.Decode(v, s); err != nil {
		j.fail("expected bytes in hex, got %q", clip(string(s)))
		return nil
	}
	return v
}

// str is a string, or the object that stands for one that is not UTF-8.
func (j *jsonReader) str() string {
	if j.token() != '{' {
		return string(j.text())
	}
	j.open('{')
	if k := j.key(); j.err == nil && string(k) != "base64" {
		j.fail(`expected the key "base64", got %q`, clip(string(k)))
	}
	s := j.text()
	v := make([]byte, base64.StdEncoding.DecodedLen(len(s)))
	n, err := base64.StdEncoding.Strict().Decode(v, s)
	if err != nil {
		j.fail("expected bytes in base64: %v", err)
	}
	if j.more('}') {
		j.fail("expected the end of the object")
	}
	if j.err != nil {
		return ""
	}
	return string(v[:n])
}
