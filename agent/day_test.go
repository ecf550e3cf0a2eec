package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/agent/permission"
	"github.com/clew-dev/clew/internal/agent/tool"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/model/anthropic"
	"github.com/clew-dev/clew/model/gemini"
	"github.com/clew-dev/clew/model/modeltest"
	"github.com/clew-dev/clew/model/openai"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
)

// A day is an agent at work in a process of its own, with servers that speak the formats
// of three providers. The process is this test binary again.
type day struct {
	t       testing.TB
	servers map[string]*modeltest.Server // by provider
	control *httptest.Server
	path    string
	calls   int // how many there are to be
	seed    uint64
	runs    uint64

	mu      sync.Mutex
	said    []string // what was accepted, in order
	ids     map[string]string
	heap    map[int]uint64 // by the number of calls
	counted map[string]int
	done    bool
	until   int           // reports and requests until kill is closed; 0 for never
	kill    chan struct{} // closed when the process is to be killed
}

// killAt sets when kill is closed: at the nth report or request from now on.
func (d *day) killAt(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.until, d.kill = n, make(chan struct{})
}

// count is called at each report and request of the other process.
func (d *day) count() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.until--; d.until == 0 {
		close(d.kill)
	}
}

// dayEnv tells the other process where the day is.
const dayEnv = "CLEW_TEST_DAY"

// dayPlan is what it is told.
type dayPlan struct {
	Control string
	Path    string
	Calls   int
	Seed    uint64
	Run     uint64 // counts the processes
	URLs    map[string]string
}

