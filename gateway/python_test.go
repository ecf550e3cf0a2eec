package gateway_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/clew-dev/clew/gateway"
)

// python writes a value as Python's json.dumps does: with spaces after commas and colons, and
// with characters beyond ASCII escaped, or as newer clients do without either.
func python(compact []byte, old bool) []byte {
	if !old {
		return compact
	}
	var b bytes.Buffer
	in, escaped := false, false
	for _, r := range string(compact) {
		switch {
		case in && r > 0xFFFF:
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, hi, lo)
			continue
		case in && r > 0x7E:
			fmt.Fprintf(&b, `\u%04x`, r)
			continue
		}
		b.WriteRune(r)
		switch {
		case escaped:
			escaped = false
		case in && r == '\\':
			escaped = true
		case r == '"':
			in = !in
		case !in && (r == ',' || r == ':'):
			b.WriteByte(' ')
		}
	}
	return b.Bytes()
}

// pythonBodies are bodies in the order of keys of anthropic-python, openai-python and
// google-genai, with n turns: the list stands before the model, the system text and the tools.
func pythonBodies(n int) map[string][2]string {
	var anthropic, chat, responses, gemini []string
	for i := range n {
		said := fmt.Sprintf("Request %d: change src/part%d.go – schön 😀 </script>", i, i)
		result := strings.Repeat(fmt.Sprintf(`func part%d() error { return nil } // größer\n`, i), 60)
		anthropic = append(anthropic,
			fmt.Sprintf(`{"role":"user","content":"%s"}`, said),
			fmt.Sprintf(`{"role":"assistant","content":[{"citations":null,"text":"I look.","type":"text"},{"id":"toolu_%d","caller":null,"input":{"path":"src/part%d.go","ratio":1.0},"name":"read","type":"tool_use"}]}`, i, i),
			fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%d","content":"%s"}]}`, i, result),
			`{"role":"assistant","content":[{"citations":null,"text":"Changed.","type":"text"}]}`)
		chat = append(chat,
			fmt.Sprintf(`{"role":"user","content":"%s"}`, said),
			fmt.Sprintf(`{"content":null,"refusal":null,"role":"assistant","annotations":[],"audio":null,"function_call":null,"tool_calls":[{"id":"call_%d","function":{"arguments":"{\"path\":\"src/part%d.go\"}","name":"read"},"type":"function"}]}`, i, i),
			fmt.Sprintf(`{"role":"tool","tool_call_id":"call_%d","content":"%s"}`, i, result),
			`{"content":"Changed.","refusal":null,"role":"assistant","annotations":[],"audio":null,"function_call":null,"tool_calls":null}`)
		responses = append(responses,
			fmt.Sprintf(`{"role":"user","content":"%s"}`, said),
			fmt.Sprintf(`{"arguments":"{\"path\":\"src/part%d.go\"}","call_id":"call_%d","name":"read","type":"function_call","id":"fc_%d","status":"completed"}`, i, i, i),
			fmt.Sprintf(`{"type":"function_call_output","call_id":"call_%d","output":"%s"}`, i, result),
			fmt.Sprintf(`{"id":"msg_%d","content":[{"annotations":[],"text":"Changed.","type":"output_text","logprobs":[]}],"role":"assistant","status":"completed","type":"message","phase":null}`, i))
		gemini = append(gemini,
			fmt.Sprintf(`{"parts":[{"text":"%s"}],"role":"user"}`, said),
			fmt.Sprintf(`{"parts":[{"functionCall":{"args":{"path":"src/part%d.go"},"name":"read"},"thoughtSignature":"c2ln"}],"role":"model"}`, i),
			fmt.Sprintf(`{"parts":[{"functionResponse":{"name":"read","response":{"result":"%s"}}}],"role":"user"}`, result),
			`{"parts":[{"text":"Changed."}],"role":"model"}`)
	}
	last := `{"role":"user","content":"go on – 你好"}`
	list := func(elements []string, last string) string { return strings.Join(append(elements, last), ",") }
	return map[string][2]string{ // path → what stands before the last list, and after it
		"/v1/messages": {
			`{"max_tokens":1024,"messages":[` + list(anthropic, last),
			`],"model":"claude-sonnet-4-5","stream":true,"system":"Sei kurz – 😀","temperature":1.0,"tools":[{"name":"read","input_schema":{"type":"object","properties":{"path":{"type":"string"}}}}]}`,
		},
		"/v1/chat/completions": {
			`{"messages":[{"role":"system","content":"Sei kurz – 😀"},` + list(chat, last),
			`],"model":"gpt-4.1","stream":true,"stream_options":{"include_usage":true},"temperature":0.0,"tools":[{"type":"function","function":{"name":"read","parameters":{"type":"object","properties":{}}}}]}`,
		},
		"/v1/responses": {
			`{"include":["reasoning.encrypted_content"],"input":[` + list(responses, last),
			`],"instructions":"Sei kurz – 😀","model":"gpt-5","store":false,"stream":true,"tools":[]}`,
		},
		"/v1beta/models/gemini-2.5-pro:streamGenerateContent": {
			`{"contents":[` + list(gemini, `{"parts":[{"text":"go on – 你好"}],"role":"user"}`),
			`],"systemInstruction":{"parts":[{"text":"Sei kurz – 😀"}],"role":"user"},"tools":[{"functionDeclarations":[{"name":"read"}]}],"generationConfig":{"temperature":1.0}}`,
		},
	}
}

