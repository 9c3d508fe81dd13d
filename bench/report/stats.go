package main

import (
	"fmt"
	"slices"
	"strings"
)

// series is one contender's figures, round by round.
type series []float64

func (s series) median() float64 {
	sorted := slices.Sorted(slices.Values(s))
	if len(sorted) == 0 {
		return 0
	}
	if mid := len(sorted) / 2; len(sorted)%2 == 0 {
		return (sorted[mid-1] + sorted[mid]) / 2
	} else {
		return sorted[mid]
	}
}

// over is the rounds' ratios of s and other.
func (s series) over(other series) series {
	ratios := make(series, len(s))
	for i := range s {
		ratios[i] = s[i] / other[i]
	}
	return ratios
}

// ratio writes s / other: median, least and greatest.
func ratio(s, other series) string {
	if len(s) == 0 || len(other) == 0 {
		return "–"
	}
	r := s.over(other)
	return fmt.Sprintf("%.2f (%.2f–%.2f)", r.median(), slices.Min(r), slices.Max(r))
}

// ns writes a median in nanoseconds.
func (s series) ns() string {
	if len(s) == 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f", s.median())
}

// ms writes a median of nanoseconds in milliseconds.
func (s series) ms() string {
	if len(s) == 0 {
		return "–"
	}
	if m := s.median() / 1e6; m < 0.1 {
		return fmt.Sprintf("%.3f", m)
	} else if m < 10 {
		return fmt.Sprintf("%.2f", m)
	} else {
		return fmt.Sprintf("%.0f", m)
	}
}

// rounds runs the contenders one after the other, in every round starting with
// another one, and keeps what each returns.
func rounds[T any](n int, contenders []T, name func(T) string, run func(c T, round int) (float64, error)) (map[string]series, error) {
	all := map[string]series{}
	for round := range n {
		for i := range contenders {
			c := contenders[(i+round)%len(contenders)]
			v, err := run(c, round)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name(c), err)
			}
			all[name(c)] = append(all[name(c)], v)
		}
	}
	return all, nil
}

// table is a Markdown table.
type table struct{ rows [][]string }

func (t *table) row(cells ...string) { t.rows = append(t.rows, cells) }

// String writes the table, first row the heading, columns padded.
func (t *table) String() string {
	widths := make([]int, len(t.rows[0]))
	for _, row := range t.rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	var b strings.Builder
	line := func(cells []string, fill string) {
		for i, cell := range cells {
			pad := widths[i] - len([]rune(cell))
			if fill == " " && i > 0 {
				b.WriteString("| " + strings.Repeat(" ", pad) + cell + " ")
			} else {
				b.WriteString("| " + cell + strings.Repeat(fill, pad) + " ")
			}
		}
		b.WriteString("|\n")
	}
	rule := make([]string, len(widths))
	for i := range rule {
		rule[i] = "---"
		widths[i] = max(widths[i], len(rule[i])+1)
	}
	line(t.rows[0], " ")
	for i := 1; i < len(rule); i++ {
		rule[i] = strings.Repeat("-", widths[i]-1) + ":"
	}
	line(rule, "-")
	for _, row := range t.rows[1:] {
		line(row, " ")
	}
	return b.String()
}
