package model

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/clew-dev/clew/internal/jsonx"
)

// maxErrorText is how much of a provider's text is read and kept, in bytes.
const maxErrorText = 4 << 10

// ErrorFromBody reads the body of an answer that is an error, or the data of an
// error event in a stream (status 0). It knows the shapes that the APIs and the
// servers that copy them use; anything else becomes a text.
func ErrorFromBody(provider string, status int, header http.Header, body []byte) *Error {
	e := &Error{Provider: provider, Status: status}
	e.readBody(body)
	e.RetryAfter = max(e.RetryAfter, retryAfter(header, e.Message))
	for _, name := range []string{"request-id", "x-request-id", "x-amzn-requestid", "x-goog-request-id"} {
		if id := header.Get(name); id != "" {
			e.RequestID = id
			break
		}
	}
	f := Failure{Provider: provider, Status: status, Type: e.Type, Code: e.Code, Message: e.Message}
	if o, ok := ClassifyOverflow(f); ok {
		e.Kind, e.Overflow = KindOverflow, &o
		overflowMembers(body, &o)
		return e
	}
	e.Kind = classify(f)
	return e
}

// readBody fills in type, code and message.
func (e *Error) readBody(body []byte) {
	body = trimSpace(body)
	end, err := jsonx.Scan(body, 0)
	if err != nil || end != len(body) || len(body) == 0 {
		e.Message = plainText(string(body))
		return
	}
	obj := body
	if jsonx.IsArray(obj) { // Gemini's OpenAI endpoint
		jsonx.Elements(obj, func(v []byte) bool { obj = v; return false })
	}
	inner := jsonx.Get(obj, "error")
	switch {
	case jsonx.IsObject(inner):
		e.readObject(inner)
		if e.Message == "" {
			e.readObject(obj)
		}
	case jsonx.IsString(inner): // LM Studio, Ollama
		e.Message, _ = jsonx.String(inner)
		e.readObject(obj)
	default:
		e.readObject(obj)
	}
	if e.Message == "" {
		e.Message = string(obj)
	}
	// OpenRouter and LiteLLM put what the provider said beside or inside.
	if raw, ok := jsonx.String(jsonx.Get(jsonx.Get(inner, "metadata"), "raw")); ok && raw != "" {
		e.Message += ": " + raw
	}
	e.Message = plainText(e.Message)
}

func (e *Error) readObject(obj []byte) {
	set := func(to *string, keys ...string) {
		for _, key := range keys {
			val := jsonx.Get(obj, key)
			s, ok := jsonx.String(val)
			if !ok && len(val) > 0 && (val[0] == '-' || '0' <= val[0] && val[0] <= '9') {
				s = string(val)
			}
			if *to == "" {
				*to = s
			}
		}
	}
	set(&e.Type, "type", "status", "__type", "error_type")
	set(&e.Code, "code")
	set(&e.Message, "message", "Message", "msg", "detail", "error_message")
	// FastAPI: {"detail":[{"msg":...}]}; Gemini: {"details":[{"retryDelay":"20s"}]}
	jsonx.Elements(jsonx.Get(obj, "detail"), func(d []byte) bool {
		if msg, ok := jsonx.String(jsonx.Get(d, "msg")); ok && e.Message == "" {
			e.Message = msg
		}
		return true
	})
	jsonx.Elements(jsonx.Get(obj, "details"), func(d []byte) bool {
		if delay, ok := jsonx.String(jsonx.Get(d, "retryDelay")); ok {
			if t, err := time.ParseDuration(delay); err == nil && t > 0 {
				e.RetryAfter = t
			}
		}
		if reason, ok := jsonx.String(jsonx.Get(d, "reason")); ok && reason == "API_KEY_INVALID" {
			e.Code = reason
		}
		return true
	})
}

