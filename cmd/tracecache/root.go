package main

import (
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"example.com/tracecache/pod"
)

// newRoot is the command with all its subcommands.
func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "tracecache",
		Short: "Build and read caches of analysed program traces",
		Long: `Tracecache builds a cache file from programs and profiles, looks addresses up
in it, and shows and checks what it holds.

Data goes to standard output, words to standard error. The exit code is
  0  done
  1  failed: a file is missing or stale, no address was resolved
  2  wrong use of the command
  3  the cache file is damaged`,
		Example: `  tracecache build -o go.ztac "$(go env GOROOT)/bin/go"
  tracecache lookup go.ztac 0x4a5b67`,
		Version:       version(),
		SilenceErrors: true, // run tells the error, in one line
		SilenceUsage:  true,
		// Without these two, cobra would print the help and call it a success.
		Args: cobra.ArbitraryArgs,
		RunE: noCommand,

		SuggestionsMinimumDistance: 2,
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return wrongUse(cmd, "%w", err) })
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	root.AddCommand(newBuild(), newInfo(), newLookup(), newDump(), newVerify(), newDoctor())
	for _, cmd := range root.Commands() {
		markFailures(cmd)
	}
	root.SetHelpCommand(newHelp())
	root.InitDefaultCompletionCmd()
	if cmd, _, err := root.Find([]string{"completion"}); err == nil {
		cmd.Args, cmd.RunE = root.Args, noCommand // as for root
	}
	return root
}

// newHelp is cobra's help command, but for a topic that there is not.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Explain a command",
		RunE: func(help *cobra.Command, args []string) error {
			cmd, rest, err := help.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return wrongUse(help.Root(), "no help for %q", args)
			}
			cmd.InitDefaultHelpFlag()
			cmd.InitDefaultVersionFlag()
			return cmd.Help()
		},
	}
}

// noCommand is what happens where args do not go on with a subcommand of cmd.
func noCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		var names []string
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() {
				names = append(names, sub.Name())
			}
		}
		return wrongUse(cmd, "no command given, expected one of %s", strings.Join(names, ", "))
	}
	if alike := cmd.SuggestionsFor(args[0]); len(alike) > 0 {
		return wrongUse(cmd, "unknown command %q, did you mean %s?", args[0], strings.Join(alike, " or "))
	}
	return wrongUse(cmd, "unknown command %q", args[0])
}

// version is the module's version, and that of the format.
func version() string {
	v := "(devel)"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		v = info.Main.Version
	}
	return fmt.Sprintf("%s, format version %d", v, pod.Version)
}
