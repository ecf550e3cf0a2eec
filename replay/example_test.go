package replay_test

import (
	"context"
	"fmt"

	"github.com/clew-dev/clew/replay"
)

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