// overflowMembers reads the numbers that llama.cpp gives beside its text.
func overflowMembers(body []byte, o *Overflow) {
	inner := jsonx.Get(trimSpace(body), "error")
	if n, ok := jsonx.Int(jsonx.Get(inner, "n_prompt_tokens")); ok && n > 0 {
		o.Asked = n
	}
	if n, ok := jsonx.Int(jsonx.Get(inner, "n_ctx")); ok && n > 0 {
		o.Limit = n
	}
}

// classify says what kind of failure it is that is no overflow.
func classify(f Failure) Kind {
	text := fold(f.Message)
	names := " " + strings.ToLower(f.Type) + " " + strings.ToLower(f.Code) + " "
	has := func(in string, any ...string) bool {
		for _, a := range any {
			if strings.Contains(in, a) {
				return true
			}
		}
		return false
	}
	switch {
	case has(names, "insufficient_quota", "billing_error", " billing_") || f.Status == http.StatusPaymentRequired ||
		has(text, "credit balance is too low", "insufficient balance", "can only afford", "current quota, please check your plan") && f.Status != http.StatusTooManyRequests:
		return KindQuota
	case has(names, "overloaded", " unavailable ") || f.Status == 529 || f.Status == http.StatusServiceUnavailable || has(text, "overloaded"):
		return KindOverloaded
	case f.Status == http.StatusTooManyRequests, has(names, "rate_limit", "resource_exhausted", "throttling", "too_many_requests"),
		f.Status == 0 && has(text, "rate limit"):
		return KindRateLimit
	case f.Status == http.StatusUnauthorized, f.Status == http.StatusForbidden,
		has(names, "authentication_error", "permission_error", "invalid_api_key", "api_key_invalid", "permission_denied"):
		return KindAuth
	case f.Status == http.StatusNotFound, has(names, "not_found", "model_not_found"):
		return KindNotFound
	case has(names, "content_filter", "content_policy", "moderation_blocked"):
		return KindRefused
	case f.Status == http.StatusRequestTimeout, f.Status == http.StatusConflict, f.Status >= 500 && f.Status != http.StatusNotImplemented,
		has(names, "api_error", "server_error", "internal_error", " internal ", "timeout_error", "deadline_exceeded"):
		return KindServer
	case f.Status >= 300 && f.Status < 400:
		return KindNotFound // a redirect, which is not followed with a key in the request
	case f.Status >= 400, has(names, "invalid_request"):
		return KindInvalid
	}
	return KindUnknown
}

// retryAfter returns how long to wait by header or text; 0 for no word on it.
func retryAfter(header http.Header, text string) time.Duration {
	if ms, err := strconv.ParseFloat(header.Get("Retry-After-Ms"), 64); err == nil && ms > 0 && ms < 1e10 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	if v := header.Get("Retry-After"); v != "" {
		if s, err := strconv.ParseFloat(v, 64); err == nil && s > 0 && s < 1e7 {
			return time.Duration(s * float64(time.Second))
		}
		// A date is relative to the server's clock, which is beside it.
		if at, err := http.ParseTime(v); err == nil {
			if now, err := http.ParseTime(header.Get("Date")); err == nil && at.After(now) {
				return at.Sub(now)
			}
		}
	}
	if m := retryText().FindStringSubmatch(fold(text)); m != nil {
		if d, err := time.ParseDuration(m[1]); err == nil && d > 0 {
			return d
		}
	}
	return 0
}

// plainText returns the first words of a text that may be a page of HTML.
func plainText(s string) string {
	if t := strings.TrimSpace(s); strings.HasPrefix(t, "<") {
		s = tags().ReplaceAllString(scripts().ReplaceAllString(t, " "), " ")
	}
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "�")), " ")
	if len(s) > maxErrorText {
		s = strings.ToValidUTF8(s[:maxErrorText], "") + " …"
	}
	return s
}

func trimSpace(b []byte) []byte {
	b = b[jsonx.Space(b, 0):]
	for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\n' || b[len(b)-1] == '\r' || b[len(b)-1] == '\t') {
		b = b[:len(b)-1]
	}
	return b
}
