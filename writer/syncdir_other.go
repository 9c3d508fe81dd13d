//go:build !unix

package writer

// syncDir does nothing: these systems sync no folders.
func syncDir(string) error { return nil }
