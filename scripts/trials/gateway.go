package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/clew-dev/clew/gateway"
	"github.com/clew-dev/clew/internal/admin"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model/modeltest"
	"github.com/clew-dev/clew/wire"
)

// The trial of the gateway: each program works on through a loop of calls, straight to a
// server without a limit, and through the gateway to one with a window that is much smaller
// than the program believes.

const prompt = "Count on and on, with a call for each step, until you are told that it is done."

// loop is one run of a program.
type loop struct {
	srv    *modeltest.Server
	calls  int // that the model asks for
	agent  *agent
	mu     sync.Mutex
	made   int
	before []string // the blocks of the request before
	events map[gateway.Outcome]int
	log    bytes.Buffer // what the gateway has told

	heard    []*heard
	reported []message.Usage // by the server
}

// figures say how a run went.
type figures struct {
	requests, refused, compacted int     // of the loop; answered with an error; for a summary of the program's own
	same                         int     // that arrived as they were sent
	cached                       float64 // share of the input that a cache of what was sent before had
	below                        float64 // the same of the requests that the window of the gateway's run has room for
	broken                       []string
	err                          error
}

// odd prints what programs may write into JSON in different ways: characters beyond ASCII and
// beyond 16 bits, those of HTML, quotes, control characters and a separator of lines.
const odd = `printf '\303\266 \360\237\230\200 <b>&"\047 \033[31m\t\\\\ \342\200\250\n'`

// bound are the rules of a loop: those of thinking as well.
var bound = append([]wire.Rule{wire.RuleThinking}, pairing...)

func (l *loop) answer(x *modeltest.Exchange) modeltest.Reply {
	l.mu.Lock()
	defer l.mu.Unlock()
	reply := l.reply(x)
	if reply.Usage == nil {
		reply.Usage = &message.Usage{Input: int64(len(x.Request)) / 4, Output: 20}
	}
	l.report(x.Request, reply.Usage)
	return reply
}

// reply says what the model answers.
func (l *loop) reply(x *modeltest.Exchange) modeltest.Reply {
	if l.compacts(x.Request, l.made) {
		return modeltest.Text(summaryText)
	}
	if !l.works(x.Request) || l.made >= l.calls {
		return modeltest.Text("Done.")
	}
	l.made++
	if l.agent.turns && l.made%7 == 0 {
		return modeltest.Text(fmt.Sprintf("Counted up to step %d.", l.made))
	}
	from := 1000 * l.made
	reply := call(fmt.Sprintf("call_%d", l.made), l.agent.shell, map[string]any{
		l.agent.shellArg: fmt.Sprintf("%s; seq %d %d", odd, from, from+500), "description": "counts on",
	})(x)
	now := blocks(x.Request)
	size, had := cached(l.before, now)
	l.before = now
	reply.Usage = &message.Usage{Input: int64(size-had) / 4, CacheRead: int64(had) / 4, Output: 50, Reasoning: 7}
	if thinks.Match(x.Request) {
		reply.Blocks = append([]message.Block{modeltest.Think(fmt.Sprintf("Step %d.", l.made))}, reply.Blocks...)
	}
	return reply
}

// works tells a request of the loop from one for a title, which has no tools.
func (l *loop) works(body []byte) bool { return len(tools(body)) > 1 || l.agent.turns }

// compacts tells a request for a summary of the program's own: without tools, or with words
// that stand behind results.
func (l *loop) compacts(body []byte, made int) bool {
	last := lastMessage(body)
	switch {
	case made < 3 || !compacting.MatchString(last): // titles are asked for at the beginning
		return false
	case len(tools(body)) == 0:
		return true
	}
	return !strings.Contains(last, prompt) && (!isResult.MatchString(last) || strings.Contains(last, "Respond with TEXT ONLY"))
}

// way is how a program reaches its server.
type way string

const (
	straight way = "straight" // which has no limit
	alone    way = "alone"    // which has a window
	through  way = "through"  // the gateway, which knows the window of the server
	wrapped  way = "wrapped"  // clew wrap does that
)

