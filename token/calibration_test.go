package token_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/token"
)

const (
	learnProvider = "acme"
	learnModel    = "m-1"
)

// talk makes a conversation whose provider counts as a counter does, times a ratio.
type talk struct {
	counter token.Counter
	ratio   float64
	prompt  float64
	at      int64
	learner *token.Learner
}

func newTalk(ratio float64) *talk {
	c := token.Heuristic(token.Universal)
	return &talk{c, ratio, 5000, 1_750_000_000_000, token.NewLearner(token.Calibration{}, c, learnProvider, learnModel)}
}

func (k *talk) grow(m *message.Message) *message.Message {
	k.prompt += float64(k.counter.Message(m)) * k.ratio
	return m
}

// answer is an answer with the usage that belongs to the prompt before it.
func (k *talk) answer(blocks ...message.Block) *message.Message {
	k.at += 60_000
	m := message.Assistant(time.UnixMilli(k.at), blocks...)
	m.Provider, m.Model = learnProvider, learnModel
	m.Usage = &message.Usage{Input: 1000, CacheRead: int64(k.prompt) - 1000, Output: 50}
	return k.grow(m)
}

func (k *talk) result(words int) *message.Message {
	return k.grow(message.ToolResult("id", "read", strings.Repeat("word and ", words), false, time.UnixMilli(k.at)))
}

func (k *talk) call() message.Block {
	return message.ToolCallBlock("id", "read", json.RawMessage(`{"path":"a/b/c.go"}`))
}

// calls adds so many answers with a call, each with its result.
func (k *talk) calls(n int) {
	for i := range n {
		k.learner.Add(k.answer(message.TextBlock("Let me look."), k.call()))
		k.learner.Add(k.result(100 + 37*i%300))
	}
}

// What was off by a factor is no longer, after some calls; and the guard comes
// down where estimates are good.
func TestLearnsTheFactor(t *testing.T) {
	for _, ratio := range []float64{.6, .8, 1, 1.2, 1.5, 1.9} {
		k := newTalk(ratio)
		k.calls(2)
		few := k.learner.Calibration()
		k.calls(10)
		ten := k.learner.Calibration()
		k.calls(80)
		many := k.learner.Calibration()
		off := func(c token.Calibration) float64 { return math.Abs(c.Factor()/ratio - 1) }
		if ratio != 1 && (off(few) <= off(ten) || off(ten) <= off(many)) {
			t.Errorf("ratio %v: %v, %v, %v do not come nearer", ratio, few.Factor(), ten.Factor(), many.Factor())
		}
		if off(many) > .03 || many.Calls != 91 {
			t.Errorf("ratio %v: the factor is %v after %d calls", ratio, many.Factor(), many.Calls)
		}
		if many.Guard() > 1.17 || many.Slices < 15 {
			t.Errorf("ratio %v: the guard is %v after %d slices", ratio, many.Guard(), many.Slices)
		}
	}
}

// Nothing is learnt from calls that say something else than what the text costs.
func TestLearnsNothingFrom(t *testing.T) {
	user := message.User("and now this", at)
	injected := message.User("a reminder", at)
	injected.Origin = message.OriginInjected
	shell := &message.Message{Role: message.RoleBashExecution, Command: "ls", Output: "x"}
	picture := message.ToolResult("id", "look", "", false, at).WithContent([]message.Block{message.ImageBlock("image/png", "")})
	for name, play := range map[string]func(k *talk){
		"thinking": func(k *talk) {
			k.learner.Add(k.answer(message.ThinkingBlock("hm", "sig"), k.call()))
			k.learner.Add(k.result(300))
		},
		"reported reasoning": func(k *talk) {
			m := k.answer(k.call())
			m.Usage.Reasoning = 40
			k.learner.Add(m)
			k.learner.Add(k.result(300))
		},
		"hidden reasoning": func(k *talk) {
			m := k.answer(k.call())
			m.Usage.Output = 5000
			k.learner.Add(m)
			k.learner.Add(k.result(300))
		},
		"words of the user": func(k *talk) {
			k.learner.Add(k.answer(k.call()))
			k.learner.Add(k.result(300))
			k.learner.Add(k.grow(user))
		},
		"a reminder": func(k *talk) {
			k.learner.Add(k.answer(k.call()))
			k.learner.Add(k.result(300))
			k.learner.Add(k.grow(injected))
		},
		"a shell run": func(k *talk) {
			k.learner.Add(k.answer(k.call()))
			k.learner.Add(k.result(300))
			k.learner.Add(k.grow(shell))
		},
		"a picture": func(k *talk) {
			k.learner.Add(k.answer(k.call()))
			k.learner.Add(k.result(300))
			k.learner.Add(k.grow(picture))
		},
		"a pass": func(k *talk) {
			k.learner.Add(k.answer(k.call()))
			k.learner.Add(k.result(300))
			k.learner.Break()
		},
		"no usage": func(k *talk) {
			m := k.answer(k.call())
			m.Usage = nil
			k.learner.Add(m)
			k.learner.Add(k.result(300))
		},
		"zero usage": func(k *talk) {
			m := k.answer(k.call())
			m.Usage = &message.Usage{Output: 50, TotalCount: 50}
			k.learner.Add(m)
			k.learner.Add(k.result(300))
		},
		"another model": func(k *talk) {
			m := k.answer(k.call())
			m.Model = "m-2"
			k.learner.Add(m)
			k.learner.Add(k.result(300))
		},
		"little growth": func(k *talk) {
			k.ratio = 1.1
			k.learner.Add(k.answer(k.call()))
			k.learner.Add(k.result(2))
		},
	} {
		k := newTalk(1.5)
		for range 20 {
			play(k)
		}
		if c := k.learner.Calibration(); c.Calls != 0 || c.Slices != 0 || c.Factor() != 1 || c.Guard() != 0 {
			t.Errorf("%s: %s", name, c.Explain())
		}
		// And when that is over, it learns.
		k.learner.Break()
		k.calls(3)
		if c := k.learner.Calibration(); c.Calls != 2 {
			t.Errorf("%s: %d calls were learnt from after it", name, c.Calls)
		}
	}
}

