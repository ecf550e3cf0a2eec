package replay

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/replay/measure"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// spy is a policy that notes what it is given.
type spy struct {
	mu   sync.Mutex
	seen []Prefix
}

func (*spy) Name() string  { return "spy" }
func (*spy) About() string { return "" }
func (*spy) Frame() string { return "" }

func (s *spy) Replace(_ context.Context, p Prefix) (Replacement, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, p)
	for i := range p.Dropped { // a policy may do with it what it likes
		p.Dropped[i] = session.Item{Message: message.User("spoilt", p.Dropped[i].Message.Time()), Entry: p.Dropped[i].Entry}
	}
	return Replacement{Text: "seen"}, nil
}

// What a policy is given are the messages before the point, in order, and the
// messages alone: nothing after the point, and no prompt.
func TestNothingOfTheFutureReachesAPolicy(t *testing.T) {
	s := longSession(t, 1, 100)
	items := session.Project(s.Path).Items[1:] // without the prompt
	p := &spy{}
	r, err := Run(context.Background(), []Session{s}, Options{Policies: []Policy{p}})
	if err != nil {
		t.Fatal(err)
	}
	points := r.Sessions[0].Points
	if len(points) != PerSession {
		t.Fatalf("%d points: %s", len(points), r.Sessions[0].Skipped)
	}
	if len(p.seen) != len(points) {
		t.Fatalf("asked %d times at %d points", len(p.seen), len(points))
	}
	for i, pre := range p.seen {
		at := points[i].At
		given := append(pre.Dropped[:len(pre.Dropped):len(pre.Dropped)], pre.Kept...)
		if len(given) != at {
			t.Fatalf("%d messages given at a point after %d", len(given), at)
		}
		for k, it := range given {
			if it.Entry != items[k].Entry {
				t.Fatalf("message %d of point %d is another", k, i)
			}
		}
		if items[at].Message.Role != message.RoleAssistant {
			t.Errorf("the future of point %d begins with %s", i, items[at].Message.Role)
		}
		if pre.Kept[0].Message.Role == message.RoleToolResult {
			t.Errorf("the tail of point %d begins with a result", i)
		}
		if n := tokensOf(pre.Kept); n > DefaultTail || n < DefaultTail/2 {
			t.Errorf("the tail of point %d has %d tokens", i, n)
		}
		for _, it := range append(pre.Kept[len(pre.Kept):cap(pre.Kept)], pre.Dropped[len(pre.Dropped):cap(pre.Dropped)]...) {
			if it.Entry != nil {
				t.Errorf("behind what is given at point %d lies more", i)
			}
		}
	}
}

func tokensOf(items []session.Item) int {
	n := 0
	for _, it := range items {
		m, _ := neutral(it.Message)
		n += m.Size()
	}
	return (n + 2) / 3
}

