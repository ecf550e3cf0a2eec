package llm

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/clew-dev/clew/internal/redact"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/summary"
)

// Why an answer is not taken. The text goes back to the model as the complaint.
var (
	errCutOff   = errors.New("it was cut off by the limit of the answer; write less")
	errCall     = errors.New("it called a tool")
	errRefused  = errors.New("it was a refusal")
	errBroken   = errors.New("it broke off")
	errEmpty    = errors.New("it had no text")
	errNothing  = errors.New("it had no statement")
	errHeadless = errors.New("it had none of the headings")
	errLanguage = errors.New("it was not in the user's language")
)

// Which share of the lines may name what nobody said, in percent, for them to be taken out of an
// answer that is good otherwise: at once, and where the model had been asked again.
const (
	fewInvented = 5
	maxInvented = 20
)

// minProse is how many bytes a summary without headings has at least.
const minProse = 200

// check reads an answer and says why it can't be taken. With last, lines that name
// what nobody said are taken out, if they are few, and prose is taken.
func (r *run) check(resp *model.Response, q question, known known, last bool) (summary.Document, error) {
	if err := finished(resp); err != nil {
		return summary.Document{}, err
	}
	answer := redact.Text(resp.Text())
	if strings.TrimSpace(answer) == "" {
		return summary.Document{}, errEmpty
	}
	d, headings := r.template().Read(answer)
	lists := linesOf(&d)
	n := 0
	said := ""
	var invented []string
	for _, list := range lists {
		n += len(*list)
		for _, l := range *list {
			said += l.Text
			invented = append(invented, unknown(l.Text+" "+l.From, known)...)
		}
	}
	switch {
	case n == 0:
		return d, errNothing
	case headings == 0 && (!last || len(said) < minProse || !known.names(said)):
		return d, errHeadless // a refusal, say, or an answer to what the user asked
	}
	if !sameLanguage(q.items, said) {
		return d, errLanguage
	}
	slices.Sort(invented)
	if invented = slices.Compact(invented); len(invented) > 0 {
		most := fewInvented
		if last {
			most = maxInvented
		}
		if len(invented)*100 > n*most {
			return d, fmt.Errorf("it names what is not in the conversation: %s", strings.Join(invented[:min(len(invented), 12)], ", "))
		}
		r.reject(fmt.Errorf("lines were taken out that name what is not in the conversation: %s", strings.Join(invented, ", ")))
		for _, l := range lists {
			*l = slices.DeleteFunc(*l, func(line summary.Line) bool { return len(unknown(line.Text, known)) > 0 })
		}
	}
	for _, l := range lists {
		for i := range *l {
			if ref := (*l)[i].Ref; ref != "" && !known.handle(ref) {
				(*l)[i].Ref = "" // a handle that leads nowhere
			}
		}
	}
	if !r.in.Goal {
		r.fit(&d, q.budget)
	}
	return d, nil
}

// fit takes lines off an answer that is too long: the last line of the longest section, which of a
// story is about the oldest.
func (r *run) fit(d *summary.Document, budget int64) {
	over := r.cost(*d) - budget
	for over > 0 {
		var most *[]summary.Line
		length := 0
		for _, list := range linesOf(d) {
			n := 0
			for _, l := range *list {
				n += len(l.Text)
			}
			if n > length && len(*list) > 1 {
				most, length = list, n
			}
		}
		if most == nil {
			return
		}
		last := len(*most) - 1
		over -= r.in.Counter.Text("- " + (*most)[last].Text + "\n")
		*most = (*most)[:last]
	}
}

// finished says whether an answer came to its end as a text.
func finished(resp *model.Response) error {
	if len(resp.BadCalls) > 0 || len(resp.Message.ToolCalls()) > 0 {
		return errCall
	}
	switch resp.Finish {
	case model.FinishLength, model.FinishWindow:
		return errCutOff
	case model.FinishToolUse, model.FinishBadCall:
		return errCall
	case model.FinishRefusal:
		return errRefused
	case model.FinishPaused, model.FinishNotKnown:
		return errBroken
	case model.FinishEnd, model.FinishUnknown:
	}
	if resp.Refusal != "" {
		return errRefused
	}
	if s := resp.Message.StopReason; s == message.StopAborted || s == message.StopError {
		return errBroken
	}
	return nil
}