// What is not sent is as if it had not been: an answer that failed, a shell run
// that is kept out.
func TestLearnsPastWhatIsNotSent(t *testing.T) {
	k := newTalk(1.3)
	failed := message.Assistant(at, message.TextBlock("half an ans"))
	failed.StopReason = message.StopError
	for range 30 {
		k.learner.Add(k.answer(k.call()))
		k.learner.Add(failed)
		k.learner.Add(&message.Message{Role: message.RoleBashExecution, Command: "ls", ExcludeFromContext: true})
		k.learner.Add(k.result(300))
	}
	if c := k.learner.Calibration(); c.Calls != 29 {
		t.Errorf("%d calls were learnt from", c.Calls)
	}
}

// One report that is wrong changes little, and one that is absurd nothing at all.
func TestOneWeirdReport(t *testing.T) {
	for _, c := range []struct {
		times   float64
		refused bool
	}{{3, false}, {.3, false}, {40, true}, {1e9, true}, {0, true}, {-3, true}} {
		k := newTalk(1.2)
		k.calls(30)
		before := k.learner.Calibration()
		k.learner.Add(k.answer(k.call()))
		was := k.prompt
		k.result(500)
		grown := k.prompt - was
		weird := k.answer(k.call())
		weird.Usage = &message.Usage{Input: max(0, int64(was+c.times*grown))}
		k.learner.Add(message.ToolResult("id", "read", strings.Repeat("word and ", 500), false, at))
		k.learner.Add(weird)
		after := k.learner.Calibration()
		if d := math.Abs(after.Factor()/before.Factor() - 1); d > .02 {
			t.Errorf("%v times the growth moved the factor by %v", c.times, d)
		}
		if c.refused && after.Refused == 0 {
			t.Errorf("%v times the growth was learnt from", c.times)
		}
		if after.Guard() > before.Guard()+.26 {
			t.Errorf("%v times the growth raised the guard from %v to %v", c.times, before.Guard(), after.Guard())
		}
		k.learner.Break()
		k.calls(30)
		if d := math.Abs(k.learner.Calibration().Factor()/1.2 - 1); d > .02 {
			t.Errorf("%v times the growth is not forgotten: %v", c.times, k.learner.Calibration().Explain())
		}
	}
}

