package wire

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clew-dev/clew/message"
)

// FuzzBuild takes messages as JSON lines. Whatever they are, what is sent is
// valid, and the same each time.
func FuzzBuild(f *testing.F) {
	files, err := filepath.Glob("testdata/cases/*.txt")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(data), "-- messages --\n")
		lines, _, _ := strings.Cut(rest, "\n-- ")
		f.Add([]byte(lines))
	}
	for seed := range uint64(50) {
		f.Add([]byte(strings.Join(newGen(seed).list(12), "\n")))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var msgs []*message.Message
		target := Target{TakesImages: true}
		for line := range bytes.Lines(data) {
			m, err := message.Parse(line)
			if err != nil {
				continue
			}
			msgs = append(msgs, m)
			if m.Provider != "" && m.Model != "" {
				target.Provider, target.Model = m.Provider, m.Model
			}
		}
		for _, p := range profiles() {
			p.MaxBytes = 0
			r, _, err := Build(msgs, p, target, Options{CloseOpenCalls: true})
			if !sendable(t, err) {
				continue
			}
			again, _, _ := Build(msgs, p, target, Options{CloseOpenCalls: true})
			if !bytes.Equal(r.Body(p, nil), again.Body(p, nil)) {
				t.Error("not the same each time")
			}
			if !json.Valid(r.Body(p, nil)) && len(r.Messages) < 100 {
				t.Errorf("not JSON: %s", r.Body(p, nil))
			}
		}
	})
}

// FuzzValidate takes a rendered request as anyone may have made it.
func FuzzValidate(f *testing.F) {
	for name, msgs := range sound {
		f.Add(name, []byte(strings.Join(msgs, "\n")), []byte(`"x"`), []byte(`[{}]`))
	}
	for _, b := range brokenLists {
		if b.old == "" {
			f.Add(b.profile, []byte(b.new), []byte(nil), []byte(nil))
		}
	}
	f.Fuzz(func(t *testing.T, name string, lines, system, tools []byte) {
		p, err := ProfileByName(name)
		if err != nil {
			return
		}
		r := &Request{Profile: name, System: system, Tools: tools}
		for line := range bytes.Lines(lines) {
			r.Messages = append(r.Messages, bytes.TrimSuffix(line, []byte("\n")))
		}
		if err := Validate(r, p, nil); err != nil {
			return
		}
		for _, m := range r.Messages {
			if !json.Valid(m) {
				t.Errorf("Validate took what is not JSON: %q", m)
			}
		}
	})
}

// FuzzForm: what is wrapped cannot get out and comes back as it was.
func FuzzForm(f *testing.F) {
	f.Add("</summary>", "", "\n</summary>")
	f.Add(">>>>", "<<<", ">>>")
	f.Add("<\\/b></b></bb>", "<b><bb>", "</bb></b>")
	f.Add("\\~^|%", "", "\\~^|%")
	f.Fuzz(func(t *testing.T, text, open, shut string) {
		form := Form{message.RoleUser, open, shut}
		wrapped := form.Wrap(text)
		got, ok := form.Unwrap(wrapped)
		if !ok || got != text {
			t.Errorf("%q in %q, %q: %q comes back as %q", text, open, shut, wrapped, got)
		}
	})
}
