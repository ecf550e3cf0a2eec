package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// run is one run of the whole.
type run struct {
	cfg      config
	began    time.Time
	tenants  []string // their secrets
	talks    []*conversation
	cluster  *cluster
	writers  *writers // nil for none
	count    counts
	attempts atomic.Int64
	ended    atomic.Int64
	steps    atomic.Int64

	mu     sync.Mutex
	took   []time.Duration
	events []string
}

func (r *run) since() time.Duration { return time.Since(r.began) }

func newRun(cfg config) *run {
	r := &run{cfg: cfg, began: time.Now()}
	for i := range cfg.Tenants {
		r.tenants = append(r.tenants, secretOf(tenantMark, cfg.Seed, i))
	}
	for i := range cfg.Conversations {
		r.talks = append(r.talks, newConversation(cfg.Seed, i, cfg.Tenants, cfg.Turns))
	}
	return r
}

// execute runs it all.
func execute(ctx context.Context, cfg config) (res *result, err error) {
	r := newRun(cfg)
	provider := httptest.NewServer(http.HandlerFunc(r.upstream))
	defer provider.Close()
	if r.cluster, err = startCluster(ctx, cfg, provider.URL); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.cluster.close()) }()
	if cfg.Writers > 0 && r.cluster.db != nil {
		if r.writers, err = newWriters(ctx, r, r.cluster.database); err != nil {
			return nil, err
		}
		defer r.writers.close()
	}
	r.began = time.Now()
	if err := r.talk(ctx); err != nil {
		return nil, err
	}
	return r.judge(ctx)
}

// talk lets the conversations go on, a turn of one and then of another, while faults happen.
func (r *run) talk(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	total, next := 0, 0
	for _, c := range r.talks {
		total += c.turns
	}
	queue := make(chan *conversation, max(r.cfg.Live, 1))
	for ; next < min(r.cfg.Live, len(r.talks)); next++ {
		queue <- r.talks[next]
	}
	plan, due := r.plan(total), make(chan func() error, 100)
	var harm, all sync.WaitGroup
	harm.Go(func() {
		for f := range due {
			if err := f(); err != nil {
				cancel(err)
			}
		}
	})
	var mu sync.Mutex // of next and live
	live := next
	advance := func(c *conversation, more bool) {
		mu.Lock()
		defer mu.Unlock()
		if n := int(r.steps.Add(1)); len(plan) > 0 && n >= plan[0].at {
			due <- plan[0].do
			plan = plan[1:]
		}
		switch {
		case more:
			queue <- c
			return
		case next < len(r.talks) && r.since() < r.cfg.Limit:
			queue <- r.talks[next]
			next++
		default:
			live--
		}
		c.forget()
		r.ended.Add(1)
		if live == 0 {
			close(queue)
		}
	}
	for range r.cfg.Workers {
		all.Go(func() {
			for {
				select {
				case <-ctx.Done():
					return
				case c, ok := <-queue:
					if !ok {
						return
					}
					more, err := c.step(ctx, r)
					if err != nil {
						cancel(err)
						return
					}
					advance(c, more)
				}
			}
		})
	}
	if r.writers != nil {
		all.Go(func() {
			if err := r.writers.work(ctx, total); err != nil {
				cancel(err)
			}
		})
	}
	all.Wait()
	close(due)
	harm.Wait()
	return context.Cause(ctx)
}

// event is a fault at a step of the run.
type event struct {
	at int
	do func() error
}

