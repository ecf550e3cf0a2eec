package summary

import (
	"strings"
	"sync"
	"unicode"

	"github.com/clew-dev/clew/internal/text"
)

// Read reads a summary that a model wrote, whatever its form: headings of any level, in
// bold or before a colon, of any template or in other common words; lists with any mark;
// paragraphs. What has no heading goes to the story, or to the sources where the template
// has no story. Left out are what only code writes (files, quotes), drafts in tags, and
// text before the first heading. headings says how many were known; without one all
// text counts.
func (t *Template) Read(answer string) (d Document, headings int) {
	r := reader{doc: &d, rest: t.part(kindStory).kind}
	r.kind = r.rest
	for line := range strings.SplitSeq(unfence(undraft(answer)), "\n") {
		r.line(strings.TrimSpace(line))
	}
	r.end()
	return d.Canonical(), r.headings
}

type reader struct {
	doc       *Document
	rest      kind // for what has no heading
	kind      kind
	level     int    // of the heading that is known
	under     string // a heading that is not known, said before what stands under it
	paragraph []string
	code      bool
	headings  int
	before    int // bytes before the first heading
}

// maxGreeting is how many bytes before the first heading are a greeting, and no part of
// the summary.
const maxGreeting = 300

var (
	headingMark = text.Pattern(`^(#{1,6})\s+(.+)$`)
	boldHeading = text.Pattern(`^(?:[0-9]{1,3}[.)]\s+)?(?:\*\*|__)([^*_]{1,60})(?:\*\*|__):?$`)
	leadIn      = text.Pattern(`^(?:[-*+]\s+)?(?:[0-9]{1,3}[.)]\s+)?(\*\*|__)?([\pL &]{2,40})(?::(?:\*\*|__)?|(?:\*\*|__):)(?:\s+(.*))?$`)
	listMark    = text.Pattern(`^(?:[-*+•‣–]|[0-9]{1,3}[.)])\s+`)
	taskMark    = text.Pattern(`^(?:\[([ xX])\]|([✅✓✔☑☐]))\s*`)
	ruleLine    = text.Pattern(`^[-*_=|: ]{3,}$`)
)

func (r *reader) line(s string) {
	switch {
	case strings.HasPrefix(s, "```"):
		r.end()
		r.code = !r.code
	case r.code:
		r.add(s)
	case s == "" || ruleLine().MatchString(s):
		r.end()
	case r.heading(s):
	case listMark().MatchString(s):
		r.end()
		r.add(s[len(listMark().FindString(s)):])
	case taskMark().MatchString(s) || strings.HasPrefix(s, ">"):
		r.end()
		r.add(strings.TrimSpace(strings.TrimLeft(s, ">")))
	default:
		r.paragraph = append(r.paragraph, s)
	}
}

// heading reads a line that is a heading, or begins with the name of one.
func (r *reader) heading(s string) bool {
	if m := headingMark().FindStringSubmatch(s); m != nil {
		r.open(len(m[1]), m[2])
		return true
	}
	if m := boldHeading().FindStringSubmatch(s); m != nil {
		r.open(len("######")+1, m[1])
		return true
	}
	m := leadIn().FindStringSubmatch(s)
	if m == nil || listMark().MatchString(s) && m[1] == "" {
		return false
	}
	if _, known := headingKinds()[plainName(m[2])]; !known {
		return false
	}
	r.open(len("######")+2, m[2])
	if m[3] != "" {
		r.line(m[3])
	}
	return true
}

func (r *reader) open(level int, name string) {
	r.end()
	k, known := headingKinds()[plainName(name)]
	switch {
	case known:
		if r.headings == 0 && r.before < maxGreeting {
			*r.doc = Document{}
		}
		r.headings++
		r.kind, r.level, r.under = k, level, ""
		if r.doc.lines(k) == nil && k != kindNone {
			r.kind = kindNone
		}
		if k == kindStory || k == kindContext && r.rest == kindStory {
			r.kind = r.rest
		}
	case level > r.level && r.level > 0:
		r.under = strings.Trim(name, "#*_: ")
	default:
		r.kind, r.level, r.under = r.rest, 0, strings.Trim(name, "#*_: ")
	}
}

