package measure

import "strings"

// The rule of contextual recall.
const (
	maxContextLine = 400 // UTF-16 units of a line of the text
	minShared      = 2   // plain words
)

// surroundings are, for each need, the plain words of each line of what was dropped
// that holds it.
type surroundings struct {
	lines map[string][]map[string]bool
	// whole are the needs that stand in a line which could be taken over as it is.
	whole map[string]bool
}

func surroundingsOf(needs []Need, dropped []*Digest) surroundings {
	wanted := map[string]bool{}
	for _, n := range needs {
		wanted[n.Text] = true
	}
	s := surroundings{map[string][]map[string]bool{}, map[string]bool{}}
	for _, d := range dropped {
		any := false
		for id := range d.ids {
			if wanted[id] {
				any = true
				break
			}
		}
		if !any {
			continue
		}
		d.said(func(text string) {
			for line := range strings.SplitSeq(text, "\n") {
				s.add(line, wanted)
			}
		})
	}
	return s
}

func (s surroundings) add(line string, wanted map[string]bool) {
	var words map[string]bool
	var held []string
	for id := range Identifiers(line) {
		if wanted[id.Text] && !contains(held, id.Text) {
			held = append(held, id.Text)
		}
	}
	if len(held) == 0 {
		return
	}
	words = wordSet(line)
	if len(words) < minShared {
		return
	}
	for _, id := range held {
		if s.lines[id] == nil {
			id = strings.Clone(id)
		}
		s.lines[id] = append(s.lines[id], words)
		s.whole[id] = s.whole[id] || fits(line)
	}
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

func wordSet(line string) map[string]bool {
	words := map[string]bool{}
	plainWords(line, func(w string) { words[w] = true })
	return words
}

// inContext reports for each need whether some line of text holds it together with
// two plain words that one line of what was dropped has beside it.
func (s surroundings) inContext(needs []Need, text string) []bool {
	got := make([]bool, len(needs))
	for line := range strings.SplitSeq(text, "\n") {
		if line == "" || !fits(line) {
			continue
		}
		var words map[string]bool
		for i, n := range needs {
			if got[i] || len(s.lines[n.Text]) == 0 || !strings.Contains(line, n.Text) {
				continue
			}
			if words == nil {
				words = wordSet(line)
			}
			got[i] = sharesWords(words, s.lines[n.Text])
		}
	}
	return got
}

// fits reports whether a line is short enough to be a context.
func fits(line string) bool {
	return len(line) <= maxContextLine || len(line) <= 3*maxContextLine && Units(line) <= maxContextLine
}

func sharesWords(words map[string]bool, lines []map[string]bool) bool {
	if len(words) < minShared {
		return false
	}
	for _, l := range lines {
		shared := 0
		for w := range words {
			if l[w] {
				if shared++; shared == minShared {
					return true
				}
			}
		}
	}
	return false
}
