// Package pod holds the records of a trace cache file and the format's document.
package pod
