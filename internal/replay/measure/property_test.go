package measure

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"
)

// conversation makes a random list of messages. Identifiers come back later, often
// among the same words.
func conversation(rng *rand.Rand, n int) []Message {
	names := make([]string, 40)
	for i := range names {
		names[i] = []string{"parse", "render", "cache", "index"}[rng.IntN(4)] + fmt.Sprintf("Step%dOf", i) + []string{"List", "Tree", "Map"}[rng.IntN(3)]
	}
	words := strings.Fields(`the cache breaks when parser reads nested list of items and never checks bounds
		before it writes result into table because index starts after first row`)
	line := func() string {
		var b strings.Builder
		for range 3 + rng.IntN(12) {
			if rng.IntN(4) == 0 {
				b.WriteString(names[rng.IntN(len(names))] + " ")
			} else {
				b.WriteString(words[rng.IntN(len(words))] + " ")
			}
		}
		return strings.TrimSpace(b.String())
	}
	text := func() string {
		lines := make([]string, 1+rng.IntN(4))
		for i := range lines {
			lines[i] = line()
		}
		return strings.Join(lines, "\n")
	}
	var msgs []Message
	for i := 0; len(msgs) < n; i++ {
		switch rng.IntN(5) {
		case 0:
			msgs = append(msgs, Message{Kind: User, Text: text()})
		default:
			id, file := fmt.Sprintf("c%d", i), fmt.Sprintf("src/mod%d.go", rng.IntN(9))
			args, err := json.Marshal(map[string]any{"path": file, "text": line(), "offset": rng.IntN(99999)})
			if err != nil {
				panic(err)
			}
			msgs = append(msgs,
				Message{Kind: Agent, Text: text(), Hidden: text(), Calls: []Call{{id, []string{"read", "edit"}[rng.IntN(2)], args}}},
				Message{Text: text(), CallID: id, Failed: rng.IntN(6) == 0})
		}
	}
	return msgs
}

// randomPoint cuts a random conversation.
func randomPoint(rng *rand.Rand) (*Point, []*Digest) {
	ds := Digests(conversation(rng, 60))
	return NewPoint(ds[:30], ds[30:36], nil, ds[36:], ""), ds[:30]
}

func linesOf(ds []*Digest) []string {
	var lines []string
	for _, d := range ds {
		d.said(func(s string) { lines = append(lines, strings.Split(s, "\n")...) })
	}
	return lines
}

func seeds(t *testing.T, n int, fn func(t *testing.T, rng *rand.Rand)) {
	t.Helper()
	for seed := range uint64(n) {
		fn(t, rand.New(rand.NewPCG(seed, 7)))
		if t.Failed() {
			t.Fatalf("with seed %d", seed)
		}
	}
}

// A list of identifiers has all recall and no context: that is why both are shown.
func TestSoupHasRecallAndNoContext(t *testing.T) {
	needs := 0
	seeds(t, 60, func(t *testing.T, rng *rand.Rand) {
		p, dropped := randomPoint(rng)
		needs += len(p.Needs)
		var ids []string
		for id := range union(dropped) {
			ids = append(ids, id)
		}
		s := p.Score(strings.Join(ids, " "), "", 0)
		if len(p.Needs) > 0 && (s.Recall.Value != 1 || s.Contextual.Value != 0) {
			t.Errorf("soup has recall %v and contextual recall %v", s.Recall, s.Contextual)
		}
		if s.Instructions.Value > 0 || s.Plain >= MinPlainShare {
			t.Errorf("soup keeps instructions (%v) or passes for words (%v)", s.Instructions, s.Plain)
		}
	})
	if needs < 100 {
		t.Errorf("only %d needs in all: the generator makes nothing to measure", needs)
	}
}

// The whole of what was dropped is the ceiling: no part of it scores more, adding
// lines never takes anything away, and nothing in it is made up.
func TestTheWholeIsTheCeiling(t *testing.T) {
	seeds(t, 60, func(t *testing.T, rng *rand.Rand) {
		p, dropped := randomPoint(rng)
		lines := linesOf(dropped)
		whole := p.Score(strings.Join(lines, "\n"), "", 0)
		if len(p.Needs) > 0 && whole.Recall.Value != 1 {
			t.Errorf("the whole has a recall of %v; missed: %v", whole.Recall, whole.Missed)
		}
		if c := p.Ceiling(); whole.Contextual != c {
			t.Errorf("the whole has %v in context, and the ceiling is %v", whole.Contextual, c)
		}
		if len(p.Sentences) > 0 && whole.Instructions.Value != 1 {
			t.Errorf("the whole keeps %v of the sentences", whole.Instructions)
		}
		var part []string
		last := p.Score("", "", 0)
		for _, i := range rng.Perm(len(lines))[:len(lines)/2] {
			part = append(part, lines[i])
			if len(part)%8 != 0 {
				continue
			}
			s := p.Score(strings.Join(part, "\n"), "", 0)
			if s.Contextual.Value > whole.Contextual.Value {
				t.Errorf("a part has %v, the whole %v", s.Contextual, whole.Contextual)
			}
			if s.Recall.Value < last.Recall.Value || s.Contextual.Value < last.Contextual.Value || s.Instructions.Value < last.Instructions.Value {
				t.Errorf("more lines, and less of something: %v %v %v after %v %v %v", s.Recall, s.Contextual, s.Instructions, last.Recall, last.Contextual, last.Instructions)
			}
			if len(s.ForeignIDs) > 0 {
				t.Errorf("lines of the conversation are said to be made up: %v", s.ForeignIDs)
			}
			last = s
		}
		if len(whole.ForeignIDs) > 0 {
			t.Errorf("the conversation itself is said to be made up: %v", whole.ForeignIDs)
		}
	})
}

