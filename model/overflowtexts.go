package model

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// The texts by which providers say that a request is too large, and those that
// sound like it and are not. They are matched against what fold returns. Each is
// there because of a line in testdata/overflow.txt, which has the sources.

// num matches a number, grouped or not.
const num = `([0-9][0-9,._]*)`

// texts are the patterns, compiled when they are first needed.
type texts struct {
	overflow []overflowText
	never    []*regexp.Regexp

	perTime, rateNumbers, longContextPaid *regexp.Regexp

	// Where a text has its numbers, in the order in which they are tried.
	sums        []*regexp.Regexp // the input, the room for the answer, the limit
	sumsLimited []*regexp.Regexp // the limit, the input, the room for the answer
	pairs       []*regexp.Regexp // what was asked, the limit
	reversed    []*regexp.Regexp // the limit, what was asked
	asked       []*regexp.Regexp
	output      []*regexp.Regexp
	limit       []*regexp.Regexp
}

type overflowText struct {
	name string
	kind OverflowKind
	re   *regexp.Regexp
}

func tokens(name, re string) overflowText {
	return overflowText{name, OverflowTokens, regexp.MustCompile(re)}
}

func bytesOver(name, re string) overflowText {
	return overflowText{name, OverflowBytes, regexp.MustCompile(re)}
}