// Whatever is reported, what is learnt stays within its bounds, comes back from
// JSON as it was, and goes on as if it had never been written.
func TestLearnerProperties(t *testing.T) {
	rnd := rand.New(rand.NewPCG(11, 12))
	learnt, raised := 0, 0
	for range 300 {
		k := newTalk(.3 + 3*rnd.Float64())
		wild := rnd.IntN(4) == 0
		other := token.NewLearner(token.Calibration{}, k.counter, learnProvider, learnModel)
		stop := rnd.IntN(60)
		for i := range 60 {
			if i == stop {
				// Only between conversations is all that there is in the calibration.
				k.learner.Break()
				data, err := json.Marshal(k.learner.Calibration())
				if err != nil {
					t.Fatal(err)
				}
				var c token.Calibration
				if err := json.Unmarshal(data, &c); err != nil {
					t.Fatalf("%s: %v", data, err)
				}
				other = token.NewLearner(c, k.counter, learnProvider, learnModel)
			}
			a, r := k.answer(k.call()), k.result(rnd.IntN(400))
			if wild {
				a.Usage = &message.Usage{Input: rnd.Int64() >> rnd.IntN(64), CacheRead: rnd.Int64() >> rnd.IntN(64), Output: rnd.Int64() >> rnd.IntN(64)}
			}
			for _, l := range []*token.Learner{k.learner, other} {
				l.Add(a)
				l.Add(r)
			}
		}
		c, again := k.learner.Calibration(), other.Calibration()
		if f := c.Factor(); f < .5 || f > 2 {
			t.Fatalf("the factor is %v", f)
		}
		if g := c.Guard(); g != 0 && (g < 1.12 || g > 2) {
			t.Fatalf("the guard is %v", g)
		}
		if len(c.Recent) > 8 || c.Calls > 60 {
			t.Fatal(c.Explain())
		}
		if c.Calls > 0 {
			learnt++
		}
		if c.Guard() > 1.3 {
			raised++
		}
		if !wild && !reflect.DeepEqual(c, again) {
			t.Fatalf("after JSON it goes on differently:\n%s\n%s", c.Explain(), again.Explain())
		}
	}
	t.Logf("300 conversations, in %d something was learnt, in %d the guard went up", learnt, raised)
	if learnt < 200 {
		t.Errorf("only in %d of 300 conversations something was learnt", learnt)
	}
}

// The guard rises to what was too low and comes back.
func TestGuardRisesAndFalls(t *testing.T) {
	k := newTalk(1)
	k.calls(200)
	low := k.learner.Calibration().Guard()
	k.ratio = 1.7
	k.calls(8)
	high := k.learner.Calibration().Guard()
	k.ratio = 1
	k.calls(1000)
	back := k.learner.Calibration().Guard()
	if low > 1.13 || high < low+.15 || back > low+.1 {
		t.Errorf("the guard goes from %v to %v and back to %v", low, high, back)
	}
}

func TestCalibrationJSON(t *testing.T) {
	good := `{"version":1,"provider":"a","model":"m","counter":"c","calls":3,"first":1,"last":2,"factorPPM":1100000,"weight":3000,"guardPPM":1200000,"recent":[5,-3]}`
	var c token.Calibration
	if err := json.Unmarshal([]byte(good), &c); err != nil {
		t.Fatal(err)
	}
	if data, err := json.Marshal(c); err != nil || string(data) != good {
		t.Errorf("%s, %v", data, err)
	}
	for old, bad := range map[string]string{
		`"version":1`:         `"version":2`,
		`"calls":3`:           `"calls":-3`,
		`"factorPPM":1100000`: `"factorPPM":9000000`,
		`1100000`:             `0`,
		`"weight":3000`:       `"weight":-1`,
		`"weight":3`:          `"weight":999999999`,
		`"guardPPM":1200000`:  `"guardPPM":1000000`,
		`[5,-3]`:              `[1,2,3,4,5,6,7,8,9]`,
		`"model":"m"`:         `"model":7`,
	} {
		before := c.Explain()
		err := json.Unmarshal([]byte(strings.Replace(good, old, bad, 1)), &c)
		if err == nil || !strings.Contains(err.Error(), "token: ") || c.Explain() != before {
			t.Errorf("%s: %v, %s", bad, err, c.Explain())
		}
	}
}

func TestExplain(t *testing.T) {
	if got := (token.Calibration{}).Explain(); got != "not calibrated: no call was learnt from yet" {
		t.Error(got)
	}
	k := newTalk(1.25)
	k.calls(12)
	c := k.learner.Calibration()
	want := fmt.Sprintf("acme/m-1 by heuristic/universal: estimates times %.3f, learnt from 11 calls; guard %.2f from 2 stretches; since 2025-06-15; last errors +", c.Factor(), c.Guard())
	if got := c.Explain(); !strings.HasPrefix(got, want) || strings.Count(got, " %") != 8 {
		t.Errorf("got  %s\nwant %s...", got, want)
	}
}

// flat is a counter with one price for everything.
type flat int64

func (f flat) Name() string                   { return "flat" }
func (f flat) Message(*message.Message) int64 { return int64(f) }
func (f flat) Text(string) int64              { return int64(f) }

