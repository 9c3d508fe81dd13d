// Plot draws growth.csv, as the report of bench writes it, as an SVG:
//
//	go -C bench/peers run ./plot ../growth.csv ../growth.svg
package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

const (
	width  = 10 * font.Inch
	height = 4.5 * font.Inch
)

// panel is one of the plots beside each other.
type panel struct {
	title, unit string
	scale       float64 // from nanoseconds
	columns     []string
}

var panels = []panel{
	{"Files", "ms", 1e-6, []string{"first", "load", "plainloop", "write"}},
	{"Look-ups, random order, name used", "ns", 1, []string{"resolve", "resolvebatch", "sortsearch"}},
}

var legends = map[string]string{
	"first": "first answer", "load": "load", "plainloop": "plain loop", "write": "write",
	"resolve": "Resolve", "resolvebatch": "ResolveBatch", "sortsearch": "sort.Search",
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: plot growth.csv growth.svg")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "plot:", err)
		os.Exit(1)
	}
}

func run(from, to string) error {
	columns, err := read(from)
	if err != nil {
		return err
	}
	canvas := vgsvg.New(width, height)
	tiles := draw.Tiles{Rows: 1, Cols: len(panels), PadX: font.Inch / 4, PadTop: 4, PadBottom: 4, PadLeft: 4, PadRight: 12}
	for i, p := range panels {
		drawn, err := p.plot(columns)
		if err != nil {
			return err
		}
		drawn.Draw(tiles.At(draw.New(canvas), i, 0))
	}
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = canvas.WriteTo(f)
	return errors.Join(err, f.Close())
}

// read returns the columns of a CSV file by their heading.
func read(path string) (map[string][]float64, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	lines, err := csv.NewReader(f).ReadAll()
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	columns := map[string][]float64{}
	for i, line := range lines {
		for k, cell := range line {
			if i == 0 {
				continue
			}
			v, err := strconv.ParseFloat(cell, 64)
			if err != nil {
				return nil, err
			}
			columns[lines[0][k]] = append(columns[lines[0][k]], v)
		}
	}
	return columns, nil
}

// plot draws both axes logarithmic, so that a straight line is a power of n.
func (p panel) plot(columns map[string][]float64) (*plot.Plot, error) {
	drawn := plot.New()
	drawn.Title.Text, drawn.X.Label.Text, drawn.Y.Label.Text = p.title, "symbols", p.unit
	drawn.X.Scale, drawn.Y.Scale = plot.LogScale{}, plot.LogScale{}
	drawn.X.Tick.Marker, drawn.Y.Tick.Marker = plot.LogTicks{Prec: -1}, plot.LogTicks{Prec: -1}
	drawn.Legend.Top, drawn.Legend.Left = true, true
	drawn.Add(plotter.NewGrid())
	for i, name := range p.columns {
		n, ns := columns["n"], columns[name]
		if len(n) == 0 || len(ns) != len(n) {
			return nil, fmt.Errorf("no column %q", name)
		}
		points := make(plotter.XYs, len(n))
		for k := range points {
			points[k] = plotter.XY{X: n[k], Y: ns[k] * p.scale}
		}
		line, dots, err := plotter.NewLinePoints(points)
		if err != nil {
			return nil, err
		}
		line.Color, line.Width = plotutil.Color(i), 2
		dots.Color, dots.Shape = plotutil.Color(i), draw.CircleGlyph{}
		drawn.Add(line, dots)
		drawn.Legend.Add(legends[name], line)
	}
	return drawn, nil
}