// end ends a paragraph.
func (r *reader) end() {
	if len(r.paragraph) > 0 {
		p := strings.Join(r.paragraph, " ")
		r.paragraph = nil
		r.add(p)
	}
}

// add adds a statement to the part that is open.
func (r *reader) add(s string) {
	k := r.kind
	if m := taskMark().FindStringSubmatch(s); m != nil {
		s = s[len(m[0]):]
		if k == kindDone || k == kindInProgress {
			k = kindDone
			if m[1] == " " || m[2] == "☐" {
				k = kindInProgress
			}
		}
	}
	out := r.doc.lines(k)
	l := parseLine(s)
	if out == nil || l.Text == "" || isNothing(l.Text) {
		return
	}
	if r.headings == 0 {
		r.before += len(l.Text)
	}
	if r.under != "" {
		l.Text = r.under + ": " + l.Text
	}
	*out = append(*out, l)
}

// isNothing tells what models write into a part that stays empty.
func isNothing(s string) bool {
	switch plainName(strings.Trim(s, "().")) {
	case "", "none", "na", "nothing", "none so far", "none yet", "not applicable":
		return true
	}
	return false
}

// headingKinds tells what stands under a heading: those of the templates, and what models
// write for them.
var headingKinds = sync.OnceValue(func() map[string]kind {
	known := map[string]kind{}
	for _, t := range Templates() {
		sections := map[string]int{}
		for _, p := range t.parts {
			sections[p.section]++
			known[plainName(p.heading)] = p.kind
		}
		for _, p := range t.parts {
			if sections[p.section] == 1 {
				known[plainName(p.section)] = p.kind
			}
		}
	}
	for k, names := range map[kind]string{
		kindGoal:        "goals,objective,objectives,task,user request,user intent,primary request and intent,request,summary,overview",
		kindConstraints: "constraint,rule,preferences,requirements,instructions,user instructions,constraints and rules",
		kindDone:        "completed,finished,completed tasks,completed work,accomplishments,what was done,work done,changes,changes made",
		kindInProgress:  "progress,state,status,current state,current work,current task,current status,ongoing",
		kindBlocked:     "blockers,issues,problems,errors,errors and fixes,known issues,failures,open questions,debugging and issues",
		kindDecisions:   "decision,findings,key findings,results,decisions made,root cause,causes",
		kindNext:        "next step,todo,to do,todos,pending,remaining,remaining work,remaining tasks,open tasks",
		kindContext:     "notes,details,key points,technical details,important details,additional context,background,history,timeline",
		kindNone:        "files,code changes,relevant files,files changed,files modified,modified files,file changes,files read,user messages,all user messages",
	} {
		for name := range strings.SplitSeq(names, ",") {
			known[name] = k
		}
	}
	delete(known, "")
	return known
})

// plainName is a heading without marks, numbers and case.
func plainName(s string) string {
	s = strings.ReplaceAll(strings.ToLower(s), "&", " and ")
	s = strings.Map(func(c rune) rune {
		switch {
		case unicode.IsLetter(c), c == ' ':
			return c
		case c == '-' || c == '_' || c == '/':
			return ' '
		}
		return -1
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

// undraft takes away what a model thought aloud before its answer, and a tag around it.
func undraft(s string) string {
	for _, tag := range []string{"think", "thinking", "analysis", "reasoning", "scratchpad"} {
		for {
			before, rest, ok := strings.Cut(s, "<"+tag+">")
			draft, after, closed := strings.Cut(rest, "</"+tag+">")
			if !ok || !closed || strings.TrimSpace(before) != "" || draft == "" {
				break
			}
			s = after
		}
	}
	if _, rest, ok := strings.Cut(s, "<summary>"); ok {
		s, _, _ = strings.Cut(rest, "</summary>")
	}
	return s
}

// unfence takes away a fence around the whole answer, and what was said before it.
func unfence(s string) string {
	before, rest, ok := strings.Cut(s, "```")
	if !ok || strings.Count(s, "```") != 2 || strings.Contains(before, "\n#") || strings.HasPrefix(before, "#") {
		return s
	}
	_, body, _ := strings.Cut(rest, "\n")
	body, after, _ := strings.Cut(body, "```")
	if strings.TrimSpace(after) != "" || !strings.Contains(body, "#") {
		return s
	}
	return body
}
