package clew_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/summary"
)

// TestOwnSummarizer: where the document of a preset has a model write the summary, the one
// of the conversation does, of compactions and of branches, unless another is named; rules
// do it for preset clew.
func TestOwnSummarizer(t *testing.T) {
	ctx := context.Background()
	for _, name := range compact.PresetNames() {
		if testing.Short() && name != compact.PresetClew && name != compact.PresetPi {
			continue
		}
		own, named := 0, 0
		policy, err := compact.Preset(name)
		if err != nil {
			t.Fatal(err)
		}
		policy.Window = 200_000
		cfg := clew.Config{Policy: policy, OwnSummarizer: summarizerFunc(func(context.Context, summary.Input) error { own++; return nil })}
		s := newSession(t, cfg)
		first := add(t, s, message.User("begin", start), message.Assistant(start, message.TextBlock("ok")))
		r := rand.New(rand.NewPCG(7, 7))
		for k := range 10 {
			add(t, s, turn(r, k)...)
		}
		opt := clew.CompactOptions{DryRun: true, Keep: compact.Tokens(1_000)}
		compacted, err := s.Compact(ctx, opt)
		if err != nil || compacted.Plan.Summary == nil {
			t.Fatalf("%s: %v %+v", name, err, compacted)
		}
		asked := own
		branchTo(t, s, first[1], clew.BranchOptions{Summarize: true, DryRun: true})
		if want := name != compact.PresetClew; (asked > 0) != want || (own > asked) != want {
			t.Errorf("%s: asked %d times for a compaction, %d for a branch", name, asked, own-asked)
		}
		cfg.Policy.Summarizer = summarizerFunc(func(context.Context, summary.Input) error { named++; return nil })
		other, err := clew.OpenStore(ctx, s.Log().Store(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		asked = own
		if _, err := other.Compact(ctx, opt); err != nil || named == 0 || own != asked {
			t.Errorf("%s: the summarizer that is named was asked %d times, %v", name, named, err)
		}
	}
}
