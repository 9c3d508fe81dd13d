package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestPrintable(t *testing.T) {
	for name, want := range map[string]string{
		"":                   "",
		"main.(*T).run[...]": "main.(*T).run[...]",
		"a b":                "a b",
		"日本語·ß":              "日本語·ß",
		"line\nbreak\r\t":    `line\nbreak\r\t`,
		"\x00\x1b[31m\x7f":   `\x00\x1b[31m\x7f`,
		"\u0085\u2028\u202e": `\u0085\u2028\u202e`,
		"\xff\xc0\xaf":       `\xff\xc0\xaf`,
		"\ufffd":             "\ufffd",
		"\U000e0001":         `\U000e0001`,
		`C:\dir\new`:         `C:\dir\new`,
		"it's":               "it's",
	} {
		assert.Equal(t, want, printable(name), "%q", name)
		assert.Equal(t, "x"+want, string(appendPrintable([]byte("x"), name)), "%q", name)
	}
}

func TestParseAddress(t *testing.T) {
	for text, want := range map[string]uint64{
		"0": 0, "7": 7, "0x0": 0, "0x10": 16, "0X1F": 31, "0xdeadBEEF": 0xdeadbeef, "010": 10,
		"4872000":              4872000,
		"18446744073709551615": 1<<64 - 1, "0xffffffffffffffff": 1<<64 - 1, "0x0000000000000000001": 1,
	} {
		got, ok := parseAddress([]byte(text))
		assert.True(t, ok, text)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{
		"", "0x", "x", "-1", "+1", "1 2", "12a", "0xg", "0x-1", "0x1.8", "4a5b67", "1_000", "0b1", "٣",
		"18446744073709551616", "18446744073709551620", "99999999999999999999", "0x10000000000000000", "0x" + strings.Repeat("f", 100),
	} {
		_, ok := parseAddress([]byte(text))
		assert.False(t, ok, text)
	}
}
