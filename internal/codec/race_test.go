//go:build race

package codec_test

// raceEnabled says that the race detector runs, which drops pooled memory at
// random and makes compression slow.
const raceEnabled = true
