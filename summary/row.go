package summary

import (
	"strings"

	"github.com/clew-dev/clew/internal/text"
)

// maxRows is how many rows of one table the excerpts have at most. Each row of a table of
// ids names what nothing else does, so by worth alone such a table would take all there is.
const maxRows = 8

// rowShape is the same, and not 0, for lines that look like rows of the same table: as many
// cells between the same separators. A line of code is no row.
func rowShape(line string) int32 {
	line = strings.TrimSpace(line)
	const (
		pipes = 1 + iota
		members
		tabs
		gaps
		commas
		kinds
	)
	shape := func(kind, cells int) int32 { return int32(cells*kinds + kind) }
	if n := strings.Count(line, "|"); n >= 3 && text.TableRow(line) || n >= 2 && strings.Count(line, " | ") == n {
		return shape(pipes, n)
	}
	if n := strings.Count(line, `":`); n >= 2 && line[0] == '{' && strings.HasSuffix(strings.TrimSuffix(line, ","), "}") {
		return shape(members, n)
	}
	if strings.ContainsAny(line, "(){}[]<>=;`") {
		return 0
	}
	if n := strings.Count(line, "\t"); n >= 2 {
		return shape(tabs, n)
	}
	if n := wideGaps(line); n >= 2 {
		return shape(gaps, n)
	}
	if n := strings.Count(line, ","); n >= 2 && !strings.Contains(line, ", ") {
		return shape(commas, n)
	}
	return 0
}

// wideGaps counts the places where two spaces and more stand together.
func wideGaps(line string) int {
	n := 0
	for i := 2; i < len(line); i++ {
		if line[i] != ' ' && line[i-1] == ' ' && line[i-2] == ' ' {
			n++
		}
	}
	return n
}

// table names a table: that of a source, or of a message.
type table struct {
	from string
	at   int
	row  int32
}

func (e *excerpt) table() table {
	t := table{from: e.from, row: e.row}
	if e.from == "" || e.from == codeSource {
		t.at = e.at
	}
	return t
}
