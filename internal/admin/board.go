// Package admin shows the operator of a gateway what it does: a page, JSON, Prometheus
// metrics, and whether it is alive. It answers at a listener of its own.
//
//	s := admin.New(admin.Config{Dir: dir})
//	cfg.OnEvent = s.Event
//	http.Serve(loopback, s.Handler())
//
// Figures come from the gateway's events, and so do the first words by which a conversation is
// recognised, which are kept in memory alone. What was said comes from the session files.
package admin

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/clew-dev/clew/gateway"
)

// What is kept in memory.
const (
	maxTalks  = 300
	maxPoints = 400 // requests of a conversation
)

// Totals add up requests.
type Totals struct {
	Requests int   `json:"requests"`
	Epochs   int   `json:"epochs"`   // switches to a new summary
	Rescued  int   `json:"rescued"`  // refused as too long, and answered once they were shortened
	TooLong  int   `json:"tooLong"`  // refused as too long, and nothing could be done
	WouldBe  int   `json:"wouldBe"`  // would have been shortened, but were only observed
	Unfit    int   `json:"unfit"`    // answered, though the agent's list was larger than the window
	NotSent  int64 `json:"notSent"`  // tokens that were not sent, estimated
	Input    int64 `json:"input"`    // tokens as the upstream reports them, cached or not
	Output   int64 `json:"output"`   //
	Read     int64 `json:"read"`     // from the provider's cache
	Written  int64 `json:"written"`  // to the provider's cache
	Unpriced int   `json:"unpriced"` // requests with usage whose price is not known
	// Cost is what was paid in US dollars, at list prices. Saved is how much more it had been
	// if nothing had been shortened and the cache had held, for the requests that had fit. A
	// switch writes the cache anew, so it may be negative for a while.
	Cost  float64 `json:"cost"`
	Saved float64 `json:"saved"`
}

// Talk is a conversation.
type Talk struct {
	ID     string    `json:"id"` // as in the events, and the beginning of the session file's name
	API    string    `json:"api"`
	Model  string    `json:"model"`
	First  time.Time `json:"first"`
	Last   time.Time `json:"last"`
	Before int64     `json:"before"` // tokens of the last list as the agent sent it, estimated
	After  int64     `json:"after"`  // tokens of what was sent on
	Window int64     `json:"window"` // 0: not known
	Status int       `json:"status"`
	About  string    `json:"about,omitempty"`  // the first words of the user's request, with keys masked
	Client string    `json:"client,omitempty"` // what the program calls itself
	Totals
}

// kept is a conversation with its last requests.
type kept struct {
	Talk
	points []Point
}

// Point is a request.
type Point struct {
	Time    time.Time       `json:"time"`
	Outcome gateway.Outcome `json:"outcome"`
	Why     string          `json:"why,omitempty"`
	Before  int64           `json:"before"`
	After   int64           `json:"after"`
	Window  int64           `json:"window"`
	Input   int64           `json:"input,omitempty"`
	Read    int64           `json:"read,omitempty"`
}

// Full is the share of the window that is in use; 0 where the window is not known.
func (t *Talk) Full() float64 {
	if t.Window <= 0 {
		return 0
	}
	return float64(t.After) / float64(t.Window)
}

// CacheShare is the share of the input that came from the cache.
func (t *Totals) CacheShare() float64 { return float64(t.Read) / float64(max(t.Input, 1)) }

// Listing is what GET /sessions answers.
type Listing struct {
	Since time.Time `json:"since"`
	Totals
	// Sessions are the conversations with more than one request, the last one first. Single
	// counts the others: titles, probes, and the first requests of conversations.
	Sessions []Talk `json:"sessions"`
	Single   int    `json:"single"`
}

// board adds up events.
type board struct {
	mu    sync.Mutex
	since time.Time
	all   Totals
	talks map[string]*kept
}

func (b *board) add(e *gateway.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e.Conversation == "" {
		b.all.Requests++
		return
	}
	t := b.talks[e.Conversation]
	if t == nil {
		if len(b.talks) >= maxTalks {
			oldest := slices.MinFunc(slices.Collect(maps.Values(b.talks)), func(x, y *kept) int { return x.Last.Compare(y.Last) })
			delete(b.talks, oldest.ID)
		}
		t = &kept{Talk: Talk{ID: e.Conversation, First: e.Time}}
		b.talks[t.ID] = t
	}
	one := totalsOf(e)
	t.plus(&one)
	b.all.plus(&one)
	t.About, t.Client = cmp.Or(t.About, e.About), e.Client
	t.API, t.Model, t.Last, t.Before, t.After, t.Window, t.Status = e.API, e.Model, e.Time, e.Before, e.After, e.Window, e.Status
	p := Point{Time: e.Time, Outcome: e.Outcome, Why: e.Why, Before: e.Before, After: e.After, Window: e.Window}
	if e.Usage != nil {
		p.Input, p.Read = e.Usage.Input, e.Usage.CacheRead
	}
	if t.points = append(t.points, p); len(t.points) > maxPoints {
		t.points = slices.Delete(t.points, 0, len(t.points)-maxPoints)
	}
}

// totalsOf is what one event adds.
func totalsOf(e *gateway.Event) (t Totals) {
	t.Requests = 1
	switch e.Outcome {
	case gateway.Compacted:
		t.Epochs++
	case gateway.Rescued:
		t.Rescued++
		t.Epochs++
	case gateway.TooLong:
		t.TooLong++
	case gateway.WouldBe:
		t.WouldBe++
	case gateway.Passed, gateway.Shortened, gateway.Refused:
	}
	t.NotSent += e.Before - e.After
	if unfit(e) && e.Status < 300 && e.After < e.Before {
		t.Unfit++
	}
	if u := e.Usage; u != nil {
		t.Input += u.Input
		t.Output += u.Output
		t.Read += u.CacheRead
		t.Written += u.CacheWrite
		if t.Cost = e.Cost; e.Cost == 0 {
			t.Unpriced = 1
		}
	}
	if e.Otherwise > 0 && e.After < e.Before && !unfit(e) {
		t.Saved = e.Otherwise - e.Cost
	}
	return t
}

func unfit(e *gateway.Event) bool { return e.Window > 0 && e.Before > e.Window }

// plus adds what another one has.
func (t *Totals) plus(o *Totals) {
	t.Requests += o.Requests
	t.Epochs += o.Epochs
	t.Rescued += o.Rescued
	t.TooLong += o.TooLong
	t.WouldBe += o.WouldBe
	t.Unfit += o.Unfit
	t.NotSent += o.NotSent
	t.Input += o.Input
	t.Output += o.Output
	t.Read += o.Read
	t.Written += o.Written
	t.Unpriced += o.Unpriced
	t.Cost += o.Cost
	t.Saved += o.Saved
}

func (b *board) list() Listing {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := Listing{Since: b.since, Totals: b.all, Sessions: []Talk{}}
	for _, t := range b.talks {
		if t.Requests < 2 && t.Epochs == 0 {
			l.Single++
			continue
		}
		l.Sessions = append(l.Sessions, t.Talk)
	}
	slices.SortFunc(l.Sessions, func(x, y Talk) int { return cmp.Or(y.Last.Compare(x.Last), cmp.Compare(x.ID, y.ID)) })
	return l
}

func (b *board) talk(id string) (t Talk, points []Point, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if k, ok := b.talks[id]; ok {
		return k.Talk, slices.Clone(k.points), true
	}
	return Talk{ID: id}, nil, false
}
