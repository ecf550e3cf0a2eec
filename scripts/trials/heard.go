package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"

	"github.com/clew-dev/clew/internal/admin"
	"github.com/clew-dev/clew/message"
)

// heard is a request as a program sent it, and the answer that it got.
type heard struct {
	req    *http.Request
	body   []byte
	status int
	answer bytes.Buffer
}

// listen notes what the programs in front of a server send and get.
func (l *loop) listen(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the program has gone
		}
		h := &heard{req: r, body: body, status: http.StatusOK}
		l.mu.Lock()
		l.heard = append(l.heard, h)
		l.mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(&tee{w, h}, r)
	})
}

type tee struct {
	http.ResponseWriter
	h *heard
}

func (t *tee) WriteHeader(status int) {
	t.h.status = status
	t.ResponseWriter.WriteHeader(status)
}

func (t *tee) Write(p []byte) (int, error) {
	t.h.answer.Write(p)
	return t.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController, by which streams are flushed.
func (t *tee) Unwrap() http.ResponseWriter { return t.ResponseWriter }

// changed counts the requests that arrived as they were sent, and says what did not though it
// should: so many requests, and all answers.
func (l *loop) changed(passed int) (same int, out []string) {
	bodies, answers := map[string]int{}, map[string]bool{}
	for _, x := range l.srv.Exchanges() {
		bodies[string(x.Request)]++
		answers[x.Response] = true
	}
	for _, h := range l.heard {
		if h.status == http.StatusNotFound || len(h.body) == 0 { // no request to a model
			continue
		}
		if bodies[string(h.body)] > 0 {
			bodies[string(h.body)]--
			same++
		}
		if !answers[h.answer.String()] {
			out = append(out, fmt.Sprintf("an answer of %d bytes is not the server's", h.answer.Len()))
		}
	}
	if same < passed {
		out = append(out, fmt.Sprintf("of %d bodies that passed %d arrived as they were sent", passed, same))
	}
	return same, out
}

// report notes the usage of a reply, as far as the program wants to know it.
func (l *loop) report(request []byte, u *message.Usage) {
	if streamed.Match(request) && isChat.Match(request) && !wantsUsage.Match(request) {
		return
	}
	l.reported = append(l.reported, *u)
}

var (
	streamed   = regexp.MustCompile(`"stream":true`)
	isChat     = regexp.MustCompile(`"messages":\[\{"(role":"(system|developer)|content)"`)
	wantsUsage = regexp.MustCompile(`"include_usage":true`)
)

// untrue compares the usage that the server has reported with what the gateway's page and
// metrics say, and with what the program has written into its session.
func (l *loop) untrue(board *admin.Server, t *trial) (out []string) {
	var sum admin.Totals
	answers := map[string]int{}
	for _, u := range l.reported {
		sum.Input += u.Prompt()
		sum.Read += u.CacheRead
		sum.Output += u.Output
		answers[told(&u)]++
	}
	page, metrics, err := figuresOf(board)
	if err != nil {
		return []string{err.Error()}
	}
	for _, by := range []struct {
		name string
		t    admin.Totals
	}{{"the page", page}, {"metrics", metrics}} {
		if by.t.Input != sum.Input || by.t.Read != sum.Read || by.t.Output != sum.Output {
			out = append(out, fmt.Sprintf("%s: input %d, from the cache %d, output %d; reported were %d, %d and %d", by.name, by.t.Input, by.t.Read, by.t.Output, sum.Input, sum.Read, sum.Output))
		}
	}
	shown, err := t.shown(l.agent)
	if err != nil {
		return append(out, err.Error())
	}
	none := told(&message.Usage{}) // Gemini CLI forgets what it had noted when it writes its list anew
	for _, u := range shown {
		if answers[u] == 0 && u != none {
			out = append(out, "the program shows a usage of "+u+", which nobody reported")
		}
	}
	if len(shown) < l.calls || shown[len(shown)-1] == none {
		out = append(out, fmt.Sprintf("the program shows the usage of %d answers, not of %d", len(shown), l.calls))
	}
	return out
}

func told(u *message.Usage) string {
	return fmt.Sprintf("%d (%d from the cache) → %d", u.Prompt(), u.CacheRead, u.Output)
}

var metric = regexp.MustCompile(`(?m)^clew_gateway_usage_tokens_total\{api="[^"]*",kind="(\w+)"\} (\S+)$`)

// figuresOf reads what the gateway's page and its metrics have added up.
func figuresOf(board *admin.Server) (page, metrics admin.Totals, err error) {
	get := func(path string) []byte {
		w := httptest.NewRecorder()
		board.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://127.0.0.1"+path, nil))
		return w.Body.Bytes()
	}
	var list admin.Listing
	if err = json.Unmarshal(get("/sessions"), &list); err != nil {
		return page, metrics, fmt.Errorf("/sessions: %w", err)
	}
	for _, m := range metric.FindAllSubmatch(get("/metrics"), -1) {
		n, err := strconv.ParseFloat(string(m[2]), 64)
		if err != nil {
			return page, metrics, fmt.Errorf("/metrics: %w", err)
		}
		*map[string]*int64{"input": &metrics.Input, "cache_read": &metrics.Read, "cache_write": &metrics.Written, "output": &metrics.Output}[string(m[1])] += int64(n)
	}
	return list.Totals, metrics, nil
}

var shownLine = regexp.MustCompile(`(?m)^usage: (.*)$`)

// shown reads the usage that a program notes in its session, one for each answer.
func (t *trial) shown(a *agent) (out []string, err error) {
	if a.turns { // the programs with SDKs print it
		for _, m := range shownLine.FindAllStringSubmatch(t.said, -1) {
			out = append(out, m[1])
		}
		return out, nil
	}
	list, err := t.command(a.name+"-ls", t.clew, "ls", "--json", "--program", a.name)
	if err != nil {
		return nil, err
	}
	var found struct{ Sessions []struct{ Path string } }
	if err := json.Unmarshal([]byte(list), &found); err != nil || len(found.Sessions) == 0 {
		return nil, fmt.Errorf("clew ls does not list the session: %.100s", list)
	}
	entries, err := t.command(a.name+"-import", t.clew, "import", found.Sessions[0].Path, "--out", "-")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(entries) {
		var e struct {
			Message struct {
				Usage *struct{ Input, CacheRead, CacheWrite, Output int64 }
			}
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			return nil, err
		}
		if u := e.Message.Usage; u != nil {
			out = append(out, told(&message.Usage{Input: u.Input, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Output: u.Output}))
		}
	}
	return out, nil
}
