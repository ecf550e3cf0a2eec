package openai

import (
	"slices"
	"strings"

	"github.com/clew-dev/clew/model"
)

// ladder has the words for how much to reason, from the least to the most.
var ladder = []model.Reasoning{
	model.ReasoningNone, model.ReasoningMinimal, model.ReasoningLow, model.ReasoningMedium,
	model.ReasoningHigh, model.ReasoningXHigh, model.ReasoningMax,
}

// efforts says which words models take, by how their names begin; the first that
// fits counts. Another word is refused. From OpenAI's reference of the
// member reasoning.effort, and what the API says when it refuses:
// https://github.com/anomalyco/opencode/issues/4451,
// https://github.com/pydantic/pydantic-ai/issues/7081.
var efforts = []struct{ prefix, words string }{
	{"o1", "low medium high"},
	{"o3", "low medium high"},
	{"o4", "low medium high"},
	{"gpt-5.1-codex-max", "low medium high xhigh"},
	{"gpt-5.1-codex", "low medium high"},
	{"gpt-5.1", "none low medium high"},
	{"gpt-5.2-codex", "low medium high xhigh"},
	{"gpt-5.3-codex", "low medium high xhigh"},
	{"gpt-5.6", "none low medium high xhigh max"},
	{"gpt-5.", "none low medium high xhigh"},
	{"gpt-5-pro", "high"},
	{"gpt-5-codex", "low medium high"},
	{"gpt-5", "minimal low medium high"},
	{"gpt-oss", "low medium high"},
	{"gpt-", "none low medium high xhigh"},
	// What most servers take for models of their own.
	{"", "none low medium high"},
}

// effort returns the word for how much to reason; "" for nothing to be sent. A
// word that the model does not know becomes the next above it, or the greatest.
func (c *common) effort(r *model.Request) string {
	if c.e.Info.Thinking == model.ThinkingNever || r.Reasoning == model.ReasoningDefault {
		return ""
	}
	name := strings.ToLower(c.e.Model)
	name = name[strings.LastIndexByte(name, '/')+1:]
	at := slices.IndexFunc(efforts, func(e struct{ prefix, words string }) bool { return strings.HasPrefix(name, e.prefix) })
	words := strings.Fields(efforts[at].words)
	for _, w := range ladder[max(slices.Index(ladder, r.Reasoning), 0):] {
		if slices.Contains(words, string(w)) {
			return string(w)
		}
	}
	return words[len(words)-1]
}
