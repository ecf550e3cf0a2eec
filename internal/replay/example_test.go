package replay_test

import (
	"context"
	"fmt"

	"github.com/clew-dev/clew/internal/replay"
)

// lastWords is a policy of one's own: it keeps what was said last.
type lastWords struct{}

func (lastWords) Name() string  { return "last-words" }
func (lastWords) About() string { return "what was said last" }
func (lastWords) Frame() string { return "" }

func (lastWords) Replace(_ context.Context, p replay.Prefix) (replay.Replacement, error) {
	return replay.Replacement{Text: p.Dropped[len(p.Dropped)-1].Message.Text()}, nil
}

func ExamplePolicy() {
	baselines, err := replay.FindPolicies(replay.BaselineNames())
	if err != nil {
		fmt.Println(err)
		return
	}
	opt := replay.Options{Policies: append([]replay.Policy{lastWords{}}, baselines...)}
	report, err := replay.Run(context.Background(), nil, opt)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Policies)
	// Output: [last-words lines story extract files soup tail]
}

func ExampleRun() {
	var sessions []replay.Session // of package transcript, or a session.Store
	report, err := replay.Run(context.Background(), sessions, replay.Options{Budget: 2000})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, row := range report.Rows(false)[:2] {
		fmt.Println(row.Policy, row.Points)
	}
	// Output:
	// clew 0
	// pi 0
}
