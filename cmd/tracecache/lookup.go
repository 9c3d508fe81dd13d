package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"example.com/tracecache/lazy"
)

func newLookup() *cobra.Command {
	var exact, asJSON bool
	cmd := &cobra.Command{
		Use:   "lookup FILE [ADDR...]",
		Short: "Name addresses",
		Long: `Lookup names addresses, in 0x hex or decimal, one answer a line in the order of
the addresses. Without ADDR, or with - in its place, it reads them from standard
input, one a line, and answers each line as soon as it is read. For up to 64
addresses it reads only what their answers are in.

An address is named by the symbol at or before it, unless a function's end or a
module's end lies between:
  0x4a5b67  main.run+0x27  go
The last column, the module, is missing where the address is in none. With
--exact only an address that a symbol starts at is named:
  0x4a5b40  main.run  go
An address without a name has ? and the reason:
  0x10  ?  before the first symbol
Characters of names that do not print are escaped.

With --json each answer is an object on a line:
  {"pc":"0x4a5b67","name":"main.run","symbol":"0x4a5b40","offset":39,"module":"go"}
  {"pc":"0x10","reason":"before the first symbol"}
A name that is not UTF-8 is {"base64":"..."}; "module" is "" where the address is
in none.

A line of standard input that is no address is answered with its text and the
reason "not an address". The exit code is 1 where no address has a name.`,
		Example: `  tracecache lookup go.ztac 0x4a5b67 4872000
  cut -f1 addresses.tsv | tracecache lookup --json go.ztac`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			pcs, err := parseAddresses(cmd, args[1:])
			if err != nil {
				return err
			}
			cache, err := lazy.Open(args[0])
			if err != nil {
				return err
			}
			defer cache.Close()
			l := &lookup{cmd: cmd, cache: cache, exact: exact, json: asJSON, out: bufio.NewWriterSize(cmd.OutOrStdout(), ioSize)}
			if pcs == nil {
				err = l.stream(cmd.InOrStdin())
			} else {
				err = l.list(pcs)
			}
			return l.finish(err)
		},
	}
	cmd.Flags().BoolVar(&exact, "exact", false, "name only addresses that a symbol starts at")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line")
	return cmd
}

// parseAddresses reads the addresses of a command line; nil: standard input has
// them.
func parseAddresses(cmd *cobra.Command, args []string) ([]uint64, error) {
	if len(args) == 0 || len(args) == 1 && args[0] == "-" {
		return nil, nil
	}
	pcs := make([]uint64, len(args))
	for i, arg := range args {
		pc, ok := parseAddress([]byte(strings.TrimSpace(arg)))
		if !ok {
			return nil, wrongUse(cmd, "%q is not an address, expected 0x hex or decimal of at most 64 bits", arg)
		}
		pcs[i] = pc
	}
	return pcs, nil
}

// parseAddress reads 0x hex or decimal.
func parseAddress(text []byte) (pc uint64, ok bool) {
	base, digits := uint64(10), text
	if len(text) > 2 && text[0] == '0' && text[1]|0x20 == 'x' {
		base, digits = 16, text[2:]
	}
	if len(digits) == 0 {
		return 0, false
	}
	for _, c := range digits {
		var d uint64
		switch {
		case '0' <= c && c <= '9':
			d = uint64(c - '0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			d = uint64(c|0x20-'a') + 10
		default:
			return 0, false
		}
		// Either the product or the sum leaves 64 bits where it gets too large.
		if d >= base || pc > (1<<64-1-d)/base {
			return 0, false
		}
		pc = pc*base + d
	}
	return pc, true
}

// ioSize is the size of the buffers of input and output. A longer line of input
// is no address, and only its start is shown.
const ioSize = 64 << 10

// stream answers the lines of in. Answers are written out before it waits for
// more input, so that another program can ask and wait for the answer.
func (l *lookup) stream(in io.Reader) error {
	r := bufio.NewReaderSize(in, ioSize)
	for {
		if buffered, _ := r.Peek(r.Buffered()); bytes.IndexByte(buffered, '\n') < 0 {
			if err := l.answer(); err != nil {
				return err
			}
			if err := l.out.Flush(); err != nil {
				return err
			}
		}
		line, err := r.ReadSlice('\n')
		tooLong := errors.Is(err, bufio.ErrBufferFull)
		if tooLong {
			line = bytes.Clone(line) // the rest of the line goes into the same buffer
			err = skipLine(r)
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read addresses: %w", err)
		}
		if text := bytes.TrimSpace(line); len(text) > 0 || tooLong {
			if err := l.askLine(text, tooLong); err != nil {
				return err
			}
		}
		if err != nil {
			return l.answer()
		}
	}
}

// skipLine reads to the end of a line.
func skipLine(r *bufio.Reader) error {
	for {
		if _, err := r.ReadSlice('\n'); !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}
