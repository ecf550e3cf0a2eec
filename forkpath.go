package clew

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"strings"

	"github.com/clew-dev/clew/blob"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/branch"
	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/session"
)

// forkPlan is what a fork consists of. It holds ids and not entries, so that a
// session of any size can be forked.
type forkPlan struct {
	src    session.Store
	path   []forkNode       // what is copied, oldest first
	added  []*session.Entry // what comes behind it
	output []blob.ID        // large output that the path refers to
	forked Forked
}

// forkNode is what has to be known of an entry on the path.
type forkNode struct {
	id     string
	parent string // what its record says
	lines  int    // of the group that it begins, see session.Entry.Group
	body   bool   // it may belong to a group
	label  *session.Label
	name   *string
	output blob.ID
}

// planFork decides what is in the new session.
func planFork(ctx context.Context, src session.Store, h session.Header, opt ForkOptions) (*forkPlan, error) {
	p := &forkPlan{src: src}
	leaf, err := p.place(ctx, opt.At)
	if err != nil {
		return nil, err
	}
	if err := p.walk(ctx, leaf); err != nil {
		return nil, err
	}
	all, err := readForkSource(ctx, src)
	if err != nil {
		return nil, err
	}
	p.leavePart(all)
	if n := len(p.path); n > 0 {
		p.forked.At = p.path[n-1].id
	}
	drafts, err := p.settle(ctx, opt)
	if err != nil {
		return nil, err
	}
	drafts = append(drafts, p.marks(all)...)
	if len(drafts) == 0 && p.endsInGroup() {
		drafts = append(drafts, forkLeaf(p.forked.At))
	}
	if err := p.add(ctx, h, opt, drafts); err != nil {
		return nil, err
	}
	seen := map[blob.ID]bool{}
	for _, n := range p.path {
		if !n.output.IsZero() && !seen[n.output] {
			seen[n.output] = true
			p.output = append(p.output, n.output)
		}
	}
	p.forked.Entries, p.forked.Added = len(p.path), len(p.added)
	return p, nil
}

// place returns the last entry of the path that was asked for, nil for none.
func (p *forkPlan) place(ctx context.Context, at string) (*session.Entry, error) {
	if at == "" {
		return p.src.Last(ctx)
	}
	e, err := p.src.Get(ctx, at)
	if err != nil {
		return nil, err
	}
	leaf, text, err := branch.Place(ctx, p.src, at)
	if err != nil || leaf == e.ID {
		return e, err
	}
	p.forked.Text = text
	return p.src.Parent(ctx, e)
}

// walk reads the path to leaf. Where parents form a cycle it begins at the entry
// that would come twice, as session.Path.
func (p *forkPlan) walk(ctx context.Context, leaf *session.Entry) error {
	seen := map[string]bool{}
	for e := leaf; e != nil && !seen[e.ID]; {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := forkNodeOf(e)
		seen[n.id] = true
		p.path = append(p.path, n)
		var err error
		if e, err = p.src.Parent(ctx, e); err != nil {
			return err
		}
	}
	slices.Reverse(p.path)
	return nil
}

// forkNodeOf copies what it takes from an entry, which aliases the whole record.
func forkNodeOf(e *session.Entry) forkNode {
	parent, _ := jsonx.String(e.Field("parentId"))
	n := forkNode{id: strings.Clone(e.ID), parent: strings.Clone(parent), body: session.GroupEntry(e)}
	n.lines, _ = e.Group()
	if l, ok := e.Label(); ok {
		n.label = &session.Label{TargetID: strings.Clone(l.TargetID), Label: strings.Clone(l.Label)}
	}
	if name, ok := e.SessionName(); ok {
		name = strings.Clone(name)
		n.name = &name
	}
	if at, ok := outOfLineOf(e); ok {
		if id, err := blob.ParseID(at.ID); err == nil {
			n.output = id
		}
	}
	return n
}

// forkSource is what a fork has to know of the whole log.
type forkSource struct {
	labels map[string]string // as they stand now, "" for one that was taken away
	name   *string           // as it stands now; nil when there never was one
	passes map[string]string // entry of a pass that is not its last → its first
}

