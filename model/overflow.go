package model

import (
	"net/http"
	"strings"
)

// Failure is what is known of a call that failed, as the provider said it.
type Failure struct {
	// Provider is as messages name it. One rule, about answers without a body,
	// holds for one provider alone.
	Provider string
	// Status is the HTTP status; 0 for an error inside a stream.
	Status int
	// Type and Code are the machine-readable names in the body; "" for none.
	Type, Code string
	// Message is the text in the body, or the body where it is no JSON.
	Message string
}

// overflowCodes are machine-readable names that leave no doubt.
var overflowCodes = map[string]OverflowKind{
	"context_length_exceeded":          OverflowTokens, // OpenAI and many after it
	"context_window_exceeded":          OverflowTokens,
	"contextwindowexceedederror":       OverflowTokens, // LiteLLM
	"model_context_window_exceeded":    OverflowTokens, // z.ai, Anthropic's stop reason
	"model_max_prompt_tokens_exceeded": OverflowTokens, // GitHub Copilot
	"exceed_context_size_error":        OverflowTokens, // llama.cpp
	"tokens_limit_reached":             OverflowTokens, // GitHub Models
	"request_too_large":                OverflowBytes,  // Anthropic
}

// neverCodes are machine-readable names of what is never an overflow, whatever
// the text beside them says.
var neverCodes = map[string]bool{
	"rate_limit_error": true, "rate_limit_exceeded": true, "rate_limited": true, "too_many_requests": true,
	"resource_exhausted": true, "throttlingexception": true, "overloaded_error": true,
	"insufficient_quota": true, "billing_error": true, "quota_exceeded": true,
	"authentication_error": true, "permission_error": true, "not_found_error": true, "array_above_max_length": true,
}

// ClassifyOverflow tells whether a call failed because the request was too
// large. Machine-readable names decide first, then texts; texts about rates,
// quotas, images, tools and the limit of the answer never count, nor does an
// answer without a body, but for the one provider that means it so.
//
// The texts are those of testdata/overflow.txt, each with its source. A text
// that is not there is not an overflow: a wrong yes costs a compaction that
// helps nothing, a wrong no is an error that the user reads.
func ClassifyOverflow(f Failure) (o Overflow, ok bool) {
	text := fold(f.Message)
	typ, code := strings.ToLower(f.Type), strings.ToLower(f.Code)
	if o, ok := overRate(text); ok {
		return o, true
	}
	if text == "" {
		// https://github.com/openclaw/openclaw/issues/119595 and others: a proxy's
		// 400 without a word is about anything. Cerebras sends it for overflows.
		if strings.EqualFold(f.Provider, "cerebras") && (f.Status == http.StatusBadRequest || f.Status == http.StatusRequestEntityTooLarge) {
			return Overflow{Kind: OverflowTokens, Rule: "cerebras-no-body"}, true
		}
	}
	for _, name := range []string{code, typ} {
		if kind, known := overflowCodes[name]; known {
			o := Overflow{Kind: kind, Rule: "code " + name}
			numbersOf(&o, text)
			return o, true
		}
	}
	if code == "1261" && strings.Contains(text, "prompt") { // z.ai
		o := Overflow{Kind: OverflowTokens, Rule: "code 1261"}
		numbersOf(&o, text)
		return o, true
	}
	if known().longContextPaid.MatchString(text) {
		return Overflow{Kind: OverflowTokens, Rule: "long-context-paid"}, true
	}
	if neverCodes[code] || neverCodes[typ] || f.Status == http.StatusTooManyRequests || f.Status == http.StatusPaymentRequired {
		return Overflow{}, false
	}
	for _, re := range known().never {
		if re.MatchString(text) {
			return Overflow{}, false
		}
	}
	for _, r := range known().overflow {
		if r.re.MatchString(text) {
			o := Overflow{Kind: r.kind, Rule: r.name}
			numbersOf(&o, text)
			return o, true
		}
	}
	if f.Status == http.StatusRequestEntityTooLarge && text != "" {
		return Overflow{Kind: OverflowBytes, Rule: "status 413"}, true
	}
	return Overflow{}, false
}

// fold makes a text comparable: lower case, one blank for all white space, and
// without the backslashes of JSON inside JSON.
func fold(s string) string {
	if len(s) > maxErrorText {
		s = s[:maxErrorText]
	}
	s = strings.NewReplacer(`\n`, " ", `\t`, " ", `\`, "", "’", "'").Replace(s)
	return strings.Join(strings.Fields(strings.ToLower(s)), " ")
}

// overRate finds a request that is larger than the allowance of a whole minute.
func overRate(text string) (Overflow, bool) {
	if !known().perTime.MatchString(text) {
		return Overflow{}, false
	}
	m := known().rateNumbers.FindStringSubmatch(text)
	if m == nil {
		return Overflow{}, false
	}
	o := Overflow{Kind: OverflowRate, Limit: number(m[1]), Asked: number(m[2]), Rule: "larger-than-rate"}
	return o, o.Limit > 0 && o.Asked > o.Limit
}
