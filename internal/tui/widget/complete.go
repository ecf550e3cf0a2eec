package widget

import (
	"regexp"
	"strings"
	"sync"

	tea "charm.land/bubbletea/v2"
	"github.com/sahilm/fuzzy"
)

// A Command is offered when a text begins with a slash.
type Command struct {
	Name string // without the slash
	Args string // how its arguments are written, "" for none
	Help string // a few words
}

// SetCommands sets what is offered after a slash.
func (e *Editor) SetCommands(c []Command) { e.commands = c }

// SetComplete sets what gives the names of files that continue a prefix, the best
// first. It is called at each key, so it must answer at once. A name that ends
// with a slash is a folder. A name with a space is put between quotes.
func (e *Editor) SetComplete(fn func(prefix string) []string) { e.complete = fn }

var (
	fileToken    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?:^|\s)(@(?:"[^"]*|[^\s"]*))$`) })
	commandToken = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^/[\w:-]*$`) })
)

// suggest opens, changes or closes the popup for what stands before the cursor.
// One that the user has closed stays so until another token is typed.
func (e *Editor) suggest() {
	e.pop = nil
	token := tokenAt(e.in.before())
	if token == "" || e.closed == "" || !strings.HasPrefix(token, e.closed) {
		e.closed = ""
		if items := e.offers(token); len(items) > 0 {
			e.pop = &popup{items: items}
		}
	}
}

// tokenAt returns what at the end of s can be completed: /command or @file, "" for
// nothing.
func tokenAt(s string) string {
	if commandToken().MatchString(s) {
		return s
	}
	if m := fileToken().FindStringSubmatch(s[strings.LastIndexByte(s, '\n')+1:]); m != nil {
		return m[1]
	}
	return ""
}

// offers returns what can stand in place of a token.
func (e *Editor) offers(token string) (items []popupItem) {
	if strings.HasPrefix(token, "/") {
		return e.commandOffers(token[1:])
	}
	if token == "" || e.complete == nil {
		return nil
	}
	for _, name := range e.complete(strings.TrimPrefix(token[1:], `"`)) {
		if typable(name) != name || strings.ContainsAny(name, "\"\n") {
			continue // can't be typed
		}
		value := "@" + name
		if strings.Contains(name, " ") {
			value = `@"` + name
			if !strings.HasSuffix(name, "/") {
				value += `"`
			}
		}
		if !strings.HasSuffix(name, "/") {
			value += " "
		}
		items = append(items, popupItem{text: name, value: value})
		if len(items) == 50 {
			break
		}
	}
	return items
}

// commandOffers returns the commands that fit what was typed of a name, the best first;
// all of them where nothing was.
func (e *Editor) commandOffers(typed string) (items []popupItem) {
	var names []string
	for _, c := range e.commands {
		names = append(names, c.Name)
	}
	found := fuzzy.Find(typed, names)
	if typed == "" {
		for i := range names {
			found = append(found, fuzzy.Match{Index: i})
		}
	}
	for _, m := range found {
		c := e.commands[m.Index]
		it := popupItem{text: "/" + OneLine(c.Name), help: OneLine(c.Help), value: "/" + c.Name + " "}
		if c.Args != "" {
			it.text += " " + OneLine(c.Args)
		}
		items = append(items, it)
	}
	return items
}

// popupKey does what a key means to the popup; false when it means nothing.
func (e *Editor) popupKey(k tea.KeyPressMsg) bool {
	switch k.String() {
	case "up", "ctrl+p", "shift+tab":
		e.pop.move(-1)
	case "down", "ctrl+n":
		e.pop.move(1)
	case "esc":
		e.closed = tokenAt(e.in.before())
		e.pop = nil
	case "tab":
		e.take()
	case "enter":
		if tokenAt(e.in.before())+" " == e.pop.items[e.pop.sel].value {
			return false // typed in full: Enter means the text
		}
		e.take()
	default:
		return false
	}
	return true
}

// take puts the selected item in place of what was typed of it.
func (e *Editor) take() {
	value := e.pop.items[e.pop.sel].value
	was := e.in.now()
	head, rest := was.text[:was.at], was.text[was.at:]
	if strings.HasPrefix(rest, " ") {
		value = strings.TrimSuffix(value, " ")
	}
	head = strings.TrimSuffix(head, tokenAt(head)) + value
	e.in.replace(head+rest, len(head))
	e.suggest()
	if !strings.HasSuffix(value, "/") {
		e.pop = nil
	}
}

// A popup is the list that an editor offers something from.
type popup struct {
	items []popupItem
	sel   int
}

type popupItem struct{ text, help, value string }

const maxPopup = 8

func (p *popup) move(by int) {
	if n := len(p.items); n > 0 {
		p.sel = ((p.sel+by)%n + n) % n
	}
}

// lines draws at most most items, the selected one among them.
func (p *popup) lines(t *Theme, width, most int) []string {
	n := min(len(p.items), most)
	from := min(max(p.sel-n/2, 0), len(p.items)-n)
	names := 0
	for _, it := range p.items[from : from+n] {
		names = max(names, Width(it.text))
	}
	names = min(names, width*2/3)
	var out []string
	for i, it := range p.items[from : from+n] {
		line, mark, style := Cut(it.text, names), "  ", t.Text
		if from+i == p.sel {
			mark, style = "> ", t.Match
		}
		line = t.Paint(style, mark+line)
		if it.help != "" {
			line = Pad(line, names+4) + t.Paint(t.Dim, it.help)
		}
		out = append(out, Cut(line, width))
	}
	return out
}