func readForkSource(ctx context.Context, src session.Store) (*forkSource, error) {
	s := &forkSource{labels: map[string]string{}, passes: map[string]string{}}
	first, left := "", 0 // of the pass that is being read
	for e, err := range src.All(ctx) {
		if err != nil {
			return nil, err
		}
		if left > 0 {
			if left--; !session.PassEntry(e) {
				left = 0
			} else if left > 0 {
				s.passes[strings.Clone(e.ID)] = first
			}
		}
		if pass, ok := e.Pass(); ok {
			first, left = strings.Clone(e.ID), pass.Lines
			s.passes[first] = first
		}
		if l, ok := e.Label(); ok {
			s.labels[strings.Clone(l.TargetID)] = strings.Clone(l.Label)
		}
		if name, ok := e.SessionName(); ok {
			name = strings.Clone(name)
			s.name = &name
		}
	}
	return s, nil
}

// leavePart takes the part of a pass off the end of the path.
func (p *forkPlan) leavePart(all *forkSource) {
	for len(p.path) > 0 {
		first, ok := all.passes[p.path[len(p.path)-1].id]
		at := slices.IndexFunc(p.path, func(n forkNode) bool { return n.id == first })
		if !ok || at < 0 {
			return
		}
		p.path, p.forked.Before = p.path[:at], first
	}
}

// settle drafts results for the calls that wait for one.
func (p *forkPlan) settle(ctx context.Context, opt ForkOptions) ([]session.Draft, error) {
	if !opt.Settle || p.forked.At == "" {
		return nil, nil
	}
	c, err := session.ContextAt(ctx, p.src, p.forked.At)
	if err != nil {
		return nil, err
	}
	drafts := compact.Interrupted(c.Items, opt.Clock())
	p.forked.Settled = len(drafts)
	return drafts, nil
}

// marks drafts the labels and the name that the path does not say as the log does:
// they count wherever they stand.
func (p *forkPlan) marks(all *forkSource) (drafts []session.Draft) {
	labels, name := map[string]string{}, ""
	for _, n := range p.path {
		if n.label != nil {
			labels[n.label.TargetID] = n.label.Label
		}
		if n.name != nil {
			name = *n.name
		}
	}
	for _, n := range p.path {
		if want := all.labels[n.id]; labels[n.id] != want {
			drafts = append(drafts, session.NewLabel(n.id, want))
		}
	}
	if all.name != nil && *all.name != name {
		drafts = append(drafts, session.NewSessionInfo(*all.name))
	}
	return drafts
}

// endsInGroup reports that whoever opens the new file would take its end for a
// group that was not written to its end, and leave it out: the path leaves the
// group in the middle, or ends among what an undo has appended again.
func (p *forkPlan) endsInGroup() bool {
	for after, n := range slices.Backward(p.path) {
		if n.lines > 0 {
			return n.lines > len(p.path)-1-after
		}
		if !n.body {
			return false
		}
	}
	return false
}

// forkLeaf drafts a record that ends such a group.
func forkLeaf(at string) session.Draft {
	data, _ := json.Marshal(map[string]string{"from": at, "reason": "fork"}) // strings
	return session.NewCustom(session.CustomLeaf, data)
}

// add builds the entries that come behind the path.
func (p *forkPlan) add(ctx context.Context, h session.Header, opt ForkOptions, drafts []session.Draft) error {
	p.forked.Leaf = p.forked.At
	end := session.NewMemory(h)
	if at := p.forked.At; at != "" {
		e, err := p.src.Get(ctx, at)
		if err != nil {
			return err
		}
		end = session.NewMemory(h, e)
	}
	log, err := session.NewLog(ctx, end, session.Options{Clock: opt.Clock, NewID: opt.NewID})
	if err != nil {
		return err
	}
	if p.added, err = log.Append(ctx, drafts...); err != nil {
		return err
	}
	p.forked.Leaf = log.Leaf()
	return nil
}

// entries yields what is written. A record keeps its bytes, unless the file that
// it comes from is damaged and it hangs elsewhere than it says.
func (p *forkPlan) entries(ctx context.Context) iter.Seq2[*session.Entry, error] {
	return func(yield func(*session.Entry, error) bool) {
		parent := ""
		for _, n := range p.path {
			e, err := p.src.Get(ctx, n.id)
			if err == nil && n.parent != parent {
				e = e.WithIdentity(n.id, parent)
			}
			if !yield(e, err) || err != nil {
				return
			}
			parent = n.id
		}
		for _, e := range p.added {
			if !yield(e, nil) {
				return
			}
		}
	}
}
