package widget

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
			line = pad(line, names+4) + t.Paint(t.Dim, it.help)
		}
		out = append(out, Cut(line, width))
	}
	return out
}
