//go:build !linux

package view

// adviseHuge does nothing: systems other than Linux decide for themselves.
func adviseHuge([]byte) {}

// prefault does nothing: pages come when they are touched.
func prefault([]byte) {}
