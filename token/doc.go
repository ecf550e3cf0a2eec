// Package token says how many tokens something costs.
//
// A [Meter] measures a whole context: it takes the last usage a provider
// reported that still holds, and estimates only what came after it. A [Counter]
// makes the estimates: [HeuristicFor] by what characters are, [BPE] with OpenAI's
// tokenizers, [Chars4] as pi does.
//
//	meter, err := token.NewMeter(token.Config{Provider: "anthropic", Model: "claude-opus-4-6", Window: 200_000})
//	r := meter.Measure(messages, fresh)
//	fmt.Println(r.Tokens, "of", meter.Window(), "tokens, of which", r.Measured, "were reported")
//	if r.Guarded() > limit {
//		// an estimate that is low by the usual error would no longer fit
//	}
//
// [Learn] corrects estimates by what the usage in a log says of them; docs/meter.md says
// how, and how good they are. What is counted is what is sent.
package token
