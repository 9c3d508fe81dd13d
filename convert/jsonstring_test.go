package convert_test

import (
	"encoding/base64"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/tracecache/convert"
)

func TestAppendJSONString(t *testing.T) {
	for _, s := range []string{
		"", "main.run", `quote " and \ backslash`, "line\nbreak\r\ttab", "\x00\x01\x1f\x7f", "<a href='x'>&amp;",
		"日本語", "\u2028 and \u2029", "\xff\xfe", "half \xed\xa0\x80", "{\"base64\":\"AAAA\"}",
	} {
		b := convert.AppendJSONString([]byte("before:"), s)
		require.Equal(t, "before:", string(b[:7]), "%q", s)
		b = b[7:]
		if utf8.ValidString(s) {
			var got string
			require.NoError(t, json.Unmarshal(b, &got), "%s", b)
			assert.Equal(t, s, got)
			continue
		}
		var got map[string]string
		require.NoError(t, json.Unmarshal(b, &got), "%s", b)
		bytes, err := base64.StdEncoding.DecodeString(got["base64"])
		require.NoError(t, err)
		assert.Equal(t, s, string(bytes))
		assert.Len(t, got, 1)
	}
}
