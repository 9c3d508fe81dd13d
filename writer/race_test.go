//go:build race

package writer_test

// raceEnabled says that the race detector runs, which drops pooled memory at
// random and makes compression slow.
const raceEnabled = true
