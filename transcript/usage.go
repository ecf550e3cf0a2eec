package transcript

import (
	"github.com/clew-dev/clew/message"
)

// anthropicUsage reads usage of the Messages API, whose input excludes the cache.
func anthropicUsage(v value) *message.Usage {
	if !v.isObject() {
		return nil
	}
	u := &message.Usage{
		Input: v.int("input_tokens"), Output: v.int("output_tokens"),
		CacheRead: v.int("cache_read_input_tokens"), CacheWrite: v.int("cache_creation_input_tokens"),
	}
	return nonzero(u)
}

// openAIUsage reads usage of either OpenAI API and of servers that imitate them.
// Their input includes what was read from the cache.
func openAIUsage(v value) *message.Usage {
	if !v.isObject() {
		return nil
	}
	u := &message.Usage{
		Input:  max(v.int("prompt_tokens"), v.int("input_tokens")),
		Output: max(v.int("completion_tokens"), v.int("output_tokens")),
		CacheRead: max(v.int("prompt_tokens_details", "cached_tokens"), v.int("input_tokens_details", "cached_tokens"),
			v.int("cached_input_tokens"), v.int("cache_read_tokens"), v.int("prompt_cache_hit_tokens")),
		CacheWrite: max(v.int("cache_write_tokens"), v.int("prompt_tokens_details", "cache_write_tokens")),
		Reasoning: max(v.int("completion_tokens_details", "reasoning_tokens"), v.int("output_tokens_details", "reasoning_tokens"),
			v.int("reasoning_output_tokens")),
	}
	u.CacheRead = min(u.CacheRead, u.Input)
	u.CacheWrite = min(u.CacheWrite, u.Input-u.CacheRead)
	u.Input -= u.CacheRead + u.CacheWrite
	return nonzero(u)
}

func nonzero(u *message.Usage) *message.Usage {
	if u.Input == 0 && u.Output == 0 && u.CacheRead == 0 && u.CacheWrite == 0 {
		return nil
	}
	u.TotalCount = u.Input + u.Output + u.CacheRead + u.CacheWrite
	return u
}
