package token

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// family names models that share a tokenizer, or nearly do.
type family string

// The families. The weights of each are in weights.go.
const (
	claude    family = "claude"    // Claude up to 4.6
	claude47  family = "claude47"  // Claude 4.7 and later: another tokenizer, more tokens for Latin text
	gpt       family = "gpt"       // OpenAI models since GPT-4o
	universal family = "universal" // everything else
)

// familyOf returns the family of a model. Its id decides, whatever prefixes and suffixes
// of resellers it carries; for an id that says nothing the provider does. A Claude
// whose version is not in the id is taken as a new one, whose count is higher.
func familyOf(provider, model string) family {
	provider, model = strings.ToLower(provider), strings.ToLower(model)
	if _, after, ok := strings.Cut(model, "claude"); ok {
		if major, minor, ok := version(after); ok && (major < 4 || major == 4 && minor < 7) {
			return claude
		}
		return claude47
	}
	switch {
	case strings.Contains(model, "gpt"), strings.Contains(model, "codex"), openAIReasoner(model):
		return gpt
	case knownOther(model):
		return universal
	}
	switch {
	case strings.Contains(provider, "anthropic"), strings.Contains(provider, "claude"):
		return claude47
	case strings.Contains(provider, "openai"):
		return gpt
	}
	return universal
}

// knownOther reports ids that tell the maker, for many servers speak OpenAI's API.
func knownOther(model string) bool {
	return slices.ContainsFunc([]string{
		"gemini", "gemma", "deepseek", "qwen", "llama", "mistral", "mixtral", "devstral", "codestral",
		"glm", "kimi", "grok", "minimax", "command", "nova", "phi", "yi-", "jamba", "granite", "nemotron",
	}, func(name string) bool { return strings.Contains(model, name) })
}

// openAIReasoner reports "o1", "o3-mini", "openai/o4-mini" and the like.
func openAIReasoner(model string) bool {
	model = model[strings.LastIndexByte(model, '/')+1:]
	return len(model) >= 2 && model[0] == 'o' && '1' <= model[1] && model[1] <= '9' &&
		(len(model) == 2 || model[2] == '-')
}

// versionText is the first number of one or two digits that stands on its own, and the
// one joined to it. Longer numbers are dates.
var versionText = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:^|[^a-z0-9]|v)(\d{1,2})(?:[-._](\d{1,2})(?:\D|$)|\D|$)`)
})

func version(s string) (major, minor int, ok bool) {
	found := versionText().FindStringSubmatch(s)
	if found == nil {
		return 0, 0, false
	}
	major, _ = strconv.Atoi(found[1])
	minor, _ = strconv.Atoi(found[2]) // 0 when there is none
	return major, minor, true
}

func digit(c byte) bool  { return '0' <= c && c <= '9' }
func letter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