var known = sync.OnceValue(func() *texts {
	perTime := regexp.MustCompile(`(?:tokens?|requests?)[ -]per[ -](?:sec(?:ond)?|min(?:ute)?|hour|day)|/ ?min\b|\b[tr]p[mdh]\b`)
	return &texts{
		perTime: perTime,
		// The allowance and the request, without what was used before.
		rateNumbers: regexp.MustCompile(`limit:? ` + num + `, requested:? ` + num),
		// https://github.com/anthropics/claude-code/issues/50784
		longContextPaid: regexp.MustCompile(`extra usage is required for long context requests`),

		overflow: []overflowText{
			tokens("prompt-too-long", `(?:prompt|input|conversation) (?:\([0-9,]+ tokens\) )?(?:is )?too long`),
			tokens("input-and-max-tokens", `input length and .?max_tokens.? exceed context limit`),
			tokens("exceeds-window", `exceed(?:s|ed)? (?:the |this )?(?:model'?s? |available |maximum |max |configured |its )*(?:context|prompt)[ -](?:window|length|size|limit)`),
			tokens("window-exceeded", `context[ _](?:window|length|size)(?: has been| was| is)? exceed(?:ed|s)`),
			tokens("window-reached", `(?:has )?reached (?:its|the) context (?:window|length) limit`),
			tokens("maximum-context-length", `maximum (?:model )?context (?:length|window)(?: is| of|:)? ?\(?(?:only )?`+num),
			tokens("context-length-is", `model'?s? context length is (?:only )?`+num),
			tokens("longer-than", `(?:longer|greater|larger) than (?:the |this )?(?:model'?s? |maximum )*(?:context|model|input) (?:length|window|size)`),
			tokens("count-exceeds", `input (?:token count|tokens) ?(?:\([0-9,]+\) )?exceeds? (?:the )?(?:maximum|configured limit|limit)`),
			tokens("input-length-exceeds", `input length (?:\(?[0-9,]+(?: tokens)?\)? )?exceeds`),
			tokens("prompt-length-is", `maximum prompt length is `+num),
			tokens("reduce", `reduce the length of (?:the |your )?(?:messages|input|prompt|either one)`),
			tokens("token-count-of", `prompt token count of `+num+` exceeds the limit of `+num),
			tokens("loaded-with", `loaded with context length of only`),
			tokens("model-token-limit", `exceeded model token limit`),
			tokens("too-large-for-model", `too large for model with `+num+` maximum context length`),
			tokens("configured-size", `prompt has `+num+` tokens, but the configured context size`),
			tokens("range-of-input", `range of input length should be \[`),
			tokens("inputs-plus-new", `inputs.? tokens \+ .?max_new_tokens.? must be`),
			tokens("inputs-less-than", `inputs.? must have less than `+num+` tokens`),
			tokens("max-message-tokens", `exceeds? max(?:imum)? message tokens`),
			tokens("request-more-than", `tokens in request more than max tokens allowed`),
			tokens("too-many-input", `too many (?:input|prompt) tokens`),
			tokens("body-for-model", `request body too large for .{1,80} model\. max size: `+num+` tokens`),

			bytesOver("maximum-size", `request (?:size )?exceeds the maximum (?:allowed )?size`),
			bytesOver("entity", `(?:request entity|request body|payload|content) (?:is )?too large`),
			bytesOver("payload-size", `request payload size exceeds the limit`),
			bytesOver("body-size", `maximum request body size `+num+` exceeded`),
			bytesOver("member-length", `'body' failed to satisfy constraint: member must have length less than or equal to`),
			bytesOver("string-length", `string value length \([0-9]+\) exceeds the maximum allowed`),
			bytesOver("content-string", `invalid '(?:messages|input|instructions)[^']*': string too long`),
		},
		never: []*regexp.Regexp{
			regexp.MustCompile(`rate[ -_]?limit|too many requests|throttl|usage limit|max_?imum number of concurrent`),
			perTime,
			regexp.MustCompile(`quota|billing|credit|more funds|can only afford|upgrade to a paid`),
			regexp.MustCompile(`too many tokens, please wait|please wait before trying`),
			regexp.MustCompile(`service unavailable|overloaded|high demand|try again later`),
			// The limit of the answer.
			regexp.MustCompile(`maximum allowed (?:number of )?(?:output|completion) tokens|supports at most [0-9,]+ (?:completion|output)?`),
			regexp.MustCompile(`maximum tokens (?:you )?requested exceeds? the model limit`),
			regexp.MustCompile(`max_(?:completion_|output_|new_)?tokens.{0,40} (?:must be (?:less|at most|smaller|between|greater)|should be|cannot exceed|is illegal)|range of max_tokens should be`),
			regexp.MustCompile(`"?max_tokens"? (?:must|should) be greater than .{0,20}thinking`),
			// Other things of which there can be too many or too much.
			regexp.MustCompile(`(?:number of )?images? (?:and documents )?(?:dimensions? )?(?:exceeds?|count)|image dimensions|too many images|images per request|at most [0-9]+ images?`),
			regexp.MustCompile(`image (?:is|size|file|exceeds).{0,40}(?:too large|exceeds|maximum)|pdf pages|page limit`),
			regexp.MustCompile(`(?:functions|tools|stop sequences|documents)'?:? (?:exceeds?|array too long)|too many (?:tools|functions|documents)`),
			regexp.MustCompile(`tool (?:name|description)|function name|file (?:size )?(?:is )?too large|file size`),
			// About windows, not about this request.
			regexp.MustCompile(`context window (?:is )?too small|long context beta is not yet available`),
		},

		sums: compile(`exceed context limit: ` + num + ` \+ ` + num + ` > ` + num),
		sumsLimited: compile(
			`must be <= `+num+`\. given: `+num+` .?inputs.? tokens and `+num,
			`maximum context length is `+num+` tokens and your request has `+num+` input tokens \(`+num,
		),
		pairs: compile(
			`prompt is too long: `+num+` tokens > `+num,
			`token count of `+num+` exceeds the limit of `+num,
			`input token count \(`+num+`\) exceeds the maximum number of tokens allowed \(`+num+`\)`,
			`\(`+num+` tokens\) is longer than the model'?s? context length \(`+num,
			`\(length `+num+`\) is longer than the maximum model length of `+num,
			`input length \(`+num+` tokens\) exceeds the maximum allowed length \(`+num,
			`current length is `+num+` while limit is `+num,
			`n_keep: `+num+` ?>= ?n_ctx: `+num,
			`keep the first `+num+` tokens .{0,120}context length of only `+num,
			`prompt has `+num+` tokens, but the configured context size is `+num,
			`requested tokens \(`+num+`\) exceed context window of `+num,
			`request \(`+num+` tokens\) exceeds the available context size \(`+num,
			`prompt contains `+num+` tokens.{0,60}?too large for model with `+num,
			`prompt \(`+num+` tokens\) is too long and exceeds limit of `+num,
			`prompt too long \(`+num+` tokens, max `+num,
			`prompt is too long: `+num+`, model maximum context length: `+num,
			`input length \(?`+num+`\)? exceeds .{0,60}?length (?:of )?\(?`+num,
			`input and maximum output tokens \(`+num+`\) exceeded this model context window limit \(`+num,
			`string value length \(`+num+`\) exceeds the maximum allowed \(`+num,
			`number of tokens \(`+num+`\) exceeded maximum context length \(`+num,
		),
		reversed: compile(
			`maximum prompt length is `+num+` but the request contains `+num,
			`exceeded model token limit: `+num+` \(re ?quested: `+num,
			`less than `+num+` tokens\. given: `+num,
			`max input length is `+num+` tokens, but you supplied `+num,
			`max input tokens: `+num+`, request input token count: `+num,
			`maximum request body size `+num+` exceeded, actual body size `+num,
			`maximum length `+num+`, but got a string with length `+num,
			`max(?:imum)? tokens supported is `+num+` or less, got `+num,
			`context window is `+num+` tokens, you requested `+num,
		),
		asked: compile(
			`requested (?:about )?(?:a total of )?`+num+` tokens`,
			`for a total of (?:at least )?`+num+` tokens`,
			`resulted in `+num+` tokens`,
			`(?:input|messages) resulted in `+num,
			`passed `+num+` input tokens`,
			`request contains `+num+` tokens`,
			`n_prompt_tokens"?: ?`+num,
		),
		output: compile(
			num+` (?:tokens )?(?:in the|for the) (?:completion|output)`,
			num+` in the output`,
			`requested `+num+` output tokens`,
		),
		limit: compile(
			`maximum (?:model )?context (?:length|window)(?: is| of|:)? ?\(?(?:only )?`+num,
			`context length is (?:only )?`+num,
			`maximum number of tokens allowed \(`+num,
			`maximum allowed input length of `+num,
			`configured limit of `+num,
			`length should be \[1, ?`+num,
			`max size: `+num+` tokens`,
			`exceeds the limit: `+num+` bytes`,
			`less than or equal to `+num,
			`n_ctx"?: ?`+num,
			`model length of `+num,
			`context (?:window|size|length) of (?:only )?`+num,
			`model token limit: `+num,
		),
	}
})

