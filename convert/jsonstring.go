package convert

import (
	"encoding/base64"
	"unicode/utf8"
)

// AppendJSONString appends s to b as [WriteJSON] writes a string: a JSON string,
// or the object {"base64":"…"} where s is not UTF-8. It allocates only to
// grow b, and for a string that is not UTF-8.
func AppendJSONString(b []byte, s string) []byte {
	if !utf8.ValidString(s) {
		b = append(b, `{"base64":"`...)
		b = base64.StdEncoding.AppendEncode(b, []byte(s))
		return append(b, `"}`...)
	}
	b = append(b, '"')
	from := 0
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[from:i]...)
		b = appendEscaped(b, c)
		from = i + 1
	}
	b = append(b, s[from:]...)
	return append(b, '"')
}

// appendEscaped appends a byte that must not stand in a string as it is.
func appendEscaped(b []byte, c byte) []byte {
	const digits = "0123456789abcdef"
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\n':
		return append(b, `\n`...)
	case '\r':
		return append(b, `\r`...)
	case '\t':
		return append(b, `\t`...)
	}
	return append(b, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
}
