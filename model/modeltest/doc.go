// Package modeltest stands in for language models in tests: a scripted model in
// the process, and a server that speaks the real wire formats.
//
//	srv := modeltest.Start(modeltest.Config{}, modeltest.Text("Hello."), modeltest.Overflow(210_000, 200_000))
//	defer srv.Close()
//	m, err := anthropic.New(anthropic.Config{Endpoint: srv.Endpoint("claude-sonnet-4-5")})
//
// One server answers Anthropic Messages, OpenAI Chat Completions and Responses,
// and Gemini's generateContent, each streamed or whole, by the path of the
// request. It answers with the replies of its script, in order, and checks every
// request as the providers do: calls and results in pairs, roles, signatures that
// come back unchanged, sizes, and whether what was sent before is still the start
// of the request. A request that breaks a rule is refused as the API would refuse
// it, and stands among Violations. All exchanges are kept and can be replayed.
//
// A reply can be slow, be cut at any byte, be refused, be empty, hold nothing but
// reasoning, or be any error. The formats are written here without a line of the
// adapters; the vendors' own clients check them in the module contract beside
// this package.
package modeltest
