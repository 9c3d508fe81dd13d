package main

import (
	"strconv"
	"unicode/utf8"
)

// printable is s as it can be shown on a terminal and stays on one line: what
// does not print, and bytes that are not UTF-8, are escaped as in Go's strings.
func printable(s string) string {
	if isPlain(s) {
		return s
	}
	return string(appendPrintable(nil, s))
}

// appendPrintable appends printable(s) to b.
func appendPrintable(b []byte, s string) []byte {
	if isPlain(s) {
		return append(b, s...)
	}
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			b = append(b, `\x`...)
			b = append(b, hexDigits[s[0]>>4], hexDigits[s[0]&15])
		case strconv.IsPrint(r):
			b = append(b, s[:n]...)
		default:
			quoted := strconv.QuoteRune(r)
			b = append(b, quoted[1:len(quoted)-1]...)
		}
		s = s[n:]
	}
	return b
}

// isPlain reports whether s is printable ASCII, as almost every name is.
func isPlain(s string) bool {
	for i := range len(s) {
		if s[i]-' ' >= 0x7f-' ' {
			return false
		}
	}
	return true
}

const hexDigits = "0123456789abcdef"

// appendAddress appends an address as "0x4a5b67".
func appendAddress(b []byte, addr uint64) []byte {
	return strconv.AppendUint(append(b, "0x"...), addr, 16)
}

// counted is "1 finding", "2 findings".
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.Itoa(n) + " " + thing + "s"
}
