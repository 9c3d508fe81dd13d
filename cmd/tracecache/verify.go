package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"example.com/tracecache/lazy"
	"example.com/tracecache/pod"
)

func newVerify() *cobra.Command {
	var source string
	cmd := &cobra.Command{
		Use:   "verify FILE",
		Short: "Check everything in a cache",
		Long: `Verify reads the whole cache and checks every checksum, hash, bound and order
rule. It prints all that it finds, one finding a line, or "FILE: sound".

With --source it also checks that the cache was made from that file as it is now.

The exit code is 0 for a sound cache, 3 for a damaged one, and 1 where it is
stale, missing, of another version, or holds something that is not supported.`,
		Example: `  tracecache verify go.ztac
  tracecache verify --source trace.utrace trace.ztac`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := interruptible(cmd.Context())
			defer stop()
			findings, err := verify(ctx, args[0], source, cmd.Flags().Changed("source"))
			if err != nil {
				return err
			}
			return tellFindings(cmd, args[0], findings)
		},
	}
	cmd.Flags().StringVar(&source, "source", "", "the `file` that the cache was made from")
	return cmd
}

// verify returns what is wrong with the cache file path, or the error that kept
// it from finding out.
func verify(ctx context.Context, path, source string, hasSource bool) (findings []error, err error) {
	cache, err := lazy.Open(path)
	if err != nil {
		if pod.Damaged(err) || errors.Is(err, pod.ErrVersion) {
			return []error{err}, nil
		}
		return nil, err
	}
	defer cache.Close()
	if hasSource {
		if err := cache.Fresh(source); err != nil {
			findings = append(findings, err)
		}
	}
	err = cache.Verify(ctx)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return append(findings, joined.Unwrap()...), nil
	}
	return findings, err
}

// tellFindings prints one finding a line. Damage is the worst of them and makes
// the exit code.
func tellFindings(cmd *cobra.Command, path string, findings []error) error {
	out := bufio.NewWriter(cmd.OutOrStdout())
	if len(findings) == 0 {
		fmt.Fprintf(out, "%s: sound\n", printable(path))
		return out.Flush()
	}
	worst := findings[0]
	for _, err := range findings {
		fmt.Fprintln(out, oneLine(err))
		if pod.Damaged(err) && !pod.Damaged(worst) {
			worst = err
		}
	}
	if err := out.Flush(); err != nil && !isBrokenPipe(err) {
		return err
	}
	code := failureCode(worst)
	return &exitError{code: code, err: fmt.Errorf("%s: not sound: %s%s", path, counted(len(findings), "finding"), advice(code, worst))}
}