func compile(res ...string) (out []*regexp.Regexp) {
	for _, re := range res {
		out = append(out, regexp.MustCompile(re))
	}
	return out
}

// numbers reads the numbers in a text.
func numbersOf(o *Overflow, text string) {
	t := known()
	if m := firstMatch(t.sums, text); m != nil {
		o.Output, o.Limit = number(m[2]), number(m[3])
		o.Asked = number(m[1]) + o.Output
		return
	}
	if m := firstMatch(t.sumsLimited, text); m != nil {
		o.Output, o.Limit = number(m[3]), number(m[1])
		o.Asked = number(m[2]) + o.Output
		return
	}
	if m := firstMatch(t.pairs, text); m != nil {
		o.Asked, o.Limit = number(m[1]), number(m[2])
		return
	}
	if m := firstMatch(t.reversed, text); m != nil {
		o.Asked, o.Limit = number(m[2]), number(m[1])
		return
	}
	o.Asked, o.Limit, o.Output = firstNumber(t.asked, text), firstNumber(t.limit, text), firstNumber(t.output, text)
	if o.Output > o.Asked { // the text names the room for the answer and no total
		o.Output = 0
	}
}

func firstMatch(res []*regexp.Regexp, text string) []string {
	for _, re := range res {
		if m := re.FindStringSubmatch(text); m != nil {
			return m
		}
	}
	return nil
}

func firstNumber(res []*regexp.Regexp, text string) int64 {
	if m := firstMatch(res, text); m != nil {
		return number(m[1])
	}
	return 0
}

// number reads a number with or without marks between groups of digits; 0 when
// it is none or too large to be a count.
func number(s string) int64 {
	s = strings.TrimRight(s, ",._")
	if i := strings.IndexByte(s, '.'); i >= 0 && len(s)-i-1 != 3 {
		s = s[:i] // a fraction
	}
	s = strings.NewReplacer(",", "", ".", "", "_", "").Replace(s)
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n > 1<<50 {
		return 0
	}
	return n
}
