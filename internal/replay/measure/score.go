package measure

import (
	"encoding/json"
	"math"
	"strings"
)

// Point is a place in a session at which its old part is dropped, with all that is
// needed to score what is put in its place.
type Point struct {
	Needs []Need
	Trail *Trail
	// Sentences are those of the user in what was dropped.
	Sentences []Sentence
	// DroppedTokens is the size of what was dropped.
	DroppedTokens int
	// Answers counts the messages of the agent in the future.
	Answers int

	dropped, kept, always []*Digest
	surroundings          surroundings
	future                map[string]bool
	known                 map[string]bool
}

// NewPoint reads a point: what is dropped, what is kept behind it, what is sent
// again anyway (the system prompt, rules, the environment), and what came next. cwd
// is the working directory, "" where it is not known.
func NewPoint(dropped, kept, always, future []*Digest, cwd string) *Point {
	p := &Point{
		Needs: Needs(dropped, kept, always, future), Trail: NewTrail(dropped, cwd),
		DroppedTokens: TokensOf(dropped),
		dropped:       dropped, kept: kept, always: always,
		future: map[string]bool{},
		known:  union(dropped, kept, always),
	}
	for _, d := range dropped {
		if d.Kind == User {
			p.Sentences = append(p.Sentences, Sentences(d.Text)...)
		}
	}
	for _, d := range future {
		if d.Kind != Agent {
			continue
		}
		p.Answers++
		for id := range d.ids {
			p.future[id] = true
		}
	}
	p.surroundings = surroundingsOf(p.Needs, dropped)
	return p
}

// Ceiling is the contextual recall of the whole of what was dropped: identifiers that
// stand only in bare lists and lines of code have no words beside them.
func (p *Point) Ceiling() Measured {
	n := 0
	for _, need := range p.Needs {
		if p.surroundings.whole[need.Text] {
			n++
		}
	}
	return share(n, len(p.Needs))
}

// Measured is a share, from 0 to 1, or nothing where there was nothing to measure.
type Measured struct {
	Value float64
	OK    bool
}

// IsZero reports that there was nothing to measure.
func (m Measured) IsZero() bool { return !m.OK }

// MarshalJSON writes the value with four digits: the rest is noise.
func (m Measured) MarshalJSON() ([]byte, error) {
	if !m.OK {
		return []byte("null"), nil
	}
	return json.Marshal(Rounded(m.Value))
}

// Rounded returns a figure with four digits.
func Rounded(f float64) float64 { return math.Round(f*1e4) / 1e4 }

func share(part, all int) Measured {
	if all == 0 {
		return Measured{}
	}
	return Measured{float64(part) / float64(all), true}
}

// Score is what a text is worth at a point.
type Score struct {
	Tokens       int      `json:"tokens"`                // size of the text that was scored
	Cut          int      `json:"-"`                     // tokens beyond the budget, which were not looked at
	Recall       Measured `json:"cr,omitzero"`           // CR: needs that stand in the text
	RecallByUse  Measured `json:"-"`                     // CRu: the same, weighed by how often each was used
	Contextual   Measured `json:"cCR,omitzero"`          // cCR: needs that stand there among words they stood among before
	Precision    Measured `json:"-"`                     // identifiers of the text that were used
	Instructions Measured `json:"instructions,omitzero"` // IR: sentences of the user that are kept
	Constraints  Measured `json:"-"`                     // IR-c: those with a word of obligation
	TrailF1      Measured `json:"trailF1,omitzero"`      // files and what was done to them
	Modified     Measured `json:"-"`                     // changed files that stand anywhere in the text
	Fresh        Measured `json:"-"`                     // of what had several states, the last one is given
	Foreign      Measured `json:"-"`                     // fabrication: identifiers that were in nothing the policy was given
	Plain        float64  `json:"-"`                     // share of plain words and structure
	Junk         Measured `json:"-"`                     // lines outside quotes and sources that are no statement

	// ByClass counts, for each class, the needs and those of them found, plainly
	// and in context.
	ByClass [NumClasses]ClassScore `json:"-"`

	// What was missed, for reading.
	Missed          []string `json:"-"` // needs not there
	MissedContext   []string `json:"-"` // needs there, but not in context
	MissedSentences []string `json:"-"`
	ForeignIDs      []string `json:"-"`
	MissedPairs     []Pair   `json:"-"` // of the trail
	WrongPairs      []Pair   `json:"-"` // stated, and neither true nor optional
	Stale           []Turn   `json:"-"` // whose state is given, and is not the last one
}

