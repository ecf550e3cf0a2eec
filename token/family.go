package token

import (
	"slices"
	"strings"
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

// familyOf returns the family of a model. The model's id decides; it may carry
// prefixes and suffixes of resellers ("us.anthropic.claude-opus-4-5-v1:0"). For an
// id that says nothing the provider decides, and a Claude whose version is not
// in the id is taken as a new one, whose count is higher.
func familyOf(provider, model string) family {
	provider, model = strings.ToLower(provider), strings.ToLower(model)
	if major, minor, ok := claudeVersion(model); ok {
		if major < 4 || major == 4 && minor < 7 {
			return claude
		}
		return claude47
	}
	switch {
	case strings.Contains(model, "claude"):
		return claude47
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

// knownOther reports ids that tell the model's maker whatever API serves it:
// many servers speak OpenAI's or Anthropic's.
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

// claudeVersion reads the version from the id of a Claude model: the first
// number of one or two digits after "claude", and one after it if there is one.
// Longer numbers are dates.
func claudeVersion(model string) (major, minor int, ok bool) {
	_, rest, found := strings.Cut(model, "claude")
	if !found {
		return 0, 0, false
	}
	return version(rest)
}

// version returns the first number of one or two digits in s that stands on its
// own, and the one joined to it by a dot, hyphen or underscore.
func version(s string) (major, minor int, ok bool) {
	for i := 0; i < len(s); {
		if !digit(s[i]) {
			i++
			continue
		}
		end := i
		for end < len(s) && digit(s[end]) {
			end++
		}
		n, short := shortNumber(s[i:end])
		standsAlone := i == 0 || !letter(s[i-1]) || s[i-1] == 'v'
		switch {
		case ok && short:
			return major, n, true
		case ok:
			return major, 0, true
		case short && standsAlone:
			major, ok = n, true
			if end >= len(s) || s[end] != '.' && s[end] != '-' && s[end] != '_' || end+1 >= len(s) || !digit(s[end+1]) {
				return major, 0, true
			}
		}
		i = end
	}
	return major, 0, ok
}

func shortNumber(s string) (n int, short bool) {
	if len(s) > 2 {
		return 0, false
	}
	for i := range len(s) {
		n = n*10 + int(s[i]-'0')
	}
	return n, true
}

func digit(c byte) bool  { return '0' <= c && c <= '9' }
func letter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
