package modeltest

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/model"
)

// apiError is an error in the words of one API.
type apiError struct {
	status    int
	typ, code string
	message   string
	after     time.Duration
}

func (e *apiError) header(h http.Header) {
	if e.after > 0 {
		h.Set("Retry-After", strconv.FormatFloat(e.after.Seconds(), 'f', -1, 64))
	}
}

func words(f *Failure, def string) string {
	if f.Message != "" {
		return f.Message
	}
	return def
}

// anthropicError: https://platform.claude.com/docs/en/api/errors
func anthropicError(f *Failure) apiError {
	e := apiError{status: 400, typ: "invalid_request_error", after: f.RetryAfter}
	switch f.Kind {
	case model.KindOverflow:
		e.message = words(f, fmt.Sprintf("prompt is too long: %d tokens > %d maximum", f.Asked, f.Limit))
	case model.KindRateLimit:
		e.status, e.typ, e.message = 429, "rate_limit_error", words(f, "This request would exceed your organization's rate limit of 30,000 input tokens per minute.")
	case model.KindOverloaded:
		e.status, e.typ, e.message = 529, "overloaded_error", words(f, "Overloaded")
	case model.KindServer:
		e.status, e.typ, e.message = 500, "api_error", words(f, "Internal server error")
	case model.KindAuth:
		e.status, e.typ, e.message = 401, "authentication_error", words(f, "invalid x-api-key")
	case model.KindNotFound:
		e.status, e.typ, e.message = 404, "not_found_error", words(f, "model: not found")
	case model.KindQuota:
		e.message = words(f, "Your credit balance is too low to access the API.")
	default:
		e.message = words(f, "the request is not valid")
	}
	return e
}

func (e *apiError) anthropicBody() []byte {
	var in, o jsonx.Object
	in.Str("type", e.typ)
	in.Str("message", e.message)
	o.Str("type", "error")
	o.Raw("error", in.Bytes())
	o.Str("request_id", "req_test")
	return o.Bytes()
}

// openaiError: https://platform.openai.com/docs/guides/error-codes
func openaiError(f *Failure, responses bool) apiError {
	e := apiError{status: 400, typ: "invalid_request_error", after: f.RetryAfter}
	switch f.Kind {
	case model.KindOverflow:
		e.code = "context_length_exceeded"
		e.message = words(f, fmt.Sprintf("This model's maximum context length is %d tokens. However, your messages resulted in %d tokens.", f.Limit, f.Asked))
		if responses {
			e.message = words(f, "Your input exceeds the context window of this model. Please adjust your input and try again.")
		}
	case model.KindRateLimit:
		e.status, e.typ, e.code = 429, "tokens", "rate_limit_exceeded"
		e.message = words(f, "Rate limit reached on tokens per min (TPM): Limit 30000, Used 29937, Requested 385. Please try again in 1s.")
	case model.KindOverloaded:
		e.status, e.typ, e.code, e.message = 503, "server_error", "overloaded", words(f, "The engine is currently overloaded, please try again later")
	case model.KindServer:
		e.status, e.typ, e.code, e.message = 500, "server_error", "server_error", words(f, "The server had an error while processing your request.")
	case model.KindAuth:
		e.status, e.code, e.message = 401, "invalid_api_key", words(f, "Incorrect API key provided.")
	case model.KindNotFound:
		e.status, e.code, e.message = 404, "model_not_found", words(f, "The model does not exist or you do not have access to it.")
	case model.KindQuota:
		e.status, e.typ, e.code = 429, "insufficient_quota", "insufficient_quota"
		e.message = words(f, "You exceeded your current quota, please check your plan and billing details.")
	default:
		e.message = words(f, "the request is not valid")
	}
	return e
}

func (e *apiError) openaiObject() []byte {
	var in jsonx.Object
	in.Str("message", e.message)
	in.Str("type", e.typ)
	in.Raw("param", []byte("null"))
	if e.code == "" {
		in.Raw("code", []byte("null"))
	} else {
		in.Str("code", e.code)
	}
	return in.Bytes()
}

func (e *apiError) openaiBody() []byte {
	var o jsonx.Object
	o.Raw("error", e.openaiObject())
	return o.Bytes()
}

// geminiError: https://ai.google.dev/gemini-api/docs/troubleshooting
func geminiError(f *Failure) apiError {
	e := apiError{status: 400, typ: "INVALID_ARGUMENT", after: f.RetryAfter}
	switch f.Kind {
	case model.KindOverflow:
		e.message = words(f, fmt.Sprintf("The input token count (%d) exceeds the maximum number of tokens allowed (%d).", f.Asked, f.Limit))
	case model.KindRateLimit:
		e.status, e.typ, e.message = 429, "RESOURCE_EXHAUSTED", words(f, "Resource has been exhausted.")
	case model.KindOverloaded:
		e.status, e.typ, e.message = 503, "UNAVAILABLE", words(f, "The model is overloaded. Please try again later.")
	case model.KindServer:
		e.status, e.typ, e.message = 500, "INTERNAL", words(f, "An internal error has occurred.")
	case model.KindAuth:
		e.code, e.message = "API_KEY_INVALID", words(f, "API key not valid. Please pass a valid API key.")
	case model.KindNotFound:
		e.status, e.typ, e.message = 404, "NOT_FOUND", words(f, "models/x is not found for API version v1beta.")
	case model.KindQuota:
		e.status, e.typ, e.message = 402, "FAILED_PRECONDITION", words(f, "The project has no billing account.")
	default:
		e.message = words(f, "the request is not valid")
	}
	return e
}

func (e *apiError) geminiBody() []byte {
	var in, o jsonx.Object
	in.Int("code", int64(e.status))
	in.Str("message", e.message)
	in.Str("status", e.typ)
	switch {
	case e.code != "":
		in.Raw("details", []byte(`[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"`+e.code+`","domain":"googleapis.com"}]`))
	case e.after > 0:
		in.Raw("details", []byte(`[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"`+strconv.FormatFloat(e.after.Seconds(), 'f', -1, 64)+`s"}]`))
	}
	o.Raw("error", in.Bytes())
	return o.Bytes()
}
