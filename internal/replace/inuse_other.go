//go:build !windows

package replace

// inUse: readers keep nobody from replacing a file.
func inUse(error) bool { return false }
