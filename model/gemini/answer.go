package gemini

import (
	"strconv"
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model"
)

// read reads a response as the API answers it.
func (c *Client) read(op string, body []byte) (*model.Answer, error) {
	obj := jsonx.One(body)
	if fail := jsonx.Get(obj, "error"); jsonx.IsObject(fail) {
		e := model.ErrorFromBody(c.e.Provider, int(jsonx.CountAt(fail, "code")), nil, obj)
		e.Op, e.Model = op, c.e.Model
		return nil, e
	}
	candidate := firstCandidate(obj)
	blocked := jsonx.StringAt(jsonx.Get(obj, "promptFeedback"), "blockReason")
	if candidate == nil && blocked == "" {
		return nil, c.e.Unreadable(op, body)
	}
	a := &model.Answer{
		ID: jsonx.StringAt(obj, "responseId"), Model: jsonx.StringAt(obj, "modelVersion"),
		Usage: usage(jsonx.Get(obj, "usageMetadata")), FinishDetail: jsonx.StringAt(candidate, "finishReason"),
	}
	a.Finish = finish(a.FinishDetail)
	if blocked != "" {
		a.Finish, a.FinishDetail = model.FinishRefusal, blocked
	}
	if a.Finish == model.FinishRefusal || a.Finish == model.FinishBadCall {
		a.Refusal = jsonx.StringAt(candidate, "finishMessage")
	}
	for _, part := range merge(elements(jsonx.Get(jsonx.Get(candidate, "content"), "parts"))) {
		c.readPart(a, part)
	}
	return a, nil
}

func firstCandidate(obj []byte) (out []byte) {
	jsonx.Elements(jsonx.Get(obj, "candidates"), func(c []byte) bool {
		if jsonx.IsObject(c) {
			out = c
		}
		return false
	})
	return out
}

func elements(arr []byte) (out [][]byte) {
	jsonx.Elements(arr, func(el []byte) bool {
		out = append(out, el)
		return true
	})
	return out
}

// merge joins neighbouring texts that are pieces of one: a stream cuts a text
// anywhere, and puts the signature of the whole on its last piece, which may be
// empty. A piece that follows a signature begins another text.
func merge(parts [][]byte) (out [][]byte) {
	for i := 0; i < len(parts); i++ {
		p := parts[i]
		if i+1 == len(parts) || !continues(p, parts[i+1]) {
			out = append(out, p)
			continue
		}
		var text strings.Builder
		text.WriteString(jsonx.StringAt(p, "text"))
		for ; i+1 < len(parts) && continues(parts[i], parts[i+1]); i++ {
			text.WriteString(jsonx.StringAt(parts[i+1], "text"))
		}
		p = jsonx.Set(p, "text", jsonx.Quote(text.String()))
		if sig := jsonx.Get(parts[i], "thoughtSignature"); sig != nil {
			p = jsonx.Set(p, "thoughtSignature", sig)
		}
		out = append(out, p)
	}
	return out
}

// continues reports whether a part goes on with the text of the one before.
func continues(last, p []byte) bool {
	return isText(last) && isText(p) && thought(last) == thought(p) && jsonx.StringAt(last, "thoughtSignature") == ""
}

// isText reports whether a part is text and nothing else.
func isText(p []byte) bool {
	if !jsonx.IsString(jsonx.Get(p, "text")) {
		return false
	}
	plain := true
	jsonx.Members(p, func(key, _ []byte) bool {
		k := string(key)
		plain = plain && (k == "text" || k == "thought" || k == "thoughtSignature")
		return plain
	})
	return plain
}

func thought(p []byte) bool { return jsonx.Bool(jsonx.Get(p, "thought")) }

func (c *Client) readPart(a *model.Answer, p []byte) {
	call := jsonx.Get(p, "functionCall")
	text, isText := jsonx.String(jsonx.Get(p, "text"))
	sig := jsonx.StringAt(p, "thoughtSignature")
	switch {
	case jsonx.IsObject(call):
		id := jsonx.StringAt(call, "id")
		if id == "" { // older models give none
			id = c.callID(a.ID, len(a.Blocks)+len(a.BadCalls))
		}
		args := jsonx.Get(call, "args")
		if b, ok := a.Call(id, jsonx.StringAt(call, "name"), string(args)); ok {
			b.Signature = sig
			a.Blocks = append(a.Blocks, b)
		}
	case isText && thought(p):
		if text != "" || sig != "" {
			a.Blocks = append(a.Blocks, message.ThinkingBlock(text, sig))
		}
	case isText:
		if text == "" && sig == "" {
			return
		}
		b := message.TextBlock(text)
		b.Signature = sig
		a.Blocks = append(a.Blocks, b)
	case jsonx.IsObject(p):
		a.Blocks = append(a.Blocks, message.ParseContent(jsonx.Array([][]byte{p}))...)
	}
}

// callID makes an id for a call that came without: from the response's own id,
// so that the same answer gives the same id.
func (c *Client) callID(response string, n int) string {
	if response == "" {
		return c.e.NewID()
	}
	return "call_" + response + "_" + strconv.Itoa(n)
}

func finish(reason string) model.Finish {
	switch reason {
	case "STOP":
		return model.FinishEnd
	case "MAX_TOKENS":
		return model.FinishLength
	case "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE",
		"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION":
		return model.FinishRefusal
	case "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS":
		return model.FinishBadCall
	case "CONTINUATION":
		return model.FinishPaused
	case "", "FINISH_REASON_UNSPECIFIED":
		return model.FinishNotKnown
	}
	return model.FinishUnknown
}

// usage reads what was counted. promptTokenCount holds what was read from the
// cache, and thoughts are apart from candidates; the log has it the other way.
func usage(obj []byte) *message.Usage {
	if !jsonx.IsObject(obj) {
		return nil
	}
	prompt := jsonx.CountAt(obj, "promptTokenCount")
	u := &message.Usage{
		CacheRead: min(jsonx.CountAt(obj, "cachedContentTokenCount"), prompt),
		Reasoning: jsonx.CountAt(obj, "thoughtsTokenCount"),
	}
	u.Input = prompt - u.CacheRead + jsonx.CountAt(obj, "toolUsePromptTokenCount")
	u.Output = jsonx.CountAt(obj, "candidatesTokenCount") + u.Reasoning
	return u
}
