package oodle_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/tracecache/internal/oodle"
	"example.com/tracecache/pod"
)

func errorIsUnsupported(err error) bool { return errors.Is(err, pod.ErrUnsupported) }

// Blocks that are written down byte by byte, and what the errors about them say.
func TestDecodeFrames(t *testing.T) {
	five := []byte{1, 2, 3, 4, 5}
	for _, c := range []struct {
		name  string
		block []byte
		raw   []byte // where it decodes; else 5 bytes are wanted
		kind  error
		text  string
	}{
		{name: "stored", block: append([]byte{0xCC, 0x0A}, five...), raw: five},
		{name: "stored, not the first", block: append([]byte{0x4C, 0x0A}, five...), raw: five},
		{name: "stored, with checksums", block: append([]byte{0xCC, 0x8A}, five...), raw: five},
		{name: "stored, Kraken", block: append([]byte{0xCC, 0x06}, five...), raw: five},
		{name: "stored, Leviathan", block: append([]byte{0xCC, 0x0C}, five...), raw: five},
		{name: "stored quantum", block: append([]byte{0x8C, 0x0A, 0, 0, 4}, five...), raw: five},
		{name: "stored quantum, Kraken", block: append([]byte{0x8C, 0x06, 0, 0, 4}, five...), raw: five},
		{name: "stored quantum, flags", block: append([]byte{0x8C, 0x0A, 0x0C, 0, 4}, five...), raw: five},
		{name: "stored quantum, checksum", block: append([]byte{0x8C, 0x8A, 0, 0, 4, 9, 9, 9}, five...), raw: five},
		{name: "one value", block: []byte{0x0C, 0x0A, 7, 0xFF, 0xFF, 3}, raw: []byte{3, 3, 3, 3, 3}},
		{name: "one value, no checksum", block: []byte{0x8C, 0x8A, 7, 0xFF, 0xFF, 0}, raw: make([]byte, 300)},
		{name: "one value, most", block: []byte{0x8C, 0x0A, 7, 0xFF, 0xFF, 8}, raw: bytes.Repeat([]byte{8}, oodle.MaxBlock)},
		{name: "empty", raw: []byte{}},
		{name: "empty, stored", block: []byte{0xCC, 0x0A}, raw: []byte{}},

		{name: "LZNA", block: append([]byte{0x8C, 5, 0, 0, 4}, five...), kind: pod.ErrUnsupported, text: "LZNA (type 5)"},
		{name: "BitKnit", block: append([]byte{0x8C, 11, 0, 0, 4}, five...), kind: pod.ErrUnsupported, text: "BitKnit (type 11)"},
		{name: "Leviathan", block: append([]byte{0x8C, 12, 0, 0, 4}, five...), kind: pod.ErrUnsupported, text: "Leviathan (type 12)"},
		{name: "type 7", block: append([]byte{0x8C, 7, 0, 0, 4}, five...), kind: pod.ErrCorrupt, text: "expected type 5, 6, 10, 11 or 12, got 7"},
		{name: "low bits", block: append([]byte{0x8D, 10, 0, 0, 4}, five...), kind: pod.ErrCorrupt, text: "expected 0x0c"},
		{name: "bit 4", block: append([]byte{0x9C, 10, 0, 0, 4}, five...), kind: pod.ErrCorrupt, text: "got 0x1c"},
		{name: "stored, short", block: append([]byte{0xCC, 0x0A}, five[1:]...), kind: pod.ErrCorrupt, text: "expected 5 bytes, got 4"},
		{name: "one value, other flags", block: []byte{0x8C, 0x0A, 3, 0xFF, 0xFF, 3}, kind: pod.ErrCorrupt, text: "expected 1, got 0"},
		{name: "one value, more", block: []byte{0x8C, 0x0A, 7, 0xFF, 0xFF, 3, 3}, kind: pod.ErrCorrupt, text: "expected 1 byte, got 2"},
		{name: "no checksum", block: []byte{0x8C, 0x8A, 0, 0, 4, 9, 9}, kind: pod.ErrCorrupt, text: "expected 3 bytes, got 2"},
		{name: "quantum too large", block: append([]byte{0x8C, 0x0A, 0, 0, 5, 0}, five...), kind: pod.ErrCorrupt, text: "expected at most 5 stored bytes, got 6"},
		{name: "quantum cut", block: append([]byte{0x8C, 0x0A, 0, 0, 4}, five[1:]...), kind: pod.ErrCorrupt, text: "expected 5 bytes, got 4"},
		{name: "chunk mode 2", block: []byte{0x8C, 0x0A, 0, 0, 3, 0x90, 0, 1, 0}, kind: pod.ErrCorrupt, text: "expected mode 0 or 1, got 2"},
		{name: "chunk too small", block: []byte{0x8C, 0x0A, 0, 0, 3, 0x88, 0, 1, 0}, kind: pod.ErrCorrupt, text: "expected 10 bytes or more, got 1"},
		{name: "chunk of 3 bytes", block: []byte{0x8C, 0x0A, 0, 0, 2, 0x88, 0, 0}, kind: pod.ErrCorrupt, text: "expected 4 bytes or more, got 3"},
		{name: "array type 6", block: []byte{0x8C, 0x0A, 0, 0, 3, 0x60, 0, 1, 0}, kind: pod.ErrCorrupt, text: "expected 0 to 5, got 6"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var d oodle.Decoder
			size := len(five)
			if c.kind == nil {
				size = len(c.raw)
			}
			got, err := decodeGuarded(t, &d, size, c.block)
			if c.kind != nil {
				require.ErrorIs(t, err, c.kind)
				require.ErrorContains(t, err, c.text)
				return
			}
			require.NoError(t, err)
			require.True(t, bytes.Equal(c.raw, got))
		})
	}
}

func TestDecodeTooLarge(t *testing.T) {
	var d oodle.Decoder
	err := d.Decode(make([]byte, oodle.MaxBlock+1), []byte{0x8C, 0x0A, 7, 0xFF, 0xFF, 0})
	require.ErrorIs(t, err, pod.ErrUnsupported)
	require.ErrorContains(t, err, "expected at most 262144 raw bytes, got 262145")
}

// The example that the format's description explains command by command.
func TestDecodeExample(t *testing.T) {
	raw := "The cat sat on the mat. The cat sat on the mat. The cat sat on the mat; the dog sat on " +
		"the log, the cat sat on the mat again."
	block := []byte{0x8C, 0x0A, 0x00, 0x00, 0x51, 0x88, 0x00, 0x4F}
	block = append(block, "The cat "...)
	block = append(block, 0, 0, 40)
	block = append(block, "sat on the mat. ;doglog,n the mat again."...)
	block = append(block, 0, 0, 10, 0x87, 0x87, 0x7A, 0xF8, 0xF8, 0x88, 0x29, 0x63, 0x2C, 0x48)
	block = append(block, 5, 0, 24, 0, 57, 0, 48, 0, 24, 0, 72, 0)
	block = append(block, 0, 0, 0)
	var d oodle.Decoder
	got, err := decodeGuarded(t, &d, len(raw), block)
	require.NoError(t, err)
	assert.Equal(t, raw, string(got))
}
