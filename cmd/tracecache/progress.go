package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progress shows how far a build is. It shows nothing where out is nil.
type progress struct {
	out io.Writer
	bar *progressbar.ProgressBar
	of  string // what bar shows
}

// newProgress shows progress on stderr where that is a terminal with someone in
// front of it.
func newProgress(stderr io.Writer, quiet bool) *progress {
	f, ok := stderr.(*os.File)
	if quiet || !ok || os.Getenv("CI") != "" || !term.IsTerminal(int(f.Fd())) {
		return &progress{}
	}
	return &progress{out: stderr}
}

// reading tells that done of total bytes of the file path have been read.
func (p *progress) reading(path string, done, total int64) {
	p.step("reading "+printable(filepath.Base(path)), done, total)
}

// writing tells that done of total bytes have been compressed.
func (p *progress) writing(done, total int64) { p.step("writing", done, total) }

func (p *progress) step(what string, done, total int64) {
	if p.out == nil {
		return
	}
	if p.bar == nil || p.of != what {
		p.close()
		p.of = what
		p.bar = progressbar.NewOptions64(max(total, 1),
			progressbar.OptionSetWriter(p.out), progressbar.OptionSetDescription(what),
			progressbar.OptionSetRenderBlankState(true), progressbar.OptionShowBytes(true),
			progressbar.OptionSetWidth(30),
			progressbar.OptionThrottle(50*time.Millisecond), progressbar.OptionClearOnFinish())
	}
	_ = p.bar.Set64(done) // a terminal that is gone is no reason to stop
}

// close takes the bar off the screen.
func (p *progress) close() {
	if p.bar != nil {
		_ = p.bar.Clear()
		p.bar = nil
	}
}

// done replaces the bar by a line.
func (p *progress) done(line string) {
	p.close()
	if p.out != nil {
		fmt.Fprintln(p.out, line)
	}
}