func TestMain(m *testing.M) {
	if plan := os.Getenv(dayEnv); plan != "" {
		if err := live(plan); err != nil {
			fmt.Fprintln(os.Stderr, "the day failed:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// newDay starts the servers. strict ones refuse a request that does not begin as the one
// before it, unless they were told of a pass.
func newDay(t testing.TB, calls int, seed uint64, strict bool) *day {
	d := &day{
		t: t, calls: calls, seed: seed, path: filepath.Join(t.TempDir(), "day.jsonl"),
		servers: map[string]*modeltest.Server{}, ids: map[string]string{}, heap: map[int]uint64{}, counted: map[string]int{},
	}
	r := rand.New(rand.NewPCG(seed, 1))
	for _, p := range []string{"anthropic", "openai", "google"} {
		s := modeltest.Start(modeltest.Config{StablePrefix: strict, BindThinking: p == "anthropic" && strict})
		t.Cleanup(s.Close)
		d.servers[p] = s
		for i := range min(12*calls, 20_000) {
			s.Add(dayReply(r, p, i))
		}
	}
	d.control = httptest.NewServer(d)
	t.Cleanup(d.control.Close)
	return d
}

// dayReply is one answer: most call tools, some fail.
func dayReply(r *rand.Rand, provider string, i int) modeltest.Reply {
	switch n := r.IntN(100); {
	case n < 3:
		return modeltest.Fail(model.KindOverloaded)
	case n < 5:
		return modeltest.Text(words(500)).With(modeltest.Faults{Drop: true, DropAt: 300 + r.IntN(400)})
	case n < 6:
		return modeltest.Truncated("It begins, and then")
	case n < 7:
		return modeltest.RateLimited(0)
	case n < 9:
		return modeltest.Overflow(70_000, 60_000)
	case n < 36:
		return modeltest.Text("Done so far. " + words(r.IntN(3_000)))
	default:
		var blocks []message.Block
		if r.IntN(3) == 0 && provider == "anthropic" {
			blocks = append(blocks, modeltest.Think("I wonder about "+words(200)))
		}
		if r.IntN(2) == 0 {
			blocks = append(blocks, message.TextBlock("Now "+words(r.IntN(1_500))))
		}
		for k := range 1 + r.IntN(3) {
			name := []string{"read", "read", "write", "bash", "nosuch"}[r.IntN(5)]
			blocks = append(blocks, modeltest.Call(fmt.Sprintf("%s_%d_%d", provider, i, k), name, fmt.Sprintf(`{"path":"src/f%d.go","n":%d}`, r.IntN(40), r.IntN(9_000))))
		}
		return modeltest.Answer(blocks...)
	}
}

// ServeHTTP takes what the other process reports.
func (d *day) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	d.count()
	body, _ := io.ReadAll(req.Body)
	d.mu.Lock()
	defer d.mu.Unlock()
	what, arg, _ := strings.Cut(strings.TrimPrefix(req.URL.Path, "/"), "/")
	switch what {
	case "said": // it was accepted
		d.said = append(d.said, string(body))
		d.ids[arg] = string(body)
	case "anew": // the context is another one
		for _, s := range d.servers {
			s.NewConversation()
		}
	case "heap":
		n, _ := strconv.Atoi(arg)
		d.heap[n], _ = strconv.ParseUint(string(body), 10, 64)
	case "count":
		d.counted[arg]++
		if os.Getenv("DAYLOG") != "" {
			d.t.Logf("%s at anthropic %d", arg, len(d.servers["anthropic"].Exchanges()))
		}
	case "done":
		d.done = true
	}
}

// start begins the other process.
func (d *day) start() *exec.Cmd {
	d.t.Helper()
	d.runs++
	plan := dayPlan{Control: d.control.URL, Path: d.path, Calls: d.calls, Seed: d.seed, Run: d.runs, URLs: map[string]string{}}
	for p, s := range d.servers {
		plan.URLs[p] = s.URL
	}
	data, err := json.Marshal(plan)
	if err != nil {
		d.t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), dayEnv+"="+string(data), "GOMAXPROCS=2")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	d.t.Cleanup(func() {
		if d.t.Failed() {
			d.t.Logf("the other process said:\n%.4000s", out.String())
		}
	})
	if err := cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	return cmd
}

// life is the agent in the other process.
type life struct {
	*agent.Agent
	plan   dayPlan
	rand   *rand.Rand
	calls  int
	mu     sync.Mutex
	n      int // of what was said
	hours  int
	events chan struct{} // has room when the agent has something to tell
}

// tell reports something to the other side, and waits until it knows.
func (l *life) tell(what, body string) {
	resp, err := http.Post(l.plan.Control+"/"+what, "text/plain", strings.NewReader(body))
	if err == nil {
		_ = resp.Body.Close()
	}
}

// say sends something, and reports it as soon as it was accepted.
func (l *life) say(when agent.When) {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := fmt.Sprintf("Prompt %d of process %d: do the next thing, and keep rule R-%d.", l.n, l.plan.Run, l.n)
	l.n++
	q, err := l.Send(context.Background(), agent.Input{Text: text, When: when})
	if err == nil {
		l.tell("said/"+q.ID, text)
	}
}

func live(data string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	l := &life{events: make(chan struct{})}
	if err := json.Unmarshal([]byte(data), &l.plan); err != nil {
		return err
	}
	l.rand = rand.New(rand.NewPCG(l.plan.Seed, l.plan.Run))
	if err := l.open(ctx); err != nil {
		return err
	}
	defer l.Close()
	if err := l.Continue(ctx); err != nil {
		return err
	}
	if err := l.Wait(ctx); err != nil {
		return err
	}
	for ctx.Err() == nil {
		n, err := l.results(ctx)
		if err != nil {
			return err
		}
		if l.calls = n; n >= l.plan.Calls {
			break
		}
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		l.tell(fmt.Sprintf("heap/%d", n), fmt.Sprint(m.HeapAlloc))
		if err := l.hour(ctx); err != nil {
			return err
		}
	}
	// What is held, because a turn has failed, is delivered.
	for range 20 {
		if err := l.Wait(ctx); err != nil {
			return err
		}
		if len(l.Queue()) == 0 {
			break
		}
		if err := l.Continue(ctx); err != nil {
			return err
		}
	}
	if err := l.Close(); err != nil {
		return err
	}
	l.tell("done", "")
	return ctx.Err()
}

// hour is a prompt, and something that a user does beside it.
func (l *life) hour(ctx context.Context) error {
	l.say(agent.WhenNext)
	if l.rand.IntN(3) == 0 { // typed while it works
		go func() {
			for range l.n % 7 { // somewhat later
				<-l.events
			}
			l.say(agent.WhenDone)
			l.say(agent.WhenNext)
		}()
	}
	if err := l.Wait(ctx); err != nil {
		return err
	}
	l.hours++
	switch l.hours % 9 {
	case 2, 7: // typed while it compacts
		done := make(chan struct{})
		go func() { l.say(agent.WhenNext); close(done) }()
		res, err := l.Compact(ctx, agent.CompactRequest{Instructions: "keep the rules"})
		<-done
		if err != nil {
			return fmt.Errorf("compact: %w", err)
		}
		if err := l.Wait(ctx); err != nil {
			return err
		}
		if res.Act {
			l.tell("count/compact", "")
		}
	case 4, 8:
		_, err := l.Undo(ctx, session.UndoOptions{KeepLater: true})
		if err != nil && !errors.Is(err, clew.ErrNothingToUndo) && !errors.Is(err, agent.ErrBusy) {
			return fmt.Errorf("undo: %w", err)
		}
		if err == nil {
			l.tell("count/undo", "")
			l.tell("anew", "")
		}
	case 5:
		nodes, err := l.Tree(ctx)
		if err != nil {
			return err
		}
		var users []string
		for _, n := range nodes {
			if n.OnPath && n.Role == message.RoleUser {
				users = append(users, n.ID)
			}
		}
		if len(users) < 4 {
			return nil
		}
		_, err = l.Navigate(ctx, users[len(users)-2], clew.BranchOptions{Summarize: true})
		if err != nil && !errors.Is(err, agent.ErrBusy) {
			return fmt.Errorf("navigate: %w", err)
		}
		l.tell("count/branch", "")
		l.tell("anew", "")
	case 0, 3, 6:
		names := []string{"anthropic/m1000", "openai/m32", "google/m64", "anthropic/m64", "openai-chat/m64", "openai/m64"}
		name := names[l.hours/3%len(names)]
		l.tell("anew", "")
		if err := l.SetModel(ctx, name); err != nil {
			return fmt.Errorf("set the model: %w", err)
		}
		l.tell("anew", "")
		l.tell("count/"+strings.ReplaceAll(name, "/", "-"), "")
	}
	return nil
}

// results counts the results that the log has, on all branches.
func (l *life) results(ctx context.Context) (int, error) {
	nodes, err := l.Tree(ctx)
	n := 0
	for _, node := range nodes {
		if node.Role == message.RoleToolResult {
			n++
		}
	}
	return n, err
}

func (l *life) open(ctx context.Context) error {
	guard, err := permission.New(permission.Config{Mode: permission.ModeAll, Dir: filepath.Dir(l.plan.Path)})
	if err != nil {
		return err
	}
	cfg := agent.Config{
		File: l.plan.Path, Guard: guard, Find: l.find, RetryBase: time.Millisecond, RetryMax: 2 * time.Millisecond,
		Open: func(ctx context.Context, c clew.Config) (*clew.Session, error) {
			return clew.Open(ctx, l.plan.Path, c)
		},
	}
	logging := os.Getenv("DAYLOG") != ""
	cfg.Events = func(e agent.Event) {
		select {
		case l.events <- struct{}{}:
		default:
		}
		if logging && (e.Kind == agent.KindWarning || e.Kind == agent.KindTurnEnd || e.Kind == agent.KindState) {
			fmt.Println(e.Kind, e.Text, e.Outcome, e.Error)
			if e.State != nil {
				fmt.Println(e.State.Doing, e.State.Model, e.State.Window, e.State.WindowFrom, e.State.Tokens)
			}
		}
	}
	cfg.Engine.Policy.Reserve = compact.Percent(20)
	cfg.Engine.Hooks = []clew.Hooks{{OnEvent: func(_ context.Context, e clew.Event) {
		if e.Kind == clew.EventPassEnd && len(e.Entries) > 0 {
			l.tell("count/pass-"+string(e.Reason), "")
			if os.Getenv("DAYLOG") != "" {
				l.tell("count/"+strings.ReplaceAll(fmt.Sprintf("%v %+v", e.After, e.Plan.Stages), "/", "_"), "")
			}
			l.tell("anew", "")
		}
	}}}
	for _, name := range []string{"read", "write", "bash"} {
		kind := map[string]tool.Kind{"read": tool.Read, "write": tool.Write, "bash": tool.Run}[name]
		cfg.Tools = append(cfg.Tools, &fake{name: name, kind: kind, do: func(_ context.Context, c tool.Call) (tool.Result, error) {
			var args struct{ N int }
			if err := json.Unmarshal(c.Arguments, &args); err != nil {
				return tool.Result{}, err
			}
			n := args.N
			if n%50 == 0 {
				n *= 30 // large, now and then
			}
			return tool.Text(words(n)), nil
		}})
	}
	if cfg.Model, err = l.find(ctx, "anthropic/m64"); err != nil {
		return err
	}
	if cfg.Model, err = l.resumed(ctx, cfg.Model); err != nil {
		return err
	}
	l.Agent, err = agent.New(ctx, cfg)
	return err
}

// resumed is the model of the log.
func (l *life) resumed(ctx context.Context, or model.Model) (model.Model, error) {
	f, err := jsonl.Open(ctx, l.plan.Path, jsonl.Options{ReadOnly: true})
	if err != nil {
		return or, nil
	}
	defer f.Close()
	last, err := f.Last(ctx)
	if err != nil || last == nil {
		return or, nil
	}
	m, err := session.ModelAt(ctx, f, last.ID)
	if err != nil || m.ID == "" {
		return or, err
	}
	return l.find(ctx, m.Provider+"/"+m.ID)
}

// find makes a model of a name.
func (l *life) find(_ context.Context, name string) (model.Model, error) {
	provider, id, _ := strings.Cut(name, "/")
	window := map[string]int64{"m64": 64_000, "m1000": 1_000_000, "m32": 32_000}[id]
	at := model.Endpoint{
		Model: id, Provider: provider, Key: model.NewKey(modeltest.Key),
		Transport: model.NewTransport(model.TransportConfig{Retry: model.Retry{Attempts: 1}}),
		Info:      &model.Info{Provider: provider, Model: id, Window: window, MaxOutput: 8_000},
	}
	switch provider {
	case "anthropic":
		at.BaseURL, at.Info.API = l.plan.URLs["anthropic"], "anthropic-messages"
		return anthropic.New(anthropic.Config{Endpoint: at})
	case "google":
		at.BaseURL, at.Info.API = l.plan.URLs["google"]+"/v1beta", "google-generative-ai"
		return gemini.New(gemini.Config{Endpoint: at})
	case "openai":
		at.BaseURL, at.Info.API = l.plan.URLs["openai"]+"/v1", "openai-responses"
		return openai.NewResponses(openai.Config{Endpoint: at})
	case "openai-chat":
		at.BaseURL, at.Info.API = l.plan.URLs["openai"]+"/v1", "openai-completions"
		return openai.NewChat(openai.Config{Endpoint: at})
	}
	return nil, fmt.Errorf("no model %q", name)
}

// check looks at what is left when the day is over.
func (d *day) check(strict bool) {
	d.t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	requests := 0
	for p, s := range d.servers {
		for _, v := range s.Violations() {
			d.t.Errorf("%s: %.600s", p, v)
		}
		for _, x := range s.Exchanges() {
			requests++
			limit := 1_000_000
			for id, n := range map[string]int{"m64": 64_000, "m32": 32_000} {
				if bytes.Contains(x.Request[:min(len(x.Request), 200)], []byte(`"`+id+`"`)) || strings.Contains(x.Path, id) {
					limit = n
				}
			}
			if len(x.Request)/4 > limit {
				d.t.Errorf("%s: a request of about %d tokens to a model of %d", p, len(x.Request)/4, limit)
			}
		}
		if s.Left() == 0 {
			d.t.Errorf("%s had no more answers", p)
		}
	}
	ctx := context.Background()
	f, err := jsonl.Open(ctx, d.path, jsonl.Options{ReadOnly: true})
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	problems, err := f.Verify(ctx)
	if err != nil {
		d.t.Fatal(err)
	}
	for _, p := range problems {
		d.t.Errorf("the session has a problem: %v", p)
	}
	lost, err := clew.VerifySpilled(ctx, f, d.path)
	if err != nil || len(lost) > 0 {
		d.t.Errorf("spilled output: %v, %v", lost, err)
	}
	seen := map[string]int{}
	copies := map[string]bool{}
	for e, err := range f.All(ctx) {
		if err != nil {
			d.t.Fatal(err)
		}
		if e.CopyOf() != "" { // an undo has appended it again
			copies[e.ID] = true
			continue
		}
		if e.Type != session.TypeMessage {
			continue
		}
		if m, err := e.Message(); err == nil && m.UserWords() {
			seen[m.Text()]++
			if want, ok := d.ids[e.ID]; ok && want != m.Text() {
				d.t.Errorf("entry %s says %q, and %q was accepted under that id", e.ID, m.Text(), want)
			}
		}
	}
	waiting, err := os.ReadFile(clew.QueueFile(d.path))
	if err == nil {
		d.t.Errorf("at the end of the day these wait: %.2000s", waiting)
	}
	for _, text := range d.said {
		if seen[text] != 1 {
			d.t.Errorf("%q was accepted, and stands in the session %d times", text, seen[text])
		}
	}
	d.t.Logf("%d requests, %d prompts, %v", requests, len(d.said), d.counted)
}

// TestDay: 400 calls over windows of 64k, 1M and 32k with four formats of three providers,
// with failures of every kind.
func TestDay(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes a while")
	}
	seed := uint64(7)
	if s, err := strconv.ParseUint(os.Getenv("DAYSEED"), 10, 64); err == nil {
		seed = s
	}
	d := newDay(t, 400, seed, true)
	cmd := d.start()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if !d.done {
		t.Fatal("the work has not ended")
	}
	d.check(true)
	for _, what := range []string{"compact", "undo", "branch", "pass-threshold", "openai-m32", "anthropic-m1000", "google-m64", "openai-chat-m64"} {
		if d.counted[what] == 0 {
			t.Errorf("there was no %s in the day", what)
		}
	}
	// Memory is flat: what is in use late in the day is not much more than early.
	var at []int
	for n := range d.heap {
		at = append(at, n)
	}
	slices.Sort(at)
	early, late := uint64(0), uint64(0)
	for _, n := range at {
		if n <= 150 {
			early = max(early, d.heap[n])
		}
		if n >= 300 {
			late = max(late, d.heap[n])
		}
	}
	t.Logf("heap: %d KiB early, %d KiB late", early>>10, late>>10)
	if early == 0 || late > 2*early+(8<<20) {
		t.Errorf("memory has grown from %d to %d bytes", early, late)
	}
}

// TestDayOfKills: the same, killed at random moments; each time it goes on with all that
// was accepted.
func TestDayOfKills(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes a while")
	}
	d := newDay(t, 1<<20, 11, false) // until it was killed often enough
	r := rand.New(rand.NewPCG(3, 3))
	kills := 20
	if n, err := strconv.Atoi(os.Getenv("DAYKILLS")); err == nil {
		kills = n
	}
	for i := range kills {
		d.killAt(1 + r.IntN(40))
		cmd := d.start()
		<-d.kill
		if err := cmd.Process.Kill(); err != nil {
			t.Fatalf("kill %d: %v", i, err)
		}
		err := cmd.Wait()
		if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.Exited() {
			t.Fatalf("it ended by itself before kill %d: %v", i, err)
		}
	}
	d.killAt(0)
	d.calls = 0 // open it once more and deliver what waits
	if err := d.start().Wait(); err != nil {
		t.Fatal(err)
	}
	d.check(false)
	if len(d.said) < kills {
		t.Errorf("only %d prompts were accepted", len(d.said))
	}
}
