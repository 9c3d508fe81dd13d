// Report prints the figures of package bench as Markdown: medians, and ratios with
// their spread.
//
//	go run ./bench/report [-rounds 5] [-n 1000000] [-only lookups,files]
//	go run ./bench/report -growth DIR
//
// What is compared runs interleaved, one contender after the other, round after
// round: machines drift, and only ratios within a round mean much. A ratio is the
// median of the rounds' ratios, with the least and the greatest of them. What
// touches fresh memory runs in a fresh process for each figure.
//
// It takes some three minutes. With -growth it measures n = 1e3 to 1e7 instead, or to
// ten times what -n says, and writes growth.csv and
// growth.md into DIR.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	if len(args) > 0 && args[0] == measureArg {
		return exit(measure(args[1:], stdout), stderr)
	}
	flags := flag.NewFlagSet("report", flag.ContinueOnError)
	flags.SetOutput(stderr)
	r := report{out: stdout}
	flags.IntVar(&r.rounds, "rounds", 5, "rounds of each comparison")
	flags.IntVar(&r.n, "n", 1e6, "the largest number of symbols, for -growth a tenth of it")
	only := flags.String("only", "lookups,files", "tables to print")
	growth := flags.String("growth", "", "measure how cost grows and write the files into this `folder`")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if r.rounds < 1 || r.n < 1000 || flags.NArg() > 0 {
		fmt.Fprintln(stderr, "report: at least 1 round, at least 1000 symbols, no arguments")
		return 2
	}
	var err error
	if r.dir, err = os.MkdirTemp("", "tracecache-report-"); err != nil {
		return exit(err, stderr)
	}
	defer func() { _ = os.RemoveAll(r.dir) }()
	if *growth != "" {
		return exit(r.growth(*growth), stderr)
	}
	return exit(r.tables(strings.Split(*only, ",")), stderr)
}

func exit(err error, stderr io.Writer) int {
	if err != nil {
		fmt.Fprintln(stderr, "report:", err)
		return 1
	}
	return 0
}

// report is one run.
type report struct {
	out    io.Writer
	rounds int
	n      int
	dir    string // of files, removed at the end
}

func (r *report) tables(names []string) error {
	fmt.Fprintf(r.out, "%s. Medians of %d interleaved rounds; ratios with the least and the greatest.\n", machine(), r.rounds)
	for _, name := range names {
		var err error
		switch name {
		case "lookups":
			err = r.lookups()
		case "files":
			err = r.files()
		default:
			err = fmt.Errorf("no table named %q", name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// machine says where this runs.
func machine() string {
	cpu := runtime.GOARCH
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(b)) {
			if name, ok := strings.CutPrefix(line, "model name"); ok {
				cpu = strings.TrimSpace(strings.TrimLeft(name, "\t :"))
				break
			}
		}
	}
	return fmt.Sprintf("%s, %d cores, %s, %s", cpu, runtime.GOMAXPROCS(0), runtime.GOOS, runtime.Version())
}
