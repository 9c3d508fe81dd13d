//go:build !race

package container_test

const raceEnabled = false