// ClassScore counts needs of a class.
type ClassScore struct {
	Needs     int `json:"needs"`
	Found     int `json:"found"`
	InContext int `json:"inContext"`
}

// Score measures a text that stands in the place of what was dropped. Of a text
// larger than the budget, in tokens, only the beginning counts; 0 is no budget.
// frame is what the policy always writes: identifiers in it are its own.
func (p *Point) Score(text, frame string, budget int) Score {
	var s Score
	if limit := CharsPerToken * budget; budget > 0 && Units(text) > limit {
		cut := CutUnits(text, limit)
		s.Cut = Tokens(text) - Tokens(cut)
		text = cut
	}
	s.Tokens = Tokens(text)
	p.scoreNeeds(&s, text)
	p.scoreSentences(&s, text)

	plain := handle().ReplaceAllString(text, "")
	stated := Stated(text)
	c := p.Trail.compare(stated)
	s.TrailF1, s.MissedPairs, s.WrongPairs = c.f1(), c.missing, c.wrong
	s.Modified = p.Trail.modified(text)
	right, given, stale := p.Trail.fresh(plain, stated)
	s.Fresh, s.Stale = share(right, given), stale
	s.Plain = PlainShare(plain)
	s.Junk = Junk(plain)

	ids, used := map[string]Class{}, 0
	for id := range Identifiers(plain) {
		ids[id.Text] = id.Class
	}
	for id := range Identifiers(frame) {
		delete(ids, id.Text)
	}
	for id := range ids {
		if p.future[id] {
			used++
		}
	}
	s.Precision = share(used, len(ids))
	s.ForeignIDs = foreign(ids, p.known, p.dropped, p.kept, p.always)
	s.Foreign = share(len(s.ForeignIDs), len(ids))
	return s
}

func (p *Point) scoreNeeds(s *Score, text string) {
	inContext := p.surroundings.inContext(p.Needs, text)
	found, uses, usesFound, context := 0, 0, 0, 0
	for i, n := range p.Needs {
		c := &s.ByClass[n.Class]
		c.Needs++
		uses += n.Uses
		switch {
		case !strings.Contains(text, n.Text):
			s.Missed = append(s.Missed, n.Text)
			continue
		case inContext[i]:
			context++
			c.InContext++
		default:
			s.MissedContext = append(s.MissedContext, n.Text)
		}
		found++
		usesFound += n.Uses
		c.Found++
	}
	s.Recall = share(found, len(p.Needs))
	s.RecallByUse = share(usesFound, uses)
	s.Contextual = share(context, len(p.Needs))
}

func (p *Point) scoreSentences(s *Score, text string) {
	if len(p.Sentences) == 0 {
		return
	}
	said := spokenOf(text)
	kept, constraints, keptConstraints := 0, 0, 0
	for i := range p.Sentences {
		sentence := &p.Sentences[i]
		ok := said.keeps(sentence)
		if sentence.Constraint {
			constraints++
		}
		switch {
		case !ok:
			s.MissedSentences = append(s.MissedSentences, sentence.Text)
		case sentence.Constraint:
			keptConstraints++
			kept++
		default:
			kept++
		}
	}
	s.Instructions = share(kept, len(p.Sentences))
	s.Constraints = share(keptConstraints, constraints)
}

// modified is the share of the changed files whose path, or the last two parts of
// it, stands anywhere in a text.
func (t *Trail) modified(text string) Measured {
	found, all := 0, 0
	for _, p := range t.Pairs {
		if p.Op != OpChanged {
			continue
		}
		all++
		tail, ok := pathTail(p.Path)
		if !ok {
			tail = p.Path
		}
		if strings.Contains(text, tail) {
			found++
		}
	}
	return share(found, all)
}