// Texts depend on the prefix alone: with another future they are the same.
func TestAnotherFutureTheSameTexts(t *testing.T) {
	s := longSession(t, 2, 56)
	few, err := FindPolicies([]string{"clew", "turns", "mask", "extract", "soup"})
	if err != nil {
		t.Fatal(err)
	}
	texts := func(s Session) map[string]string {
		out := map[string]string{}
		_, err := Run(context.Background(), []Session{s}, Options{Policies: few, Text: func(t Text) {
			out[fmt.Sprintf("%s at %d", t.Policy, t.Point)] = t.Text
		}})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	whole := texts(s)
	// Other words behind the first point, as many messages.
	var first int
	for k := range whole {
		var at int
		if _, err := fmt.Sscanf(k[strings.LastIndex(k, " ")+1:], "%d", &at); err != nil {
			t.Fatal(err)
		}
		if first == 0 || at < first {
			first = at
		}
	}
	changed := s
	changed.Path = append([]*session.Entry(nil), s.Path[:first+1]...) // the prompt is one more
	for _, e := range s.Path[first+1:] {
		m, err := e.Message()
		if err != nil {
			t.Fatal(err)
		}
		if m.Role == message.RoleAssistant {
			blocks := append([]message.Block{message.TextBlock("other words here")}, m.Content...)
			if e, err = session.ParseEntry(jsonx.Set(e.Raw(), "message", m.WithContent(blocks).JSON())); err != nil {
				t.Fatal(err)
			}
		}
		changed.Path = append(changed.Path, e)
	}
	same := 0
	for k, text := range texts(changed) {
		if strings.HasSuffix(k, fmt.Sprintf(" at %d", first)) {
			same++
			if whole[k] != text {
				t.Errorf("%s: another text with another future", k)
			}
		}
	}
	if same != len(few) {
		t.Errorf("%d texts were compared", same)
	}
}

func TestDeterministicAndParallel(t *testing.T) {
	sessions := []Session{longSession(t, 3, 60), longSession(t, 4, 52)}
	few, err := FindPolicies([]string{"clew", "mask", "extract"})
	if err != nil {
		t.Fatal(err)
	}
	one, err := Run(context.Background(), sessions, Options{Policies: few, Parallel: 1, Chain: true})
	if err != nil {
		t.Fatal(err)
	}
	two, err := Run(context.Background(), sessions, Options{Policies: few, Parallel: 3, Chain: true})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(one, two) {
		t.Error("two runs gave two reports")
	}
	for _, row := range one.Rows(false) {
		if row.Gates.Unstable+row.Gates.OverBudget > 0 {
			t.Errorf("%s: %+v", row.Policy, row.Gates)
		}
		if row.Points == 0 {
			t.Errorf("%s was never scored", row.Policy)
		}
	}
}

// Every policy keeps to its budget, whatever it is.
func TestPoliciesKeepToTheirBudget(t *testing.T) {
	s := longSession(t, 6, 52)
	for _, budget := range []int{60, 20_000} {
		_, err := Run(context.Background(), []Session{s}, Options{Budget: budget, Cost: CostOptions{Summary: 4000}, Text: func(x Text) {
			if n := measure.Tokens(x.Text); n > budget {
				t.Errorf("%s took %d tokens of %d", x.Policy, n, budget)
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestOrderOfPolicies(t *testing.T) {
	sessions := []Session{longSession(t, 7, 60)}
	r, err := Run(context.Background(), sessions, Options{})
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]Row{}
	for _, row := range r.Rows(false) {
		rows[row.Policy] = row
	}
	if v := rows["soup"]; v.Contextual.Value > .05 || v.Recall.Value < .9 || v.Gates.Lists == 0 {
		t.Errorf("soup: %+v", v)
	}
	if v := rows["tail"]; v.Recall.Value != 0 || v.Tokens != 0 {
		t.Errorf("tail: %+v", v)
	}
	if v := rows["files"]; v.TrailF1.Value < .95 || v.Instructions.Value < .95 {
		t.Errorf("files: trail %v, instructions %v", v.TrailF1, v.Instructions)
	}
	if a, b := rows["extract"], rows["truncate"]; a.Contextual.Value < b.Contextual.Value {
		t.Errorf("a longer tail (%v) beats extraction (%v)", b.Contextual, a.Contextual)
	}
}

func TestTooShortIsNamed(t *testing.T) {
	short := longSession(t, 9, 10)
	empty := Session{Name: "empty"}
	r, err := Run(context.Background(), []Session{short, empty, longSession(t, 10, 60)}, Options{Policies: []Policy{&spy{}}})
	if err != nil {
		t.Fatal(err)
	}
	if s := r.Sessions[0]; len(s.Points) > 0 || !strings.Contains(s.Skipped, "too short") {
		t.Errorf("%+v", s)
	}
	if s := r.Sessions[1]; s.Skipped == "" {
		t.Errorf("%+v", s)
	}
	for _, row := range r.Rows(false) {
		if row.Sessions != 1 {
			t.Errorf("%s counts %d sessions: a short one is no zero", row.Policy, row.Sessions)
		}
	}
}

// A recorded compaction is a point of its own, with the size of its summary.
func TestRecordedPoints(t *testing.T) {
	l := newLogged(t)
	rng := rand.New(rand.NewPCG(11, 1))
	l.talk(rng, 60)
	path, err := l.log.Path(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	kept := path[len(path)-6].ID
	summary := "## Goal\n" + strings.Repeat("handleACase0 breaks when the parser reads the list\n", 40)
	l.append(session.NewCompaction(session.Compaction{Summary: summary, FirstKeptEntryID: kept}))
	l.talk(rng, 40)
	l.append(session.NewCompaction(session.Compaction{Summary: "encrypted", FirstKeptEntryID: kept}))
	l.talk(rng, 5)
	s := l.session("recorded")
	p := &spy{}
	r, err := Run(context.Background(), []Session{s}, Options{Policies: []Policy{p, Policies()[0]}})
	if err != nil {
		t.Fatal(err)
	}
	res := r.Sessions[0]
	var pt *PointResult
	for i := range res.Points {
		if res.Points[i].Recorded {
			pt = &res.Points[i]
		} else if res.Points[i].At > len(path) {
			t.Errorf("a free point at %d, behind the rewrite after %d", res.Points[i].At, len(path))
		}
	}
	if pt == nil {
		t.Fatalf("no recorded point: %v", res.SkippedRecorded)
	}
	if want := measure.Tokens(summary); pt.Budget != want {
		t.Errorf("a budget of %d for a summary of %d", pt.Budget, want)
	}
	if _, ok := pt.Scores[RecordedPolicy]; !ok || len(pt.Scores) != 3 {
		t.Errorf("scores of %v", reflect.ValueOf(pt.Scores).MapKeys())
	}
	last := p.seen[len(p.seen)-1]
	if last.Kept[0].Entry.ID != kept {
		t.Errorf("the tail begins with %s, not with %s as recorded", last.Kept[0].Entry.ID, kept)
	}
	if len(res.SkippedRecorded) != 1 {
		t.Errorf("the second has no summary to speak of: %v", res.SkippedRecorded)
	}
	if len(r.Rows(true)) != 3 || r.Rows(true)[2].Policy != RecordedPolicy {
		t.Errorf("rows: %+v", r.Rows(true))
	}
	repaired, err := Run(context.Background(), []Session{s}, Options{Policies: []Policy{p}, Repair: true})
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]Row{}
	for _, row := range repaired.Rows(true) {
		rows[row.Policy] = row
	}
	recorded, hook := rows[RecordedPolicy], rows[HookPolicy]
	if hook.Tokens <= recorded.Tokens || hook.Recall.Value <= recorded.Recall.Value || hook.Gates.OverBudget > 0 {
		t.Errorf("with the hook %.2f in %d tokens (%+v), without it %.2f in %d", hook.Recall.Value, hook.Tokens, hook.Gates, recorded.Recall.Value, recorded.Tokens)
	}
	if lines := rows[LinesPolicy]; lines.Tokens > hook.Tokens+1 || lines.Tokens*10 < hook.Tokens*9 {
		t.Errorf("the control has %d tokens beside %d of the hook", lines.Tokens, hook.Tokens)
	}
}

func TestErrors(t *testing.T) {
	s := longSession(t, 12, 60)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Run(ctx, []Session{s}, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled run gave %v", err)
	}
	boom := errors.New("boom")
	_, err := Run(context.Background(), []Session{s, s, s}, Options{Policies: []Policy{failing{boom}}})
	if !errors.Is(err, boom) || !strings.Contains(err.Error(), "long-12") || !strings.Contains(err.Error(), "failing") {
		t.Errorf("the error of a policy came back as %v", err)
	}
	for _, opt := range []Options{{Budget: -1}, {Tail: -1}, {Cost: CostOptions{Window: 10_000}}} {
		if _, err := Run(context.Background(), nil, opt); err == nil {
			t.Errorf("%+v was taken", opt)
		}
	}
	if _, err := FindPolicies([]string{"clew", "nope"}); err == nil || !strings.Contains(err.Error(), "clew, pi, synapse, turns, semantic, mask") {
		t.Errorf("an unknown policy: %v", err)
	}
	if r, err := Run(context.Background(), nil, Options{}); err != nil || len(r.Sessions) != 0 {
		t.Errorf("no sessions: %v", err)
	}
}

type failing struct{ err error }

func (failing) Name() string  { return "failing" }
func (failing) About() string { return "" }
func (failing) Frame() string { return "" }

func (f failing) Replace(context.Context, Prefix) (Replacement, error) { return Replacement{}, f.err }

// A chain of compactions sees all that is dropped, each part once, and each time
// the summary before it.
func TestChain(t *testing.T) {
	s := longSession(t, 13, 80)
	st := s.stretches()[0]
	opt := Options{}
	if err := opt.setDefaults(); err != nil {
		t.Fatal(err)
	}
	points, why := freePoints(&s, st, &opt)
	if len(points) == 0 {
		t.Fatal(why)
	}
	pt := points[len(points)-1]
	for n := 1; n <= Generations; n++ {
		parts := &partsPolicy{}
		text, err := pt.generations(context.Background(), parts, n, 1000)
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("generation %d", n); text != want {
			t.Errorf("after %d compactions: %q", n, text)
		}
		var got []string
		for i, pre := range parts.seen {
			items := pre.Dropped
			if i > 0 {
				if m := items[0].Message; m.Role != message.RoleCompactionSummary || m.Summary != fmt.Sprintf("generation %d", i) {
					t.Errorf("part %d begins with %s %q", i, m.Role, m.Summary)
				}
				items = items[1:]
			}
			if items[0].Message.Role == message.RoleToolResult {
				t.Errorf("part %d begins with a result", i)
			}
			for _, it := range items {
				got = append(got, it.Entry.ID)
			}
		}
		var want []string
		for _, it := range pt.prefix.Dropped {
			want = append(want, it.Entry.ID)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%d compactions saw %d messages of %d, or in another order", n, len(got), len(want))
		}
	}
}

type partsPolicy struct{ seen []Prefix }

func (*partsPolicy) Name() string  { return "parts" }
func (*partsPolicy) About() string { return "" }
func (*partsPolicy) Frame() string { return "" }

func (p *partsPolicy) Replace(_ context.Context, pre Prefix) (Replacement, error) {
	p.seen = append(p.seen, pre)
	return Replacement{Text: fmt.Sprintf("generation %d", len(p.seen))}, nil
}

// Sessions are taken one by one, and of two recordings of one session the longer
// counts, in whatever order they come.
func TestPlayTakesSessionsAsItGoes(t *testing.T) {
	short, long := longSession(t, 14, 10), longSession(t, 14, 60)
	short.ID, long.ID = "one", "one"
	short.Name, long.Name = "short", "long"
	for _, order := range [][]Session{{short, long}, {long, short}} {
		r, err := Run(context.Background(), order, Options{Policies: []Policy{&spy{}}})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Sessions) != 1 || r.Sessions[0].Name != "long" || len(r.Again) != 1 || r.Again[0] != (Again{"short", "long"}) {
			t.Errorf("counted %v, not %v", r.Sessions, r.Again)
		}
	}
	taken := 0
	ctx, cancel := context.WithCancel(context.Background())
	_, err := Play(ctx, func(yield func(Session) bool) {
		for range 50 {
			if taken++; taken == 3 {
				cancel()
			}
			if !yield(short) {
				return
			}
		}
	}, Options{Policies: []Policy{&spy{}}, Parallel: 1})
	if !errors.Is(err, context.Canceled) || taken > 4 {
		t.Errorf("after the end %d sessions were taken (%v)", taken, err)
	}
}

// Hundreds of edits in a row, as a pass writes them, are one rewrite, and one that
// ends with a compaction is that compaction.
func TestEditsAndACompactionAreOneRewrite(t *testing.T) {
	l := newLogged(t)
	rng := rand.New(rand.NewPCG(15, 1))
	l.talk(rng, 60)
	before := l.session("before").Path
	var drafts []session.Draft
	for _, e := range before {
		if m, err := e.Message(); err == nil && m.Role == message.RoleToolResult {
			drafts = append(drafts, session.NewContextEdit(session.ContextEdit{TargetID: e.ID, Omit: true}))
		}
	}
	drafts = append(drafts,
		session.NewCustomMessage(session.CustomExcerpt, []message.Block{message.TextBlock("left of it")}, false, nil),
		session.NewCompaction(session.Compaction{Summary: "short", FirstKeptEntryID: before[len(before)-4].ID}))
	l.append(drafts...)
	l.talk(rng, 30)
	s := l.session("after")
	parts := s.stretches()
	if len(parts) != 2 || parts[0].rewrite.Type != session.TypeCompaction || len(parts[0].items) != len(before) {
		t.Fatalf("%d stretches, the first of %d messages, ended by %v", len(parts), len(parts[0].items), parts[0].rewrite)
	}
	if first := parts[1].digests[0]; first.Kind != measure.Summary {
		t.Errorf("the second begins with kind %d", first.Kind)
	}
	r, err := Run(context.Background(), []Session{s}, Options{Policies: []Policy{&spy{}}})
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Sessions[0]; len(got.Points) == 0 || got.Messages != len(before)+64 {
		t.Errorf("%d messages, %d points: %s", got.Messages, len(got.Points), got.Skipped)
	}
}
