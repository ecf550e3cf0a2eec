// Package anthropic speaks to models through Anthropic's Messages API, and to
// other servers that offer it.
//
//	m, err := anthropic.New(anthropic.Config{Endpoint: model.Endpoint{Model: "claude-sonnet-4-5"}})
//
// The key comes from ANTHROPIC_API_KEY. The formats are those of
// https://platform.claude.com/docs/en/api/messages and, for streams,
// https://platform.claude.com/docs/en/build-with-claude/streaming.
package anthropic
