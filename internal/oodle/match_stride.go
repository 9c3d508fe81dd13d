package oodle

import "math/bits"

// strides are the sizes of records that are looked for.
var strides = [...]int{8, 12, 16, 20, 24, 28, 32, 36, 40, 48, 56, 64, 72, 80, 96}

// findStride is the size of the records that b seems to consist of, 0 for none: a
// distance at which more than half of the bytes are the same.
func findStride(b []byte) int {
	const window, maxStride = 512, 96
	if len(b) < 2*window+maxStride {
		return 0
	}
	best, same := 0, 0
	step := max((len(b)-maxStride-window)/4, window)
	for _, d := range strides {
		n, total := 0, 0
		for at := maxStride; at+window <= len(b); at += step {
			for i := at; i < at+window; i += 8 {
				n += zeroBytes(load64(b, i) ^ load64(b, i-d))
			}
			total += window
		}
		if n > total/2 && n > same+same/16 {
			best, same = d, n
		}
	}
	return best
}

// zeroBytes is the number of bytes of v that are 0.
func zeroBytes(v uint64) int {
	const low = 0x7F7F7F7F7F7F7F7F
	return bits.OnesCount64(^((v&low + low) | v | low))
}