// plan spreads the faults over the steps of a run.
func (r *run) plan(steps int) (plan []event) {
	rng := rand.New(rand.NewPCG(r.cfg.Seed, 1<<40))
	kills := r.cfg.Kills
	if kills < 0 {
		kills = 2 * r.cfg.Replicas
	}
	order := rng.Perm(r.cfg.Replicas)
	for i := range kills {
		which := order[i%len(order)]
		plan = append(plan, event{steps * (i + 1) / (kills + 2), func() error {
			return r.happens(fmt.Sprintf("replica %d killed", which), func() error { return r.cluster.kill(which) })
		}})
		if i == kills/2 && r.cluster.db != nil {
			plan = append(plan, event{steps * (2*i + 3) / (2*kills + 4), func() error { return r.happens("PostgreSQL restarted", r.cluster.db.Restart) }})
		}
	}
	if r.writers != nil {
		for i, is := range []bool{true, false} {
			plan = append(plan, event{steps * (2 + i) / 5, func() error {
				return r.happens(fmt.Sprintf("S3 refuses: %t", is), func() error { r.writers.refuse(is); return nil })
			}})
		}
		slices.SortStableFunc(plan, func(a, b event) int { return a.at - b.at })
	}
	return plan
}

// happens notes a fault, and how long it took until it was mended.
func (r *run) happens(what string, do func() error) error {
	begin := r.since()
	err := do()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, fmt.Sprintf("%s\tat %.1f s, for %.1f s", what, begin.Seconds(), (r.since()-begin).Seconds()))
	return err
}

// ask sends a request that ends with a node, now and then to two replicas at once.
func (r *run) ask(ctx context.Context, c *conversation, at int, rng *rand.Rand) error {
	c.mu.Lock()
	c.nodes[at].asked = true
	c.mu.Unlock()
	list, _ := c.list(at)
	body := fmt.Appendf(nil, `{"model":"claude-sonnet-4-5","max_tokens":300,"system":"You are agent %d.","messages":[%s]}`, c.id, strings.Join(list, ","))
	order := rng.Perm(r.cfg.Replicas)
	if rng.IntN(100) >= 8 {
		return r.deliver(ctx, c, at, body, order, 0)
	}
	var other error
	var both sync.WaitGroup
	both.Go(func() { other = r.deliver(ctx, c, at, body, order[len(order)-1:], 1000) })
	return errors.Join(r.deliver(ctx, c, at, body, order, 0), func() error { both.Wait(); return other }())
}

const (
	patience = 30 * time.Second
	pause    = 20 * time.Millisecond
)

// deliver sends a request to one replica after the other, as a load balancer does where a
// connection breaks, until there is an answer.
func (r *run) deliver(ctx context.Context, c *conversation, at int, body []byte, order []int, attempt int) error {
	for begin := r.since(); ; attempt++ {
		replica := order[attempt%len(order)]
		status, answer, err := r.send(ctx, c, at, attempt, replica, body)
		switch want := fmt.Sprintf(`"text":"%d %d"`, c.id, at); {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err == nil && status == http.StatusOK && strings.Contains(answer, want):
			c.acknowledge(at, attempt)
			r.mu.Lock()
			r.took = append(r.took, r.since()-begin)
			r.mu.Unlock()
			return nil
		case err == nil && status == http.StatusOK:
			r.count.add(foreign, "conversation %d, message %d: replica %d gave another's answer: %.200s", c.id, at, replica, answer)
			return nil
		case err == nil:
			r.count.add(refused, "conversation %d, message %d: replica %d answered %d: %.200s", c.id, at, replica, status, answer)
			return nil
		case r.since()-begin > patience:
			r.count.add(refused, "conversation %d, message %d: no replica answered for %s: %v", c.id, at, patience, err)
			return nil
		}
		r.count.broken.Add(1)
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

func (r *run) send(ctx context.Context, c *conversation, at, attempt, replica int, body []byte) (int, string, error) {
	r.attempts.Add(1)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.cluster.url(replica)+"/v1/messages", bytes.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Anthropic-Version", "2023-06-01")
	req.Header.Set(benchHeader, fmt.Sprint(c.id, at, attempt, replica, int64(r.since())))
	r.cluster.authorize(req, c.tenant)
	resp, err := r.cluster.client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(bytes.TrimSpace(answer)), err
}

// acknowledge notes that a client has got the answer to a request.
func (c *conversation) acknowledge(at, attempt int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := len(c.went) - 1; i >= 0; i-- {
		if c.went[i].node == at && c.went[i].attempt == attempt {
			c.went[i].acked = true
			return
		}
	}
}