// calibrationOf returns a calibration of a factor.
func calibrationOf(t *testing.T, counter string, factor float64, guard int) (c token.Calibration) {
	t.Helper()
	err := json.Unmarshal(fmt.Appendf(nil, `{"version":1,"provider":"a","model":"m","counter":%q,"calls":5,"first":1,"last":2,"factorPPM":%d,"weight":3000,"guardPPM":%d}`,
		counter, int64(factor*1e6), guard), &c)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCalibrated(t *testing.T) {
	for n, want := range map[flat]int64{0: 0, -5: 0, 1: 2, 3: 5, 100: 150, math.MaxInt64: math.MaxInt64, math.MaxInt64 / 2: math.MaxInt64/2 + math.MaxInt64/4 + 1} {
		c, err := token.Calibrated(n, calibrationOf(t, "flat", 1.5, 0))
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Message(nil); got != want || c.Text("") != want || c.Name() != "flat" {
			t.Errorf("%d becomes %d, want %d", n, got, want)
		}
	}
	h := token.Heuristic(token.Claude)
	if c, err := token.Calibrated(h, token.Calibration{}); err != nil || c != h {
		t.Errorf("without a calibration: %v, %v", c, err)
	}
	c, err := token.Calibrated(h, calibrationOf(t, h.Name(), .9, 1_130_000))
	if err != nil {
		t.Fatal(err)
	}
	for name, do := range map[string]func() error{
		"another counter": func() error { _, err := token.Calibrated(flat(1), calibrationOf(t, h.Name(), 1.1, 0)); return err },
		"twice":           func() error { _, err := token.Calibrated(c, calibrationOf(t, h.Name(), 1.1, 0)); return err },
	} {
		if err := do(); err == nil || !strings.HasPrefix(err.Error(), "token: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A meter of a calibrated counter has its factor and guard, and its categories
// add up.
func TestMeterOfCalibrated(t *testing.T) {
	h := token.Heuristic(token.Claude)
	msgs := []*message.Message{
		message.System("You are a careful engineer who answers briefly.", at),
		message.User("What is in the file? 第一行是什么?", at),
		message.Assistant(at, message.TextBlock("I look."), message.ToolCallBlock("id", "read", json.RawMessage(`{"path":"x"}`))),
		message.ToolResult("id", "read", strings.Repeat("line 17 of the file\n", 50), false, at),
	}
	plain, err := token.NewMeter(token.Config{Counter: h})
	if err != nil {
		t.Fatal(err)
	}
	for _, factor := range []float64{.5, .77, 1, 1.3, 2} {
		c, err := token.Calibrated(h, calibrationOf(t, h.Name(), factor, 1_130_000))
		if err != nil {
			t.Fatal(err)
		}
		m, err := token.NewMeter(token.Config{Counter: c})
		if err != nil {
			t.Fatal(err)
		}
		a, b := plain.Measure(msgs, 0), m.Measure(msgs, 0)
		if d := float64(b.Tokens) - factor*float64(a.Tokens); math.Abs(d) > float64(len(msgs)) {
			t.Errorf("factor %v: %d tokens become %d", factor, a.Tokens, b.Tokens)
		}
		if b.Categories.Total() != b.Tokens || m.Guard() != 1.13 || b.Guard != 1.13 {
			t.Errorf("factor %v: %+v, guard %v", factor, b, m.Guard())
		}
		for _, msg := range msgs {
			if whole := m.Measure([]*message.Message{msg}, 0); whole.Tokens != m.Message(msg) && msg.Role != message.RoleSystem {
				t.Errorf("factor %v: a message is %d, alone %d", factor, m.Message(msg), whole.Tokens)
			}
		}
	}
	// Without a learnt guard it is the counter's own.
	c, err := token.Calibrated(h, calibrationOf(t, h.Name(), 1.1, 0))
	if err != nil {
		t.Fatal(err)
	}
	if m, err := token.NewMeter(token.Config{Counter: c}); err != nil || m.Guard() != 1.2 {
		t.Errorf("guard %v, %v", m.Guard(), err)
	}
}

func ExampleLearner() {
	counter := token.HeuristicFor("anthropic", "claude-opus-4-6")
	learner := token.NewLearner(token.Calibration{}, counter, "anthropic", "claude-opus-4-6")
	prompt := int64(12_000)
	for i := range 12 {
		answer := message.Assistant(time.UnixMilli(int64(i)*1000), message.ToolCallBlock("c", "read", json.RawMessage(`{"path":"a.go"}`)))
		answer.Provider, answer.Model = "anthropic", "claude-opus-4-6"
		answer.Usage = &message.Usage{Input: prompt, Output: 40}
		result := message.ToolResult("c", "read", strings.Repeat("package a\n\nfunc f() {}\n", 30), false, time.UnixMilli(0))
		learner.Add(answer)
		learner.Add(result)
		// This provider counts a tenth more than is estimated.
		prompt += (counter.Message(answer) + counter.Message(result)) * 11 / 10
	}
	c := learner.Calibration()
	fmt.Printf("%d calls, factor %.2f\n", c.Calls, c.Factor())
	calibrated, err := token.Calibrated(counter, c)
	if err != nil {
		fmt.Println(err)
		return
	}
	text := strings.Repeat("How much is this text? ", 100)
	fmt.Println(counter.Text(text), calibrated.Text(text))
	// Output:
	// 11 calls, factor 1.08
	// 640 691
}
