package convert

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"example.com/tracecache/pod"
)

// The fields of a profile message, by their numbers, that matter here.
const (
	protoType     = 1 // of samples
	protoSample   = 2
	protoMapping  = 3
	protoLocation = 4
	protoFunction = 5
	protoStrings  = 6
)

// beginsAsProto reports whether head, the beginning of a file, can be that of a
// profile message: fields of the right types, the first of them a list.
func beginsAsProto(head []byte) bool {
	n := 0
	for ; len(head) > 0; n++ {
		f, rest, ok := nextField(head)
		if !ok {
			// Cut off by the end of head, unless it makes no sense.
			return n > 0 && f.number > 0
		}
		isList := f.number >= 1 && f.number <= protoStrings
		if f.number == 0 || f.number > 100 || isList && f.wire != wireBytes || n == 0 && !isList {
			return false
		}
		head = rest
	}
	return n > 0
}

// profileCost bounds the memory that parsing a profile message takes. A parser
// makes a few hundred bytes of a message of two, so it is asked before.
func profileCost(raw []byte) (uint64, error) {
	const perMessage, perByte, perNumber = 160, 16, 64
	cost := uint64(len(raw))
	for data := raw; len(data) > 0; {
		f, rest, ok := nextField(data)
		if !ok {
			return 0, fmt.Errorf("%w: offset %#x: expected a field of a profile message", pod.ErrCorrupt, len(raw)-len(data))
		}
		switch f.number {
		case protoSample, protoLocation:
			cost += perMessage + perByte*uint64(f.size)
		case protoType, protoMapping, protoFunction, protoStrings:
			cost += perMessage
		default: // the numbers of one field make a list, one by one or packed
			cost += perNumber * uint64(1+f.size)
		}
		data = rest
	}
	return cost, nil
}

// memoryMaps is how older profiles begin the part that lists the mappings.
var memoryMaps = [][]byte{[]byte("MAPPED_LIBRARIES:"), []byte("--- Memory map: ---")}

// legacyCost bounds the steps that parsing an older profile takes: each address is
// looked for in each mapping.
func legacyCost(raw []byte) uint64 {
	addrs, maps := raw, []byte(nil)
	if isLegacyCPU(raw) { // words, and text behind them
		end := bytes.LastIndexByte(raw, 0) + 1
		return uint64(end/4) * uint64(1+bytes.Count(raw[end:], []byte("\n")))
	}
	for _, begin := range memoryMaps {
		if i := bytes.Index(raw, begin); i >= 0 && i < len(addrs) {
			addrs, maps = raw[:i], raw[i:]
		}
	}
	return uint64(bytes.Count(addrs, []byte("0x"))) * uint64(1+bytes.Count(maps, []byte("\n")))
}

// The wire types of protobuf.
const (
	wireVarint = 0
	wire64     = 1
	wireBytes  = 2
	wire32     = 5
)

// field is one field of a protobuf message.
type field struct {
	number uint64
	wire   uint64
	size   int // of the value, wireBytes only
}

// nextField skips one field. Where data ends inside it, ok is false and field
// says as much as is known; a wire type that does not exist leaves number 0.
func nextField(data []byte) (f field, rest []byte, ok bool) {
	tag, n := binary.Uvarint(data)
	if n <= 0 {
		return field{}, nil, false
	}
	f = field{number: tag >> 3, wire: tag & 7}
	data = data[n:]
	skip := uint64(0)
	switch f.wire {
	case wireVarint:
		_, n := binary.Uvarint(data)
		if n <= 0 {
			return f, nil, false
		}
		skip = uint64(n)
	case wire64:
		skip = 8
	case wire32:
		skip = 4
	case wireBytes:
		size, n := binary.Uvarint(data)
		if n <= 0 {
			return f, nil, false
		}
		data = data[n:]
		skip = size
		f.size = int(min(size, math.MaxInt32))
	default:
		return field{}, nil, false
	}
	if skip > uint64(len(data)) {
		return f, nil, false
	}
	return f, data[skip:], true
}
