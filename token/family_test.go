package token_test

import (
	"testing"

	"github.com/clew-dev/clew/token"
)

func TestFamilyOf(t *testing.T) {
	for _, c := range []struct {
		provider, model string
		want            token.Family
	}{
		{"anthropic", "claude-opus-4-5", token.Claude},
		{"anthropic", "claude-opus-4-5-20251101", token.Claude},
		{"anthropic", "claude-opus-4-6", token.Claude},
		{"anthropic", "claude-sonnet-4-20250514", token.Claude},
		{"anthropic", "claude-3-5-sonnet-20241022", token.Claude},
		{"anthropic", "claude-3-opus-latest", token.Claude},
		{"amazon-bedrock", "us.anthropic.claude-opus-4-5-v1:0", token.Claude},
		{"amazon-bedrock", "anthropic.claude-v2:1", token.Claude},
		{"google-vertex", "claude-opus-4@20250514", token.Claude},
		{"openrouter", "anthropic/claude-sonnet-4.5", token.Claude},
		{"anthropic", "claude-haiku-4-5", token.Claude},
		{"anthropic", "claude-opus-4-7", token.ClaudeNew},
		{"openrouter", "anthropic/claude-opus-4.8", token.ClaudeNew},
		{"anthropic", "Claude-Sonnet-5", token.ClaudeNew},
		{"anthropic", "claude-opus-5-5", token.ClaudeNew},
		{"anthropic", "claude", token.ClaudeNew},
		{"anthropic", "opus", token.ClaudeNew},
		{"openai", "gpt-5.6-sol", token.GPT},
		{"openai-codex", "gpt-5.3-codex", token.GPT},
		{"openai", "o4-mini", token.GPT},
		{"openrouter", "openai/o3", token.GPT},
		{"openai", "something-new", token.GPT},
		{"groq", "openai/gpt-oss-120b", token.GPT},
		{"openai", "deepseek-chat", token.Universal},
		{"anthropic", "kimi-k2", token.Universal},
		{"google", "gemini-3-pro-preview", token.Universal},
		{"ollama", "llama3.1:8b", token.Universal},
		{"local", "olmo-2", token.Universal},
		{"", "", token.Universal},
	} {
		if got := token.FamilyOf(c.provider, c.model); got != c.want {
			t.Errorf("FamilyOf(%q, %q) = %s, want %s", c.provider, c.model, got, c.want)
		}
	}
}
