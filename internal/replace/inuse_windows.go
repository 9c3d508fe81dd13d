package replace

import (
	"errors"

	"golang.org/x/sys/windows"
)

// inUse reports whether a rename failed because of others who have the file open.
// Windows says of a file that is mapped or about to go that access is denied.
func inUse(err error) bool {
	for _, e := range []error{
		windows.ERROR_SHARING_VIOLATION, windows.ERROR_LOCK_VIOLATION,
		windows.ERROR_USER_MAPPED_FILE, windows.ERROR_ACCESS_DENIED,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
