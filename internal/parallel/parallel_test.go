package parallel

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The parts are in order, next to one another, and all there is.
func TestPartsAreAll(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(5))
	type part struct{ lo, hi int }
	for _, n := range []int{0, 1, 2, least - 1, least, 2*least - 1, 2 * least, 3*least + 1, 100 * least} {
		at := 0
		for _, p := range Parts(n, func(lo, hi int) part { return part{lo, hi} }) {
			assert.Equal(t, at, p.lo, "of %d", n)
			assert.Greater(t, p.hi, p.lo, "of %d", n)
			at = p.hi
		}
		assert.Equal(t, n, at)

		seen := make([]int, n)
		Each(n, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				seen[i]++
			}
		})
		for i, times := range seen {
			if times != 1 {
				assert.Equal(t, 1, times, "%d of %d", i, n)
			}
		}
	}
}