// Bodies as Python's SDKs send them pass byte by byte, and streams come back so. Where one is
// shortened, what stands before and after the list is as it came, and so is the end of the list.
func TestPythonBodies(t *testing.T) {
	stream := "event: message_start\ndata: {\"type\": \"message_start\", \"message\": {\"usage\": {\"input_tokens\": 9}}}\n\n: ping\r\n\r\ndata: {\"text\":\"gr\u00f6\u00dfer \\ud83d\\ude00\"}\n\ndata: [DONE]\n\n"
	for path := range pythonBodies(0) {
		for _, old := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/old=%v", path, old), func(t *testing.T) {
				u := newUpstream(t)
				u.answer = func(w http.ResponseWriter, _ int) {
					w.Header().Set("Content-Type", "text/event-stream")
					for i := 0; i < len(stream); i += 7 { // characters and events in pieces
						write(w, stream[i:min(i+7, len(stream))])
						w.(http.Flusher).Flush()
					}
				}
				rt := gateway.Transport(nil, gateway.Config{Window: window(20_000)})
				for i, turns := range []int{2, 50} {
					parts := pythonBodies(turns)[path]
					body := python([]byte(parts[0]+parts[1]), old)
					if !json.Valid(body) {
						t.Fatal("the test's own body is no JSON")
					}
					_, answer := send(t, rt, u.URL+path, body)
					sent := u.bodies[i]
					if answer != stream {
						t.Errorf("the stream became %q", answer)
					}
					if i == 0 {
						if !bytes.Equal(sent, body) {
							t.Errorf("the body became %.200s", sent)
						}
						continue
					}
					head := body[:bytes.IndexByte(body, '[')+1]
					tail := python([]byte(`"content":"go on – 你好"}`+parts[1]), old)
					if strings.Contains(path, "gemini") {
						tail = python([]byte(`"text":"go on – 你好"}],"role":"user"}`+parts[1]), old)
					}
					if len(sent) >= len(body)/2 || !json.Valid(sent) || !bytes.HasPrefix(sent, head) || !bytes.HasSuffix(sent, tail) {
						t.Errorf("of %d bytes %d were sent: %.120s ... %s", len(body), len(sent), sent, sent[max(0, len(sent)-300):])
					}
				}
			})
		}
	}
}
