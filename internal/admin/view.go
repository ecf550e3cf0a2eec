package admin

import (
	_ "embed"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/clew-dev/clew/gateway"
	"github.com/clew-dev/clew/internal/recall"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/message"
)

//go:embed page.html
var source string

// pages are read when the first one is shown: most runs of the program show none.
var pages = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(functions).Parse(source))
})

var functions = template.FuncMap{
	"tokens": text.Tokens, "number": number, "count": count, "dollars": dollars, "percent": percent, "visible": text.Visible,
	"clock": func(t time.Time) string { return t.UTC().Format("15:04:05") },
	"date":  func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") },
	"stamp": func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	"bar":   bar,
	"line":  newLine, "who": who,
}

// line is a message in a list.
type line struct {
	ID, Entry, Who, Text string
	Short                bool // the model sees it with another content
}

func newLine(id string, s recall.Step, changed []string) line {
	l := line{id, s.Entry, who(s.Role, s.Tool), strings.Join(s.Calls, ", "), slices.Contains(changed, s.Entry)}
	if s.Failed {
		l.Who += ", failed"
	}
	l.Text = strings.TrimPrefix(l.Text+": "+s.Text, ": ")
	l.Text = strings.TrimSuffix(l.Text, ": ")
	return l
}

// who says whose words a message has.
func who(role message.Role, tool string) string {
	if role == message.RoleToolResult {
		return strings.TrimSpace("result " + tool)
	}
	if role == message.RoleCompactionSummary {
		return "summary"
	}
	return string(role)
}

// overviewView is what the first page shows.
type overviewView struct {
	Listing
	Observe bool
	Dir     string
}

func (s *Server) overview(w http.ResponseWriter, r *http.Request) {
	show(w, "overview", &overviewView{s.board(tenantOf(r.Context())).list(), s.cfg.Observe, s.cfg.Dir})
}

// number writes a whole number with a space between groups of three digits.
func number(n int) string { return text.Digits(n, text.Thin) }

// count writes how many there are of something.
func count(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return number(n) + " " + more
}

func dollars(f float64) string {
	sign := ""
	if f < 0 {
		sign, f = "−", -f
	}
	if f > 0 && f < 0.1 {
		return fmt.Sprintf("%s$%.4f", sign, f)
	}
	return fmt.Sprintf("%s$%.2f", sign, f)
}

func percent(f float64) string { return fmt.Sprintf("%.0f%%", 100*f) }

// bar is a width in a drawing that is 100 wide.
func bar(f float64) string { return fmt.Sprintf("%.1f", 100*min(max(f, 0), 1)) }

// plot is a drawing of how large the requests of a conversation were.
type plot struct {
	Before, After string // points of lines
	Window        string // height of the line of the window, "" where it is above
	Marks         []mark
	Ticks         []tick
	First, Last   time.Time
	N             int
}

// mark is a request of which something else became than that it was sent on.
type mark struct {
	X     string
	Class string
	Title string
}

// tick is a round number at the side.
type tick struct {
	Y     string
	Label string
}

// The size of a drawing, in units; it is stretched to its place.
const (
	breadth = 600
	height  = 200
)

func newPlot(points []Point) (p plot) {
	if p.N = len(points); p.N < 2 {
		return p
	}
	p.First, p.Last = points[0].Time, points[p.N-1].Time
	top := int64(1)
	for i := range points {
		top = max(top, points[i].After, points[i].Before)
	}
	window := points[p.N-1].Window
	if window > 0 && window < 2*top {
		top = max(top, window)
	}
	top += top / 20
	y := func(n int64) string { return fmt.Sprintf("%.1f", height-height*float64(n)/float64(top)) }
	var before, after strings.Builder
	for i := range points {
		pt := &points[i]
		x := fmt.Sprintf("%.1f", breadth*float64(i)/float64(p.N-1))
		fmt.Fprintf(&before, "%s,%s ", x, y(pt.Before))
		fmt.Fprintf(&after, "%s,%s ", x, y(pt.After))
		if pt.Outcome != gateway.Passed && pt.Outcome != gateway.Shortened {
			title := fmt.Sprintf("%s %s: %s tokens became %s", pt.Time.UTC().Format("15:04:05"), pt.Outcome, text.Tokens(pt.Before), text.Tokens(pt.After))
			if pt.Why != "" {
				title += " (" + pt.Why + ")"
			}
			p.Marks = append(p.Marks, mark{x, strings.ReplaceAll(string(pt.Outcome), " ", "-"), title})
		}
	}
	p.Before, p.After = strings.TrimSpace(before.String()), strings.TrimSpace(after.String())
	if window > 0 && window <= top {
		p.Window = y(window)
	}
	step := int64(1)
	for _, f := range []int64{2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000, 10_000_000} {
		if top/step <= 5 {
			break
		}
		step = f
	}
	for n := step; n <= top; n += step {
		p.Ticks = append(p.Ticks, tick{y(n), text.Tokens(n)})
	}
	return p
}
