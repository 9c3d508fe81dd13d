//go:build !unix

package replace

// SyncFolder does nothing: these systems sync no folders.
func SyncFolder(string) error { return nil }
