package meter_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/clew-dev/clew/internal/replay/meter"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/token"
)

// flat is a counter for which every message is 100 tokens.
type flat struct{}

func (flat) Name() string                   { return "flat" }
func (flat) Message(*message.Message) int64 { return 100 }
func (flat) Text(string) int64              { return 100 }

func flatFor(string, string) token.Counter { return flat{} }

// record makes a log whose provider counts 125 tokens for a message, and has a
// system prompt of 1,000 that is not in the log.
type record struct {
	t      *testing.T
	log    *session.Log
	prompt int64
	n      int
}

func newRecord(t *testing.T) *record {
	log, err := session.NewLog(t.Context(), session.NewMemory(session.Header{ID: "s"}), session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &record{t: t, log: log, prompt: 1000}
}

func (r *record) add(drafts ...session.Draft) {
	r.t.Helper()
	if _, err := r.log.Append(r.t.Context(), drafts...); err != nil {
		r.t.Fatal(err)
	}
}

func (r *record) user() {
	r.add(session.Message(message.User("do it", time.UnixMilli(1))))
	r.prompt += 125
}

// call adds an answer and its result.
func (r *record) call(result string, blocks ...message.Block) {
	r.n++
	id := fmt.Sprint("c", r.n)
	a := message.Assistant(time.UnixMilli(int64(r.n)), append(blocks, message.ToolCallBlock(id, "read", []byte(`{"path":"x"}`)))...)
	a.Provider, a.Model, a.Usage = "acme", "m-1", &message.Usage{Input: r.prompt, Output: 125}
	r.add(session.Message(a), session.Message(message.ToolResult(id, "read", result, false, time.UnixMilli(int64(r.n)))))
	r.prompt += 250
}

func (r *record) measure() meter.Errors {
	r.t.Helper()
	path, err := r.log.Path(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return meter.Measure(path, flatFor)
}

func (r *record) lastID() string { return r.log.Leaf() }

func want(t *testing.T, what string, got meter.Samples, n int, last meter.Sample) {
	t.Helper()
	if len(got) != n {
		t.Errorf("%s: %d samples, want %d: %v", what, len(got), n, got)
		return
	}
	if n > 0 && (got[n-1].Estimate != last.Estimate || got[n-1].Real != last.Real || got[n-1].CJK != last.CJK) {
		t.Errorf("%s: the last is %+v, want %+v", what, got[n-1], last)
	}
}

func TestMeasure(t *testing.T) {
	r := newRecord(t)
	r.user()
	for range 4 {
		r.call("text of a file")
	}
	e := r.measure()
	if e.Calls != 4 {
		t.Errorf("%d calls", e.Calls)
	}
	// At the fourth answer the log has the user, three answers with results and
	// the answer: 8 messages.
	want(t, "raw", e.Raw, 4, meter.Sample{Estimate: 800, Real: 1000 + 8*125})
	// At the first call the prompt was 1125 and the estimate 100.
	want(t, "fixed", e.Fixed, 4, meter.Sample{Estimate: 800 + 1025, Real: 2000})
	want(t, "anchored", e.Anchored, 3, meter.Sample{Estimate: 1000 + 6*125 + 100, Real: 1000 + 7*125})
	want(t, "growth", e.Growth, 3, meter.Sample{Estimate: 200, Real: 250})
	want(t, "tools", e.Tools, 3, meter.Sample{Estimate: 100, Real: 125})
	want(t, "learned", e.Learned, 0, meter.Sample{})
	want(t, "slices", e.Slices, 0, meter.Sample{})
	r.call("text of a file")
	want(t, "slices", r.measure().Slices, 1, meter.Sample{Estimate: 800, Real: 1000})
}

// What had been learnt before a call, and no more, is used for what comes after it.
func TestLearnedAndGuarded(t *testing.T) {
	r := newRecord(t)
	for range 60 {
		r.call("text of a file")
	}
	e := r.measure()
	// Ten calls are learnt from when the eleventh answer is there; its growth is
	// that to the twelfth.
	want(t, "growth", e.Growth, 59, meter.Sample{Estimate: 200, Real: 250})
	if len(e.Learned) != 49 {
		t.Fatalf("%d learned samples", len(e.Learned))
	}
	first, last := e.Learned[0].Estimate, e.Learned[48].Estimate
	if first <= 200 || last <= first || last < 240 || last > 250 {
		t.Errorf("the calibrated estimates go from %d to %d, of 250", first, last)
	}
	if len(e.Slices) != 56 || e.Slices[0].Estimate != 800 || e.Slices[0].Real != 1000 {
		t.Errorf("%d slices, the first is %+v", len(e.Slices), e.Slices[0])
	}
	if e.Guarded[0].Estimate != 1040 { // 1.3, the guard of a counter that has none
		t.Errorf("guarded %+v", e.Guarded[0])
	}
	if g := e.Guarded[55]; g.Estimate < e.Slices[55].Estimate*112/100 || g.Estimate > e.Slices[55].Estimate*118/100 {
		t.Errorf("guarded %+v of %+v", g, e.Slices[55])
	}
	if len(e.Calibrations) != 1 || e.Calibrations[0].Calls != 59 {
		t.Errorf("%+v", e.Calibrations)
	}
}

// Growth is measured only over what is recorded as it was sent.
func TestWhatIsLeftOut(t *testing.T) {
	for name, c := range map[string]struct {
		between          func(r *record)
		growth, anchored int
	}{
		"nothing":  {func(*record) {}, 3, 3},
		"a label":  {func(r *record) { r.add(session.NewLabel(r.lastID(), "x")) }, 3, 3},
		"the user": {func(r *record) { r.user() }, 2, 3},
		"thinking": {func(r *record) { r.call("x", message.ThinkingBlock("hm", "s")) }, 3, 4},
		"another program": {func(r *record) {
			r.add(session.NewCustomMessage("x", []message.Block{message.TextBlock("x")}, true, nil))
		}, 2, 3},
		"a picture": {func(r *record) {
			m := message.ToolResult("c9", "look", "", false, time.UnixMilli(1))
			r.add(session.Message(m.WithContent([]message.Block{message.ImageBlock("image/png", "")})))
		}, 2, 3},
		"a compaction": {func(r *record) {
			r.add(session.NewCompaction(session.Compaction{Summary: "all of it", FirstKeptEntryID: r.lastID(), TokensBefore: 5}))
		}, 2, 2},
		"another model": {func(r *record) {
			a := message.Assistant(time.UnixMilli(1), message.TextBlock("x"))
			a.Provider, a.Model, a.Usage = "acme", "m-2", &message.Usage{Input: 400, Output: 5}
			r.add(session.Message(a))
		}, 2, 2},
		"a failure": {func(r *record) {
			a := message.Assistant(time.UnixMilli(1), message.TextBlock("x"))
			a.Provider, a.Model, a.StopReason = "acme", "m-1", message.StopError
			r.add(session.Message(a))
		}, 3, 3},
	} {
		r := newRecord(t)
		r.call("x")
		r.call("x")
		c.between(r)
		r.call("x")
		r.call("x")
		e := r.measure()
		if len(e.Growth) != c.growth || len(e.Anchored) != c.anchored {
			t.Errorf("%s: %d samples of growth and %d anchored, want %d and %d", name, len(e.Growth), len(e.Anchored), c.growth, c.anchored)
		}
	}
}

// After a rewrite the context is what the rewrite left.
func TestAfterACompaction(t *testing.T) {
	r := newRecord(t)
	for range 5 {
		r.call("x")
	}
	r.add(session.NewCompaction(session.Compaction{Summary: "all of it", FirstKeptEntryID: r.lastID(), TokensBefore: 5}))
	r.prompt = 3000
	r.call("x")
	e := r.measure()
	// The summary, the result that was kept, the answer.
	want(t, "raw", e.Raw, 6, meter.Sample{Estimate: 300, Real: 3125})
	want(t, "fixed", e.Fixed, 6, meter.Sample{Estimate: 3100, Real: 3125})
}

func TestChineseIsToldApart(t *testing.T) {
	r := newRecord(t)
	r.call("text of a file")
	r.call(strings.Repeat("第一个文件的内容", 20))
	r.call("text of a file")
	e := r.measure()
	if len(e.Growth.CJK(true)) != 1 || len(e.Growth.CJK(false)) != 1 {
		t.Errorf("%+v", e.Growth)
	}
}

func TestSamples(t *testing.T) {
	var s meter.Samples
	for i := range 100 {
		s = append(s, meter.Sample{Estimate: int64(51 + i), Real: 100}) // -49 % to +50 %
	}
	for name, c := range map[string]struct{ got, want float64 }{
		"median": {s.Median(), .25},
		"p95":    {s.Quantile(.95), .48},
		"bias":   {s.Bias(), .01},
		"low":    {s.Low(.95), .45},
		"under":  {s.Under(), .49},
	} {
		if math.Abs(c.got-c.want) > .011 {
			t.Errorf("%s is %v, want %v", name, c.got, c.want)
		}
	}
	high := meter.Samples{{Estimate: 150, Real: 100}}
	if high.Low(.95) != 0 || high.Under() != 0 {
		t.Errorf("low %v, under %v", high.Low(.95), high.Under())
	}
	if none := (meter.Samples{}); !math.IsNaN(none.Median()) || !math.IsNaN(none.Under()) {
		t.Error("no samples have a median")
	}
}

func TestEmptyPath(t *testing.T) {
	e := meter.Measure(nil, flatFor)
	if e.Calls != 0 || !strings.Contains(meter.Table([]meter.Row{{Name: "none", Errors: e}}), "| none | 0 | - |") {
		t.Errorf("%+v\n%s", e, meter.Table([]meter.Row{{Name: "none", Errors: e}}))
	}
}
