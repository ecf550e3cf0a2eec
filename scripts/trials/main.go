// Command trials tries clew with the real agents, against a server on this machine that stands
// in for their models:
//
//	go run ./scripts/trials [-dir DIR] [-gateway [-record FOLDER]|-wrap] [PROGRAM...]
//
// It installs them from the npm registry into DIR, gives them a home folder of their own, and
// lets each fill a session and compact it. Then it checks that what clew gives back stands in
// the next request, that the model gets the exact lines from recall, and that the session goes
// on with clew resume, in the same program and in another. It prints a table and ends with 1
// if a check failed; DIR/logs has what the programs printed and sent.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/clew-dev/clew/model/modeltest"
)

// stepTime is how long a program may take for one prompt.
const stepTime = 2 * time.Minute

func main() {
	dir := flag.String("dir", os.TempDir(), "folder for clew-trials, the programs and their homes")
	through := flag.Bool("gateway", false, "try the gateway")
	wrap := flag.Bool("wrap", false, "try clew wrap, with -window 100000")
	calls := flag.Int("calls", 150, "with -gateway and -wrap: calls of a program")
	window := flag.Int64("window", 64_000, "with -gateway and -wrap: `TOKENS` of the server")
	records := flag.String("record", "", "with -gateway: write a request of each program to this `FOLDER`, with other words")
	flag.Parse()
	list, try := agents, (*trial).tryAll
	if *through {
		list = append(list, sdks()...)
		try = func(t *trial, chosen []*agent) (bool, error) {
			t.records = *records
			return t.tryGateway(chosen, *calls, *window)
		}
	}
	if *wrap {
		try = func(t *trial, chosen []*agent) (bool, error) { return t.tryWrap(chosen, *calls, *window) }
	}
	ok, err := run(*dir, list, flag.Args(), *wrap, try)
	if err != nil {
		fmt.Fprintln(os.Stderr, "trials:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

func run(dir string, list []agent, names []string, plain bool, try func(*trial, []*agent) (bool, error)) (ok bool, err error) {
	var chosen []*agent
	for i := range list {
		if len(names) == 0 || slices.Contains(names, list[i].name) {
			chosen = append(chosen, &list[i])
		}
	}
	if len(chosen) == 0 {
		return false, fmt.Errorf("no program is called %s", strings.Join(names, " or "))
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return false, err
	}
	dir = filepath.Join(dir, "clew-trials") // what is in it is removed
	t := &trial{dir: dir, home: filepath.Join(dir, "home"), project: filepath.Join(dir, "project"), logs: filepath.Join(dir, "logs"), limit: stepTime, size: "60000", full: "50000", share: "0.003", plain: plain}
	if err := t.prepare(); err != nil {
		return false, err
	}
	t.fake = startFake()
	defer t.fake.close()
	t.url = t.fake.url
	// What a session goes on in has to be there as well.
	for i := range list {
		if err := t.install(&list[i]); err != nil {
			return false, err
		}
	}
	return try(t, chosen)
}

// tryAll makes all checks of the programs and prints a row for each.
func (t *trial) tryAll(chosen []*agent) (ok bool, err error) {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "program\tversion\t"+strings.Join(checks, "\t"))
	ok = true
	for _, a := range chosen {
		results := t.try(a)
		row := []string{a.name, a.version()}
		for _, c := range checks {
			r := results[c]
			ok = ok && !strings.HasPrefix(r, "FAILED")
			row = append(row, r)
		}
		fmt.Fprintln(w, strings.Join(row, "\t"))
		if err := w.Flush(); err != nil {
			return false, err
		}
	}
	return ok, nil
}

// trial is a run: its folders and its server.
type trial struct {
	dir, home, project, logs string
	clew                     string
	fake                     *fake
	url                      string // where the programs find their models
	size, full, share        string // what they take for the window, and where they compact
	limit                    time.Duration
	more                     []string // variables of all programs
	plain                    bool     // clew is not set up in them
	first                    string   // where their helpers are looked for first
	said                     string   // by the last program
	records                  string   // where requests are recorded
}

// prepare makes the folders anew and builds clew.
func (t *trial) prepare() error {
	for _, d := range []string{t.home, t.project, t.logs} {
		if err := os.RemoveAll(d); err != nil {
			return err
		}
		if err := os.MkdirAll(d, 0o700); err != nil {
			return err
		}
	}
	t.clew = filepath.Join(t.dir, "bin", "clew")
	if out, err := exec.Command("go", "build", "-o", t.clew, "./cmd/clew").CombinedOutput(); err != nil {
		return fmt.Errorf("build clew: %w\n%s", err, out)
	}
	for name, text := range map[string]string{"clock.go": "package clock\n", "calendar.go": "package clock\n"} {
		if err := os.WriteFile(filepath.Join(t.project, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	if out, err := exec.Command("git", "init", "-q", t.project).CombinedOutput(); err != nil {
		return fmt.Errorf("git init: %w\n%s", err, out)
	}
	return nil
}

// install installs a program, writes its settings and sets clew up in it.
func (t *trial) install(a *agent) error {
	at := filepath.Join(t.dir, cmp.Or(a.in, a.name))
	if _, err := os.Stat(t.program(a)); errors.Is(err, os.ErrNotExist) {
		if err := os.MkdirAll(at, 0o700); err != nil {
			return err
		}
		cmd := exec.Command("npm", append([]string{"install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix", at}, a.npm...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("npm install %s: %w\n%s", strings.Join(a.npm, " "), err, out)
		}
	}
	if err := t.settle(a); err != nil || a.in != "" || t.plain {
		return err
	}
	_, err := t.command(a.name+"-setup", t.clew, "setup", a.name, "--yes")
	return err
}

// settle writes the settings of a program.
func (t *trial) settle(a *agent) error {
	for name, text := range a.files {
		path := filepath.Join(t.home, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(t.expand(text)), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (t *trial) expand(s string) string {
	return strings.NewReplacer("{url}", t.url, "{size}", t.size, "{full}", t.full, "{share}", t.share, "{dir}", t.dir, "{home}", t.home, "{project}", t.project).Replace(s)
}

// command runs a program in the project, with a home of its own and no way to the network,
// and returns its standard output.
func (t *trial) command(log, name string, args ...string) (string, error) {
	ctx, stop := context.WithTimeout(context.Background(), t.limit)
	defer stop()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = t.project
	cmd.WaitDelay = time.Second
	path := []string{filepath.Dir(t.clew), cmp.Or(t.first, filepath.Dir(name)), os.Getenv("PATH")}
	for i := range agents {
		path = append(path, filepath.Dir(t.program(&agents[i])))
	}
	cmd.Env = []string{
		"HOME=" + t.home, "PATH=" + strings.Join(path, string(os.PathListSeparator)), "TERM=dumb", "CI=1",
		"HTTP_PROXY=http://127.0.0.1:9", "HTTPS_PROXY=http://127.0.0.1:9", "NO_PROXY=127.0.0.1,localhost",
	}
	for _, a := range agents {
		for _, e := range a.env {
			cmd.Env = append(cmd.Env, t.expand(e))
		}
	}
	for _, e := range t.more {
		cmd.Env = append(cmd.Env, t.expand(e))
	}
	var out, all strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &all
	err := cmd.Run()
	text := strings.Join(append([]string{name}, args...), " ") + "\n\n" + out.String() + "\n" + all.String()
	if werr := os.WriteFile(filepath.Join(t.logs, log+".txt"), []byte(text), 0o600); werr != nil {
		return "", werr
	}
	if err != nil {
		err = fmt.Errorf("%s: %w; see %s", filepath.Base(name), err, filepath.Join(t.logs, log+".txt"))
	}
	return out.String(), err
}

// The checks, in the order in which they are made.
const (
	checkCompact = "compacts, and clew gives back"
	checkRecall  = "recall"
	checkSame    = "resumed"
	checkOther   = "resumed elsewhere"
)

var checks = []string{checkCompact, checkRecall, checkSame, checkOther}

// The line that has to come back: a check that fails, printed once.
const (
	mark     = "TestTick7391"
	failLine = "--- FAIL: " + mark + " (0.00s)"
	rule     = "Never touch calendar.go, it belongs to another team."
)

var recallTool = regexp.MustCompile(`recall$`)

// step sends one prompt and returns what the program sent.
func (t *trial) step(a *agent, session, name, prompt string, f replyFunc) ([]request, error) {
	word := "STEP-" + name
	breaks := a.breaks
	if session != "" && session != "last" {
		breaks = "" // it is clew that has written the session
	}
	t.fake.begin(word, f, breaks)
	_, err := t.command(a.name+"-"+name, t.program(a), a.args(session, t.expand(prompt+" ("+word+")"))...)
	requests, broken := t.fake.end()
	var log strings.Builder
	for _, r := range requests {
		fmt.Fprintf(&log, "%s %v\n%s\n", r.path, r.main, r.body)
	}
	if werr := os.WriteFile(filepath.Join(t.logs, a.name+"-"+name+"-requests.txt"), []byte(log.String()), 0o600); werr != nil {
		return nil, werr
	}
	switch {
	case len(broken) > 0:
		return requests, errors.New(strings.Join(broken, "; "))
	case err != nil:
		return requests, err
	case !slices.ContainsFunc(requests, func(r request) bool { return r.main }):
		return requests, errors.New("the prompt did not reach the model")
	}
	return requests, nil
}

func (t *trial) program(a *agent) string {
	return filepath.Join(t.dir, cmp.Or(a.in, a.name), "node_modules", a.bin)
}

// try makes all checks of a program.
func (t *trial) try(a *agent) map[string]string {
	out := map[string]string{}
	note := func(check string, err error) {
		out[check] = "yes"
		if err != nil {
			out[check] = "FAILED"
			fmt.Fprintf(os.Stderr, "%s: %s: %v\n", a.name, check, err)
		}
	}
	note(checkCompact, t.compaction(a))
	if a.noRecall {
		out[checkRecall] = "no MCP"
	} else {
		note(checkRecall, t.recall(a))
	}
	note(checkSame, t.resume(a, a))
	other := &agents[(slices.IndexFunc(agents, func(b agent) bool { return b.name == a.name })+1)%len(agents)]
	note(checkOther, t.resume(a, other))
	if out[checkOther] == "yes" {
		out[checkOther] = "in " + other.name
	}
	return out
}

// compaction fills a session until the program compacts it, and looks for the line that its
// model's summary lacks.
func (t *trial) compaction(a *agent) error {
	if _, err := t.step(a, "", "check", rule+" Run the check of the clock.", call("call_check", a.shell, map[string]any{
		a.shellArg: "printf '%s\\n' '" + failLine + "' 'FAIL'; exit 1", "description": "run the check",
	})); err != nil {
		return err
	}
	var long strings.Builder // without repetitions, which Gemini CLI takes for a loop
	for i := range 60 {
		fmt.Fprintf(&long, "At tick %d the clock shows %d seconds. ", i, i*i*7919%86400)
	}
	var sent []request
	for i, full := range []int64{0, 0, a.full} {
		var err error
		if sent, err = t.step(a, "last", fmt.Sprintf("fill%d", i+1), "Tell me about the clock. "+long.String(), text(long.String(), full)); err != nil {
			return err
		}
	}
	reply := text("I go on.", 0)
	if a.full == 0 {
		reply = once(modeltest.Overflow(201_000, 200_000), reply)
	}
	more, err := t.step(a, "last", "compact", "Go on with the clock.", reply)
	if err != nil {
		return err
	}
	sent = append(sent, more...)
	compacted := slices.IndexFunc(sent, func(r request) bool { return r.compacts })
	switch {
	case a.summarizes: // and the model is not asked
	case compacted < 0:
		return errors.New("it did not ask for a summary")
	case a.noHook:
		return nil
	}
	if a.inPrompt { // of the compaction
		if !strings.Contains(sent[compacted].body, "Facts from the log") {
			return errors.New("the facts are not in the prompt of the compaction")
		}
		return nil
	}
	if !slices.ContainsFunc(sent[compacted+1:], func(r request) bool {
		return strings.Contains(r.body, mark) && !strings.Contains(r.body, "call_check") // but as clew gives it
	}) {
		return errors.New("the line of the failing check is not in the requests that follow")
	}
	return nil
}

// recall lets the model ask for the line.
func (t *trial) recall(a *agent) error {
	sent, err := t.step(a, "last", "recall", "What did the check say?", call("call_recall", recallTool, map[string]any{"query": mark}))
	if err != nil {
		return err
	}
	if last := sent[len(sent)-1].last; !strings.Contains(last, failLine) {
		return fmt.Errorf("recall gave %.300s", last)
	}
	return nil
}

// resume carries the session of one program on in another, or in itself.
func (t *trial) resume(a, in *agent) error {
	name := a.name + "-to-" + in.name
	out, err := t.command(name+"-ls", t.clew, "ls", "--json", "--program", a.name)
	if err != nil {
		return err
	}
	var list struct{ Sessions []struct{ ID string } }
	if err := json.Unmarshal([]byte(out), &list); err != nil || len(list.Sessions) == 0 {
		return fmt.Errorf("clew ls does not list the session: %.100s", out)
	}
	if out, err = t.command(name, t.clew, "resume", "--json", "--keep", "1k", "--in", in.name, list.Sessions[0].ID); err != nil {
		return err
	}
	var r struct{ ID, Out, Command string }
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		return err
	}
	if in.loads != nil {
		if _, err := t.command(name+"-load", t.program(in), in.loads(r.Out)...); err != nil {
			return err
		}
	}
	session := r.ID
	if in.byPath {
		session = r.Out
	}
	sent, err := t.step(in, session, "again"+a.name, "Go on where it ended.", text("So I do.", 0))
	if err != nil {
		return err
	}
	// It may compact again, with the summary in what is to be summarized.
	if !slices.ContainsFunc(sent, func(r request) bool {
		return (r.main || r.compacts) && strings.Contains(r.body, "calendar.go") && strings.Contains(r.body, mark)
	}) {
		return errors.New("no request has the summary of the session")
	}
	return nil
}