// linesOf are the lists of a document that a model writes.
func linesOf(d *summary.Document) []*[]summary.Line {
	return []*[]summary.Line{&d.Goal, &d.Constraints, &d.Done, &d.InProgress, &d.Blocked, &d.Decisions, &d.Next, &d.Story, &d.Context}
}

// known is what a summary may name.
type known struct {
	said    string // all of the conversation, in lower case
	entries []string
}

// known collects what the conversation has.
func (r *run) known() known {
	var k known
	var b strings.Builder
	add := func(texts ...string) {
		for _, s := range texts {
			b.WriteString(strings.ToLower(s) + "\n")
		}
	}
	plain := strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\"`, `"`, `\/`, "/")
	for _, it := range slices.Concat(r.in.Items, r.in.Prefix, r.in.Kept) {
		if it.Entry != nil {
			k.entries = append(k.entries, it.Entry.ID)
		}
		m := it.Message
		add(blocksText(m.Content), m.Command, m.Output, m.Summary, m.ToolName)
		for _, b := range m.Content {
			add(b.Name, plain.Replace(string(b.Arguments)))
			if b.Type == message.BlockThinking {
				add(b.Text)
			}
		}
	}
	add(r.in.Previous, r.in.Instructions, r.in.Cwd, r.render(r.facts))
	k.said = b.String()
	return k
}

func (k known) handle(ref string) bool {
	return slices.ContainsFunc(k.entries, func(id string) bool { return strings.HasPrefix(id, ref) })
}

// has reports whether a name stands in the conversation: as it is or as a part of a longer one, such as
// a folder of a path; a number only as it is.
func (k known) has(name string) bool {
	name = strings.ToLower(strings.TrimLeft(name, "#"))
	if !text.AllDigits(name) {
		return strings.Contains(k.said, name) || k.words(name)
	}
	for rest := k.said; ; {
		before, after, ok := strings.Cut(rest, name)
		if !ok {
			return false
		}
		if !text.AllDigits(before[max(len(before)-1, 0):]) && !text.AllDigits(after[:min(len(after), 1)]) {
			return true
		}
		rest = after
	}
}

// words reports whether a name is words of sentences with strokes between, as in read/write.
func (k known) words(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if strings.ContainsFunc(part, func(r rune) bool { return !unicode.IsLetter(r) }) || !strings.Contains(k.said, " "+part) {
			return false
		}
	}
	return strings.Contains(name, "/")
}

// names reports whether a text names something of the conversation.
func (k known) names(s string) bool {
	for id := range text.Identifiers(s) {
		if k.has(id.Text) {
			return true
		}
	}
	return false
}

// unknown lists what a text names that nobody said.
func unknown(s string, k known) []string {
	var out []string
	for id := range text.Identifiers(s) {
		if !k.has(id.Text) {
			out = append(out, id.Text)
		}
	}
	return out
}

// sameLanguage compares scripts: where the user writes mostly in one that is not
// Latin, the summary must have some of it. Other languages can't be told apart so.
func sameLanguage(items []session.Item, said string) bool {
	user, latin := 0, 0
	for _, it := range items {
		if it.Message.UserWords() {
			w, n := wide(it.Message.Text())
			user, latin = user+w, latin+n
		}
	}
	own, rest := wide(said)
	return user < 40 || user < latin || own+rest < 60 || own*10 >= own+rest
}

// wide counts letters of scripts other than Latin, and Latin ones.
func wide(s string) (other, latin int) {
	for _, c := range s {
		switch {
		case unicode.Is(unicode.Latin, c):
			latin++
		case unicode.IsLetter(c):
			other++
		}
	}
	return other, latin
}

// join adds what is going on to a history.
func join(history, turn summary.Document) summary.Document {
	to, from := linesOf(&history), linesOf(&turn)
	for i := range to {
		*to[i] = append(*to[i], *from[i]...)
	}
	return history
}
