package demo

import (
	"fmt"
	"strings"

	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/model"
)

// said is an answer.
type said struct {
	text  string
	calls []do
}

// maxSame is how often the same call is made for one request of the user's.
const maxSame = 3

// reply answers a request by rules.
func reply(r *model.Request) said {
	s := observe(r)
	if !s.tools {
		return said{text: "I am a demo model, and here are no tools, so there is nothing that I could do."}
	}
	if text := s.refused(); text != "" {
		return said{text: text}
	}
	out := s.choose()
	for _, c := range out.calls {
		if s.count(c) >= maxSame {
			return said{text: fmt.Sprintf("I have called %s %d times by now and get no further: my rules are at their end here. Say it in another way, or try: %s", c.tool, maxSame, suggestion)}
		}
	}
	return out
}

// suggestion is what always works.
const suggestion = "find out why check.sh fails"

// choose picks the rule that goes with what the user has said.
func (s *seen) choose() said {
	switch {
	case s.has("teach", "meant", "did you mean", "suggest"):
		return s.teach()
	case s.has("exact", "word for word", "verbatim", "what was", "recall", "at the start", "remember", "earlier"):
		return s.recall()
	case readWords().MatchString(s.ask):
		return s.read(readWords().FindStringSubmatch(s.raw)[1])
	case s.has("check", "fail", "fix", "error", "wrong", "bug"):
		return s.fix()
	case s.has("file", "folder", "look around", "project", "what is here", "cookbook"):
		return s.list()
	}
	return said{text: about}
}

// about is what the model says to what it has no rule for.
const about = `I am a demo model: I follow a few rules and understand a few words, so this is beyond me. The tools, the files and the compactions you see here are real, though.

What I can do:
- find out why check.sh fails
- what is in this folder?
- read README.txt
- teach check.sh to say what was meant
- what was the exact error at the start?

And all that begins with / works as it does with any model: /help lists it.`

// refused is the answer where the user, or a mode, has not allowed a call.
func (s *seen) refused() string {
	if len(s.acts) == 0 {
		return ""
	}
	a := s.acts[len(s.acts)-1]
	switch {
	case !a.failed:
		return ""
	case strings.HasPrefix(a.result, "The user did not allow"):
		return fmt.Sprintf("All right, I leave that: without %s I get no further here. Say it again when you have thought it over, or try: what is in this folder?", a.tool)
	case strings.Contains(a.result, "needs the user's permission"):
		return fmt.Sprintf("I need your permission for %s, and nobody is here to ask. Start clew chat --demo in a terminal, or add --mode all: the project of the demo is a copy of its own.", a.tool)
	case a.tool == "bash" && strings.Contains(a.result, "exited with code"), a.tool == "recall":
		return "" // that is for the rule to judge
	default:
		return "That did not work:\n\n" + quote(lastLines(a.result, 8))
	}
}

// count is how often a call was made.
func (s *seen) count(c do) (n int) {
	for _, a := range s.acts {
		if a.tool == c.tool && string(a.arguments()) == string(c.arguments()) {
			n++
		}
	}
	return n
}

// readWords asks for a file.
var readWords = text.Pattern(`(?i)^\s*(?:please )?(?:read|show|open|print|cat)\b.*?([\w./-]+\.\w+)`)

func (s *seen) read(path string) said {
	a, ok := s.last("read", path)
	if !ok {
		return said{"I read it.", []do{{"read", map[string]any{"path": path}}}}
	}
	lines := strings.Split(strings.TrimSpace(a.result), "\n")
	text := fmt.Sprintf("%s has %d lines", path, len(lines))
	if len(lines) > 6 {
		text += "; it begins"
		lines = lines[:6]
	}
	return said{text: text + ":\n\n" + quote(strings.Join(lines, "\n"))}
}

func (s *seen) list() said {
	names, listed := s.last("ls", "")
	readme, hasRead := s.last("read", "README.txt")
	switch {
	case !listed:
		return said{"I look.", []do{{"ls", map[string]any{}}}}
	case !hasRead && strings.Contains(names.result, "README.txt"):
		return said{"There is a README.txt.", []do{{"read", map[string]any{"path": "README.txt"}}}}
	case !hasRead:
		return said{text: "There are:\n\n" + quote(names.result)}
	}
	first, _, _ := strings.Cut(readme.result, "\n")
	return said{text: fmt.Sprintf("%s README.txt says what is where:\n\n%s\n\nTry: %s", first, quote(strings.TrimSpace(strings.TrimPrefix(readme.result, first))), suggestion)}
}

func quote(text string) string { return "```\n" + text + "\n```" }

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
