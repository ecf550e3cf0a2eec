// Package openai speaks to models through OpenAI's two APIs: Chat Completions,
// which most servers offer too, and Responses.
//
//	m, err := openai.NewResponses(openai.Config{Endpoint: model.Endpoint{Model: "gpt-5.2"}})
//	local, err := openai.NewChat(openai.Config{Endpoint: model.Endpoint{
//		Model: "qwen3:8b", Provider: "ollama", BaseURL: "http://localhost:11434/v1",
//	}})
//
// The key comes from OPENAI_API_KEY, for OpenAI's own address alone. The formats
// are those of https://platform.openai.com/docs/api-reference/chat and
// https://platform.openai.com/docs/api-reference/responses. What compatible
// servers do otherwise is read where it is known, and each place says so.
package openai