// What comes later does not change what is scored of files and instructions, and
// what the world shows first is no need.
func TestNeeds(t *testing.T) {
	seeds(t, 60, func(t *testing.T, rng *rand.Rand) {
		ds := Digests(conversation(rng, 60))
		dropped, kept, future := ds[:30], ds[30:36], ds[36:]
		shown := slices.Clone(future)
		everything := NewDigest(&Message{Text: strings.Join(linesOf(dropped), "\n")})
		if n := Needs(dropped, kept, nil, append([]*Digest{everything}, shown...)); len(n) > 0 {
			t.Errorf("shown again before it was used, and still needed: %v", n)
		}
		if n := Needs(dropped, append([]*Digest{everything}, kept...), nil, future); len(n) > 0 {
			t.Errorf("kept, and still needed: %v", n)
		}
		if n := Needs(dropped, kept, []*Digest{everything}, future); len(n) > 0 {
			t.Errorf("sent again anyway, and still needed: %v", n)
		}
		if n := Needs(nil, kept, nil, future); len(n) > 0 {
			t.Errorf("never dropped, and still needed: %v", n)
		}
		silent := slices.Clone(future)
		for i, d := range silent {
			m := *d.Message
			if m.Kind == Agent {
				m.Hidden, m.Text, m.Calls = m.Text, "", nil
			}
			silent[i] = NewDigest(&m)
		}
		if n := Needs(dropped, kept, nil, silent); len(n) > 0 {
			t.Errorf("only thought of, and still needed: %v", n)
		}
	})
}

// A text that states exactly the trail is right, whatever the conversation.
func TestStatedTrailIsRight(t *testing.T) {
	measured := 0
	seeds(t, 60, func(t *testing.T, rng *rand.Rand) {
		p, _ := randomPoint(rng)
		var b strings.Builder
		for _, q := range p.Trail.Pairs {
			fmt.Fprintf(&b, "### %s\n- %s\n", map[Op]string{OpRead: "Read", OpChanged: "Modified", OpDeleted: "Deleted"}[q.Op], q.Path)
		}
		s := p.Score(b.String(), "", 0)
		if s.TrailF1.OK {
			measured++
		}
		if s.TrailF1.OK && s.TrailF1.Value != 1 {
			t.Errorf("%v stated as %q scores %v: missing %v, wrong %v", p.Trail.Pairs, b.String(), s.TrailF1, s.MissedPairs, s.WrongPairs)
		}
	})
	if measured < 30 {
		t.Errorf("only %d trails had something in them", measured)
	}
}

func TestBudget(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	p, dropped := randomPoint(rng)
	text := strings.Join(linesOf(dropped), "\n")
	for _, budget := range []int{1, 10, 100} {
		s := p.Score(text, "", budget)
		if s.Tokens > budget || s.Tokens+s.Cut < Tokens(text) {
			t.Errorf("of %d tokens with a budget of %d, %d were scored and %d cut", Tokens(text), budget, s.Tokens, s.Cut)
		}
	}
}

func TestUnits(t *testing.T) {
	seeds(t, 200, func(t *testing.T, rng *rand.Rand) {
		runes := make([]rune, rng.IntN(40))
		for i := range runes {
			runes[i] = []rune{'a', 'é', '中', '😀', '\n'}[rng.IntN(5)]
		}
		s := string(runes)
		want := len(utf16.Encode(runes))
		if got := Units(s); got != want {
			t.Errorf("%q has %d units, not %d", s, want, got)
		}
		if got := Tokens(s); got != (want+2)/3 {
			t.Errorf("%q has %d tokens for %d units", s, got, want)
		}
		n := rng.IntN(45)
		cut := CutUnits(s, n)
		if !strings.HasPrefix(s, cut) || Units(cut) > n || len(cut) < len(s) && Units(cut) < n-1 || !utf8.ValidString(cut) {
			t.Errorf("%q cut to %d units is %q", s, n, cut)
		}
	})
}