// runLoop lets a program make so many calls.
func (t *trial) runLoop(a *agent, calls int, window int64, by way) (f figures, events map[gateway.Outcome]int) {
	l := &loop{calls: calls, agent: a, events: map[gateway.Outcome]int{}}
	limit := window
	if by == straight {
		limit = 0
	}
	l.srv = modeltest.Start(modeltest.Config{AnyKey: true, Rules: bound, Window: limit, BindThinking: true, Reply: l.answer})
	defer l.srv.Close()
	board := admin.New(admin.Config{})
	h, err := gateway.NewHandler(gateway.HandlerConfig{
		Upstreams: map[string]string{"anthropic": l.srv.URL, "openai": l.srv.URL, "gemini": l.srv.URL},
		Config: gateway.Config{
			Dir: filepath.Join(t.dir, "sessions"), Window: func(string, string) int64 { return window },
			OnEvent: func(e gateway.Event) {
				l.mu.Lock()
				defer l.mu.Unlock()
				l.events[e.Outcome]++
				board.Event(e)
				line, _ := json.Marshal(e)
				l.log.Write(append(line, '\n'))
			},
		},
	})
	if err != nil {
		return figures{err: err}, nil
	}
	front := http.Handler(h)
	name := a.name + "-" + string(by)
	if by != through {
		front = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
				w.WriteHeader(http.StatusUpgradeRequired)
				return
			}
			l.srv.ServeHTTP(w, r)
		})
	}
	srv := httptest.NewServer(l.listen(front))
	defer srv.Close()
	t.url = srv.URL
	if err := t.settle(a); err != nil {
		return figures{err: err}, nil
	}
	args := a.args("", prompt)
	for i := range args {
		args[i] = t.expand(args[i])
	}
	program := t.program(a)
	if by == wrapped {
		args = append([]string{"wrap", "--window", fmt.Sprint(window), "--upstream", "anthropic=" + t.url, "--upstream", "openai=" + t.url, "--upstream", "gemini=" + t.url, program}, args...)
		program = t.clew
	}
	t.first = filepath.Dir(t.program(a))
	out, err := t.command(name, program, args...)
	if err == nil && !strings.Contains(out, "Done.") {
		err = fmt.Errorf("it ended without an answer; see %s", filepath.Join(t.logs, name+".txt"))
	}
	if err == nil && l.made < calls {
		err = fmt.Errorf("it ended after %d calls", l.made)
	}
	f = l.figures(window)
	if by == straight && err == nil && t.records != "" {
		err = t.record(l)
	}
	if by == through && err == nil {
		srv.Close() // so that all answers have ended
		t.said = out
		same, changed := l.changed(l.events[gateway.Passed])
		f.same, f.broken = same, slices.Concat(f.broken, changed, l.untrue(board, t))
	}
	if werr := os.WriteFile(filepath.Join(t.logs, name+"-events.jsonl"), l.log.Bytes(), 0o600); err == nil {
		err = werr
	}
	f.err = err
	return f, l.events
}

var marker = regexp.MustCompile(`,?"cache_control":\{[^{}]*\}`)

// figures reads what the server has seen.
func (l *loop) figures(window int64) (f figures) {
	var before []string
	var all, had, fitting, hadOf int
	for _, x := range l.srv.Exchanges() {
		f.broken = append(f.broken, x.Violations...)
		if n := len(marker.FindAll(x.Request, -1)); n > 4 {
			f.broken = append(f.broken, fmt.Sprintf("%d cache breakpoints", n))
		}
		switch {
		case x.Status != http.StatusOK:
			f.refused++
			continue
		case l.compacts(x.Request, f.requests):
			f.compacted++
			continue
		case !l.works(x.Request):
			continue
		}
		f.requests++
		now := blocks(x.Request)
		if before != nil {
			size, read := cached(before, now)
			all, had = all+size, had+read
			if int64(size)/4 <= window {
				fitting, hadOf = fitting+size, hadOf+read
			}
		}
		before = now
	}
	f.cached, f.below = float64(had)/float64(max(all, 1)), float64(hadOf)/float64(max(fitting, 1))
	return f
}

