package compact_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/wire"
)

// TestByteBudget holds requests to a limit in bytes that the window alone would
// not: images are many bytes and few tokens.
func TestByteBudget(t *testing.T) {
	ctx := context.Background()
	acted, images, fixed := 0, 0, 0
	seeds := uint64(40)
	if underRace || testing.Short() {
		seeds = 3
	}
	for seed := range seeds {
		l := newLife(t, seed)
		if calls := compact.Pending(l.context().Items); len(calls) > 0 {
			if _, err := compact.CloseOpenCalls(ctx, l.log); err != nil {
				t.Fatal(err)
			}
		}
		for _, m := range contents(l.context()) {
			for _, b := range m.Content {
				if b.Type == message.BlockImage {
					images++
				}
			}
		}
		before := l.make(compact.Threshold, compact.Policy{Window: 1_000_000}).Before
		for _, share := range []int64{90, 50, 20} {
			for _, preset := range compact.PresetNames() {
				policy, err := compact.Preset(preset)
				if err != nil {
					t.Fatal(err)
				}
				policy.Window, policy.MaxBytes = 1_000_000, max(before.Bytes*share/100, compact.MinBytes)
				mem := session.NewMemory(l.store.Header(), l.entries()...)
				log, err := session.NewLog(ctx, mem, session.Options{Clock: l.log.Now})
				if err != nil {
					t.Fatal(err)
				}
				if err := log.Navigate(ctx, l.log.Leaf(), ""); err != nil {
					t.Fatal(err)
				}
				plan, err := compact.Make(ctx, loadCase(t, mem, log.Leaf()), compact.Request{Reason: compact.Threshold, Policy: &policy})
				var part *compact.FixedPartError
				if errors.As(err, &part) {
					if part.Bytes <= policy.MaxBytes || !strings.Contains(err.Error(), "bytes") {
						l.fail("%s at %d bytes: %v", preset, policy.MaxBytes, err)
					}
					fixed++
					continue
				}
				if err != nil {
					l.fail("%s at %d bytes: %v", preset, policy.MaxBytes, err)
					continue
				}
				if over := before.Bytes > policy.MaxBytes; over && !plan.Act && !plan.Breaker {
					l.fail("%s leaves %d bytes where %d may be: %s", preset, before.Bytes, policy.MaxBytes, plan.Why)
				}
				if !plan.Act {
					continue
				}
				acted++
				if plan.After.Bytes > policy.MaxBytes {
					l.fail("%s gives %d bytes where %d may be", preset, plan.After.Bytes, policy.MaxBytes)
				}
				if _, err := compact.Apply(ctx, log, plan); err != nil {
					t.Fatal(err)
				}
				c, err := log.Context(ctx)
				if err != nil {
					t.Fatal(err)
				}
				req, _, err := wire.Build(contents(c), wire.Anthropic, wire.Target{Provider: "p", Model: "m", TakesImages: true}, wire.Options{CloseOpenCalls: true})
				if err != nil {
					l.fail("%s: %v", preset, err)
					continue
				}
				sent := int64(0)
				for _, m := range req.Messages {
					sent += int64(len(m))
				}
				if sent > policy.MaxBytes*11/10 {
					l.fail("%s: the request takes %d bytes, and %d may be", preset, sent, policy.MaxBytes)
				}
			}
		}
	}
	t.Logf("%d plans acted, %d had too large a fixed part, %d images in the contexts", acted, fixed, images)
	if acted < int(seeds)*4 || images < int(seeds)/4 {
		t.Errorf("%d plans acted on contexts with %d images: the test shows little", acted, images)
	}
}
