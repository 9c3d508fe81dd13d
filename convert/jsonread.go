package convert

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"example.com/tracecache/pod"
)

// jsonReader reads JSON piece by piece. The first error sticks, and every method
// is without effect from then on. The fields that are read decide how deep values
// nest, not the input.
type jsonReader struct {
	in   *bufio.Reader
	off  int64 // of the next byte
	err  error
	path []jsonStep
	buf  []byte // scratch: the last string or number
}

// jsonStep is one step of the path to a value: a key, or an index where it is "".
type jsonStep struct {
	key   string
	index int
}

// field and index step into a value, leave steps out of it. Where reading has
// failed the path stays, for the error has it already.
func (j *jsonReader) field(key string) { j.path = append(j.path, jsonStep{key: key}) }
func (j *jsonReader) index(i int)      { j.path = append(j.path, jsonStep{index: i}) }
func (j *jsonReader) leave()           { j.path = j.path[:len(j.path)-1] }

// fail sets the error, which is about the value at the present path.
func (j *jsonReader) fail(format string, args ...any) {
	j.failWith(pod.ErrCorrupt, format, args...)
}

func (j *jsonReader) failWith(sentinel error, format string, args ...any) {
	if j.err != nil {
		return
	}
	var where strings.Builder
	for _, s := range j.path {
		switch {
		case s.key == "":
			fmt.Fprintf(&where, "[%d]", s.index)
		case where.Len() > 0:
			where.WriteString("." + s.key)
		default:
			where.WriteString(s.key)
		}
	}
	if where.Len() > 0 {
		where.WriteString(": ")
	}
	j.err = fmt.Errorf("offset %d: %s%w: %s", j.off, where.String(), sentinel, fmt.Sprintf(format, args...))
}

// ended sets the error of a read that gave none of the bytes it should.
func (j *jsonReader) ended(err error) {
	if errors.Is(err, io.EOF) {
		j.failWith(pod.ErrTruncated, "expected more, the input ends")
		return
	}
	if j.err == nil {
		j.err = fmt.Errorf("offset %d: %w", j.off, err)
	}
}

// skipMark skips a byte order mark.
func (j *jsonReader) skipMark() {
	b, err := j.in.Peek(len(utf8Mark))
	if err != nil && !errors.Is(err, io.EOF) {
		j.ended(err)
	}
	if bytes.Equal(b, utf8Mark) {
		n, _ := j.in.Discard(len(b)) // bytes that are there
		j.off += int64(n)
	}
}

// peek is the next byte, or 0 after an error.
func (j *jsonReader) peek() byte {
	if j.err != nil {
		return 0
	}
	b, err := j.in.Peek(1)
	if err != nil {
		j.ended(err)
		return 0
	}
	return b[0]
}

// skip goes over n bytes that were peeked at.
func (j *jsonReader) skip(n int) {
	m, _ := j.in.Discard(n)
	j.off += int64(m)
}

// token is the next byte that is not white space, or 0 after an error.
func (j *jsonReader) token() byte {
	for {
		switch c := j.peek(); c {
		case ' ', '\t', '\r', '\n':
			j.skip(1)
		default:
			return c
		}
	}
}

// found describes the byte at which something else was expected.
func found(c byte) string { return strconv.QuoteRune(rune(c)) }

// open begins an object or a list and reports whether it has an element.
func (j *jsonReader) open(c byte) bool {
	if t := j.token(); t != c {
		j.fail("expected %s, got %s", found(c), found(t))
		return false
	}
	j.skip(1)
	if j.token() == c+2 { // ']' and '}' come two behind '[' and '{'
		j.skip(1)
		return false
	}
	return j.err == nil
}

// more goes on behind an element and reports whether there is another one.
func (j *jsonReader) more(end byte) bool {
	switch t := j.token(); t {
	case ',':
		j.skip(1)
		return j.err == nil
	case end:
		j.skip(1)
	default:
		j.fail("expected ',' or %s, got %s", found(end), found(t))
	}
	return false
}

// key is the next key, valid until the next read.
func (j *jsonReader) key() []byte {
	b := j.text()
	if t := j.token(); t == ':' {
		j.skip(1)
	} else {
		j.fail("expected ':', got %s", found(t))
	}
	return b
}

// end checks that nothing follows.
func (j *jsonReader) end() {
	for j.err == nil {
		b, err := j.in.ReadByte()
		switch {
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			j.ended(err)
		case b != ' ' && b != '\t' && b != '\r' && b != '\n':
			j.fail("expected the end of the input, got %s", found(b))
		default:
			j.off++
		}
	}
}

// text is the next string, valid until the next read.
func (j *jsonReader) text() []byte {
	j.buf = j.buf[:0]
	if t := j.token(); t != '"' {
		j.fail("expected a string, got %s", found(t))
		return nil
	}
	j.skip(1)
	for j.peek() != '"' {
		if j.err != nil {
			return nil
		}
		b, _ := j.in.Peek(j.in.Buffered())
		n := 0
		for n < len(b) && b[n] >= ' ' && b[n] != '"' && b[n] != '\\' {
			n++
		}
		j.buf = append(j.buf, b[:n]...)
		j.skip(n)
		switch {
		case n > 0:
		case b[0] == '\\':
			j.escape()
		default:
			j.fail("expected the byte %#02x in a string to be escaped", b[0])
		}
	}
	if !utf8.Valid(j.buf) {
		j.fail(`expected a string in UTF-8; other bytes are written {"base64":"…"}`)
		return nil
	}
	j.skip(1)
	return j.buf
}

// escape reads an escape sequence within a string.
func (j *jsonReader) escape() {
	j.skip(1)
	c := j.peek()
	if j.err != nil {
		return
	}
	j.skip(1)
	switch c {
	case '"', '\\', '/':
		j.buf = append(j.buf, c)
	case 'b':
		j.buf = append(j.buf, '\b')
	case 'f':
		j.buf = append(j.buf, '\f')
	case 'n':
		j.buf = append(j.buf, '\n')
	case 'r':
		j.buf = append(j.buf, '\r')
	case 't':
		j.buf = append(j.buf, '\t')
	case 'u':
		j.buf = utf8.AppendRune(j.buf, j.unicode())
	default:
		j.fail(`expected an escape sequence, got \%s`, string(rune(c)))
	}
}

// unicode is the character of \uXXXX, or of two of them for one above 0xFFFF.
func (j *jsonReader) unicode() rune {
	r := j.hex4()
	if !utf16.IsSurrogate(r) {
		return r
	}
	if b, _ := j.in.Peek(2); j.err == nil && string(b) == `\u` {
		j.skip(2)
		if pair := utf16.DecodeRune(r, j.hex4()); pair != utf8.RuneError {
			return pair
		}
	}
	j.fail(`expected a pair of surrogates, got \u%04x alone`, r)
	return utf8.RuneError
}

func (j *jsonReader) hex4() rune {
	b, err := j.in.Peek(4)
	if j.err != nil {
		return 0
	}
	if err != nil {
		j.ended(err)
		return 0
	}
	var v [2]byte
	if _, err := hex.Decode(v[:], b); err != nil {
		j.fail(`expected four digits in hex behind \u, got %q`, b)
		return 0
	}
	j.skip(4)
	return rune(v[0])<<8 | rune(v[1])
}
