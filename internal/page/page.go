// Package page writes a session as one HTML file: all branches, at the current path
// first. The file needs no network and no other file, and can be read without
// scripts. Every text in it is escaped, and a policy in it allows nothing but its own
// style, its own script, and images that are in it.
//
//	err := page.Write(ctx, file, store, "", page.Options{})
//
// Whatever was compacted away stands where it was said: the page shows the log, and
// marks what the model sees of it.
package page

import (
	"context"
	"io"

	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/transcript"
)

// Options changes what is written. The zero value takes secrets out.
type Options struct {
	// KeepSecrets leaves keys, tokens and passwords in. By default each has a mark in
	// its place; see transcript.Redact.
	KeepSecrets bool
}

// Write writes a session at the path to leaf; "" stands for where the session
// stands. The same session gives the same bytes. The session is read twice and not
// held in memory. The errors are those of the store, session.ErrNotFound for a leaf
// that is not there among them, and those of w.
func Write(ctx context.Context, w io.Writer, s session.Store, leaf string, opt Options) error {
	p, err := New(ctx, s, leaf, opt)
	if err != nil {
		return err
	}
	return p.Write(ctx, w)
}

// Page is a session of which it is known what is in it; Write writes it.
type Page struct {
	store    session.Store
	header   session.Header
	name     string
	nodes    []node
	byID     map[string]int
	edits    map[int][]int // by target, oldest first
	children [][]int
	roots    []int
	leaf     int // -1 in an empty session
	path     []int
	on       []bool // of each node: whether it is on the path
	totals   totals
	secrets  int
}

// New reads a session. It fails as Write does.
func New(ctx context.Context, s session.Store, leaf string, opt Options) (*Page, error) {
	var r *transcript.Redacted
	if !opt.KeepSecrets {
		r = transcript.Redact(s)
		s = r
	}
	p := &Page{store: s, header: s.Header(), byID: map[string]int{}, edits: map[int][]int{}, leaf: -1}
	if err := p.read(ctx); err != nil {
		return nil, err
	}
	if leaf == "" {
		p.leaf = len(p.nodes) - 1
	} else if at, ok := p.byID[leaf]; ok {
		p.leaf = at
	} else if _, err := s.Get(ctx, leaf); err != nil {
		return nil, err
	} else {
		return nil, &session.Error{Op: "export", Subject: leaf, Err: session.ErrNotFound}
	}
	p.link()
	p.walk()
	if r != nil {
		p.secrets = r.Secrets()
	}
	return p, nil
}

// Messages returns how many messages the session has on all branches.
func (p *Page) Messages() int { return p.totals.messages }

// Secrets returns how many secrets were taken out.
func (p *Page) Secrets() int { return p.secrets }

// Write writes the page.
func (p *Page) Write(ctx context.Context, w io.Writer) error {
	o := newOut(w)
	p.head(o)
	p.tree(o)
	if err := p.body(ctx, o); err != nil {
		return err
	}
	p.foot(o)
	if o.err != nil {
		return o.err
	}
	return o.w.Flush()
}

// body writes what was said: the current path, then what is on other branches in the
// order of the log.
func (p *Page) body(ctx context.Context, o *out) error {
	v := p.view()
	o.raw(`<main id="transcript" tabindex="-1"`)
	p.shape(o)
	o.raw(">\n<p id=\"where\" role=\"status\"></p>\n")
	for _, i := range p.path {
		if !p.nodes[i].shown() {
			continue
		}
		e, err := p.store.Get(ctx, p.nodes[i].id)
		if err != nil {
			return err
		}
		if err := p.entry(ctx, o, i, e, v); err != nil {
			return err
		}
		if o.err != nil {
			return o.err
		}
	}
	if len(p.path) == 0 {
		o.raw("<p>The session is empty.</p>\n")
	}
	if err := p.others(ctx, o, v); err != nil {
		return err
	}
	o.raw("</main>\n")
	return o.err
}

func (p *Page) others(ctx context.Context, o *out, v *view) error {
	if !p.branched() {
		return nil
	}
	o.raw("<section id=\"others\" aria-labelledby=\"others-title\">\n<h2 id=\"others-title\">Other branches</h2>\n")
	i, before := -1, -1
	for e, err := range p.store.All(ctx) {
		if err != nil {
			return err
		}
		i++
		if i >= len(p.nodes) {
			break // it has grown meanwhile
		}
		if p.nodes[i].id != e.ID {
			return &session.Error{Op: "export", Subject: e.ID, Err: session.ErrConflict, Hint: "export it again"}
		}
		if p.on[i] || !p.nodes[i].shown() {
			continue
		}
		if above := p.above(i); above != before || before < 0 {
			o.raw(`<p class="from">`)
			if above < 0 {
				o.raw("Another beginning")
			} else {
				o.raw("What followed on ")
				p.ref(o, above)
			}
			o.raw("</p>\n")
		}
		before = i
		if err := p.entry(ctx, o, i, e, v); err != nil {
			return err
		}
		if o.err != nil {
			return o.err
		}
	}
	o.raw("</section>\n")
	return nil
}
