package summary

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/clew-dev/clew/internal/ledger"
)

// Stages are what the deterministic summarizer makes one after the other: facts, what ties
// them together, and the text.
type Stages struct {
	Facts Facts
	Graph Graph
	Text  Output
}

// Facts are the files, commands, commits, failures, todos, rules and decisions of a
// conversation, each with its last state.
type Facts = ledger.Ledger

// Graph ties statements together by the names in them. The text is chosen from it: the
// statement next that says most of what none before has said.
type Graph struct {
	Names      []Name      `json:"names"`      // the most used first
	Statements []Statement `json:"statements"` // in the order of the log
}

// Name is an identifier: a path, a function, a flag, a number.
type Name struct {
	Name    string   `json:"name"`
	Worth   float64  `json:"worth"`   // by how often, how lately and by whom it is used; 1 is that of the first
	Entries []string `json:"entries"` // that have it, oldest first
}

// Statement is a sentence or a line that may stand in the summary.
type Statement struct {
	Text   string   `json:"text"`
	From   string   `json:"from,omitempty"` // the file, command or request that it belongs to
	Entry  string   `json:"entry"`          // the beginning of its id
	Names  []string `json:"names,omitempty"`
	Chosen bool     `json:"chosen,omitempty"` // it stands in the text
}

// Stages is Summarize, with what it went through.
func (s Deterministic) Stages(ctx context.Context, in Input) (st Stages, err error) {
	err = s.plan(ctx, in, func(p *planner) {
		st.Text = p.fit()
		st.Facts, st.Graph = p.d.led, p.graph(st.Text.Document)
	})
	return st, err
}

// graph lists what was offered to the choice that made a document.
func (p *planner) graph(made Document) Graph {
	g := Graph{Names: []Name{}, Statements: []Statement{}}
	chosen := map[Line]bool{}
	for _, l := range slices.Concat(made.Story, made.Decisions, made.Context) {
		chosen[Line{Text: l.Text, From: l.From}] = true
	}
	named := map[int32]bool{}
	offered := slices.Concat(p.story, p.sources, p.decided)
	slices.SortStableFunc(offered, func(a, b piece) int { return cmp.Compare(a.order, b.order) })
	for _, o := range offered {
		st := Statement{Text: o.line.Text, From: o.line.From, Entry: o.line.Ref, Chosen: chosen[Line{Text: o.line.Text, From: o.line.From}]}
		for _, n := range o.ids {
			if p.d.names.class[n] == wordClass {
				continue
			}
			named[n] = true
			st.Names = append(st.Names, p.d.names.text[n])
		}
		g.Statements = append(g.Statements, st)
	}
	entries := map[int32][]string{}
	for _, m := range p.d.msgs {
		for _, u := range m.uses {
			if named[u.id] {
				entries[u.id] = append(entries[u.id], m.id)
			}
		}
	}
	most := 0.0
	for n := range entries {
		most = max(most, p.weights[n])
		g.Names = append(g.Names, Name{p.d.names.text[n], p.weights[n], entries[n]})
	}
	for i := range g.Names {
		g.Names[i].Worth = math.Round(1000*g.Names[i].Worth/most) / 1000
	}
	slices.SortFunc(g.Names, func(a, b Name) int { return cmp.Or(cmp.Compare(b.Worth, a.Worth), cmp.Compare(a.Name, b.Name)) })
	return g
}
