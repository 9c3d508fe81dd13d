// Command tracecache builds trace caches of programs and profiles, looks
// addresses up in them, and shows and checks what they hold.
//
// Data goes to standard output, words to standard error. The exit code is 0 when
// all is done, 1 when something failed (a file is missing or stale, no address
// was resolved), 2 for a wrong use of the command, 3 for a damaged cache file.
package main

import (
	"fmt"
	"io"
	"os"
)

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// run runs the command that args name and returns the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ignorePipeSignal()
	root := newRoot()
	root.SetArgs(append([]string{}, args...)) // not nil, for which cobra takes its own
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.Execute()
	if text := message(err); text != "" {
		fmt.Fprintf(stderr, "tracecache: %s\n", text) // nobody is left to be told of a failure
	}
	return exitCode(err)
}