// cached returns the size of a request, and how much of it a cache of the one before has.
func cached(before, now []string) (size, had int) {
	same := true
	for i, b := range now {
		size += len(b)
		if same = same && i < len(before) && before[i] == b; same {
			had += len(b)
		}
	}
	return size, had
}

// blocks are the parts of a request that a prompt cache goes by, in its order.
func blocks(body []byte) (out []string) {
	var req map[string]json.RawMessage
	if json.Unmarshal(marker.ReplaceAll(body, nil), &req) != nil {
		return nil
	}
	for _, name := range []string{"tools", "system", "instructions", "systemInstruction", "messages", "input", "contents"} {
		var list []json.RawMessage
		if json.Unmarshal(req[name], &list) != nil {
			out = append(out, string(req[name]))
		}
		for _, e := range list {
			out = append(out, string(bytes.TrimSpace(e)))
		}
	}
	return out
}

// tryGateway prints a row for each program.
func (t *trial) tryGateway(chosen []*agent, calls int, window int64) (ok bool, err error) {
	t.limit = 10 * time.Minute
	t.more = []string{"CLAUDE_CODE_MAX_OUTPUT_TOKENS=4000", "DISABLE_AUTO_COMPACT=1", "OPENAI_BASE_URL={url}/v1"}
	t.size, t.full, t.share = "900000", "900000", "0.95" // what the programs believe the window to be
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "program\tversion\trequests\tas sent\trefused\tseen by the program\tepochs\tits own compactions\tcache, straight\tbelow the window\tgateway\tshare\tof what is below\t\n")
	ok = true
	for _, a := range chosen {
		straight, _ := t.runLoop(a, calls, window, straight)
		through, events := t.runLoop(a, calls, window, through)
		seen := "no error"
		for _, f := range []figures{straight, through} {
			if f.err != nil || len(f.broken) > 0 {
				ok, seen = false, "FAILED"
				fmt.Fprintf(os.Stderr, "%s: %v; broken rules: %.500s\n", a.name, f.err, strings.Join(f.broken, "; "))
			}
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%s\t%d\t%d\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t\n", a.name, a.version(), through.requests, through.same, through.refused, seen,
			events[gateway.Compacted]+events[gateway.Rescued], through.compacted, straight.cached, straight.below, through.cached,
			through.cached/max(straight.cached, 1e-9), through.cached/max(straight.below, 1e-9))
		if err := w.Flush(); err != nil {
			return false, err
		}
	}
	return ok, nil
}

// tryWrap prints a row for each program: how often it compacts by itself at a server whose
// window it knows, and how often when clew wrap runs it.
func (t *trial) tryWrap(chosen []*agent, calls int, window int64) (ok bool, err error) {
	t.limit = 10 * time.Minute
	t.more = []string{fmt.Sprintf("CLAUDE_CODE_AUTO_COMPACT_WINDOW=%d", window), "OPENAI_BASE_URL={url}/v1"}
	t.size, t.full, t.share = fmt.Sprint(window), fmt.Sprint(window*4/5), fmt.Sprintf("%.3f", .8*float64(window)/(1<<20))
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "program\tversion\trequests\trefused, alone\tcompacts, alone\trefused, wrapped\tcompacts, wrapped\twhat wrap says\n")
	ok = true
	for _, a := range chosen {
		before, _ := t.runLoop(a, calls, window, alone)
		f, _ := t.runLoop(a, calls, window, wrapped)
		if f.err != nil || len(f.broken) > 0 || f.refused > 0 || f.compacted > 0 {
			ok = false
			fmt.Fprintf(os.Stderr, "%s: FAILED: %v; broken rules: %.500s\n", a.name, f.err, strings.Join(f.broken, "; "))
		}
		said, err := os.ReadFile(filepath.Join(t.logs, a.name+"-wrapped.txt"))
		if err != nil {
			return false, err
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%s\n", a.name, a.version(), f.requests, before.refused, before.compacted, f.refused, f.compacted, summary.Find(said))
		if err := w.Flush(); err != nil {
			return false, err
		}
	}
	return ok, nil
}

var summary = regexp.MustCompile(`clew: \d+ requests?, .*`)
