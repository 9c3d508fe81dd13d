package main

import (
	"bufio"
	"errors"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"example.com/tracecache/convert"
	"example.com/tracecache/lazy"
)

const (
	// few is how many addresses are looked up one by one, each decoding what its
	// answer is in. For more the symbols are loaded whole.
	few = 64

	// batch is how many addresses are looked up at once in loaded symbols, if as
	// many have been read.
	batch = 256
)

// lookup is one run of the command.
type lookup struct {
	cmd     *cobra.Command
	cache   *lazy.Cache
	symbols *lazy.Symbols // nil as long as few addresses were asked for
	exact   bool
	json    bool
	out     *bufio.Writer
	pcs     []uint64      // read and not answered yet
	syms    []lazy.Symbol // room for the answers
	line    []byte        // the answer in the making
	begun   bool
	asked   int
	found   int
}

func (l *lookup) list(pcs []uint64) error {
	for _, pc := range pcs {
		if err := l.ask(pc); err != nil {
			return err
		}
	}
	return l.answer()
}

// ask has pc answered at the next answer, at the latest.
func (l *lookup) ask(pc uint64) error {
	l.pcs = append(l.pcs, pc)
	if len(l.pcs) < batch {
		return nil
	}
	return l.answer()
}

// askLine takes a line of input, of which text is not all where it is too long.
func (l *lookup) askLine(text []byte, tooLong bool) error {
	if pc, ok := parseAddress(text); ok && !tooLong {
		return l.ask(pc)
	}
	if err := l.answer(); err != nil {
		return err
	}
	l.asked++
	b := l.line[:0]
	if l.json {
		b = append(b, `{"pc":`...)
		b = convert.AppendJSONString(b, string(text))
		b = append(b, `,"reason":"not an address"}`...)
	} else {
		b = appendPrintable(b, string(text))
		b = append(b, "  ?  not an address"...)
	}
	return l.write(b)
}

// answer answers all that was asked for.
func (l *lookup) answer() error {
	pcs := l.pcs
	l.pcs = pcs[:0]
	if len(pcs) == 0 {
		return nil
	}
	if err := l.begin(l.asked + len(pcs)); err != nil {
		return err
	}
	if l.symbols == nil {
		return l.answerCold(pcs)
	}
	l.syms = slices.Grow(l.syms[:0], len(pcs))[:len(pcs)]
	l.symbols.FindBatch(pcs, l.syms)
	for i, pc := range pcs {
		reason := lazy.Found
		if l.syms[i].Name == "" {
			reason = l.symbols.Explain(pc)
		}
		if err := l.writeAnswer(pc, &l.syms[i], reason); err != nil {
			return err
		}
	}
	return nil
}

// answerCold answers without loading the symbols.
func (l *lookup) answerCold(pcs []uint64) error {
	for _, pc := range pcs {
		reason := lazy.Found
		sym, err := l.cache.Lookup(pc)
		if miss := (*lazy.NotFoundError)(nil); errors.As(err, &miss) {
			reason, err = miss.Reason, nil
		}
		if err != nil {
			return err
		}
		if err := l.writeAnswer(pc, &sym, reason); err != nil {
			return err
		}
	}
	return nil
}

// begin makes ready for asked addresses in all, and warns, once, where some will
// have no answer that they should have.
func (l *lookup) begin(asked int) (err error) {
	if l.symbols == nil && asked > few {
		if l.symbols, err = l.cache.Symbols(); err != nil {
			return err
		}
	}
	if l.begun {
		return nil
	}
	l.begun = true
	err = l.cache.BoundsErr()
	if errors.Is(err, lazy.ErrIO) {
		return err // of the moment
	}
	if err != nil {
		l.cmd.PrintErrf("tracecache: warning: module bounds are unknown, only exact hits are answered: %s\n", oneLine(err))
	}
	return nil
}

// writeAnswer puts out the answer to pc.
func (l *lookup) writeAnswer(pc uint64, sym *lazy.Symbol, reason lazy.Reason) error {
	l.asked++
	if l.exact && (reason != lazy.Found || sym.Offset != 0) {
		reason = lazy.NotAtStart
	}
	b := l.line[:0]
	switch {
	case reason == lazy.Found && l.json:
		b = appendJSONSymbol(b, pc, sym)
	case reason == lazy.Found:
		b = appendSymbol(b, pc, sym, !l.exact)
	case l.json:
		b = append(b, `{"pc":"`...)
		b = appendAddress(b, pc)
		b = append(b, `","reason":"`...)
		b = append(b, reason.String()...)
		b = append(b, `"}`...)
	default:
		b = appendAddress(b, pc)
		b = append(b, "  ?  "...)
		b = append(b, reason.String()...)
	}
	if reason == lazy.Found {
		l.found++
	}
	return l.write(b)
}

func appendSymbol(b []byte, pc uint64, sym *lazy.Symbol, offset bool) []byte {
	b = appendAddress(b, pc)
	b = append(b, "  "...)
	b = appendPrintable(b, sym.Name)
	if offset {
		b = append(b, '+')
		b = appendAddress(b, sym.Offset)
	}
	if sym.Module != "" {
		b = append(b, "  "...)
		b = appendPrintable(b, sym.Module)
	}
	return b
}

func appendJSONSymbol(b []byte, pc uint64, sym *lazy.Symbol) []byte {
	b = append(b, `{"pc":"`...)
	b = appendAddress(b, pc)
	b = append(b, `","name":`...)
	b = convert.AppendJSONString(b, sym.Name)
	b = append(b, `,"symbol":"`...)
	b = appendAddress(b, sym.Address)
	b = append(b, `","offset":`...)
	b = strconv.AppendUint(b, sym.Offset, 10)
	b = append(b, `,"module":`...)
	b = convert.AppendJSONString(b, sym.Module)
	return append(b, '}')
}

// write puts out one answer.
func (l *lookup) write(b []byte) error {
	l.line = append(b, '\n')
	_, err := l.out.Write(l.line)
	return err
}

// finish writes out what is left. That no address has a name makes the exit code;
// the answers have said it.
func (l *lookup) finish(err error) error {
	if flushErr := l.out.Flush(); err == nil {
		err = flushErr
	}
	if err == nil && l.asked > 0 && l.found == 0 {
		return &exitError{code: exitFailed}
	}
	return err
}
