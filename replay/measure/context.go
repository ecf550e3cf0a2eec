package measure

import "strings"

// The rule of contextual recall.
const (
	maxContextLine = 400 // UTF-16 units of a line of the text
	minShared      = 2   // plain words
)

// surroundings are, for each need, the plain words of each line of what was dropped
// that holds it.
type surroundings map[string][]map[string]bool

func surroundingsOf(needs []Need, dropped []*Digest) surroundings {
	wanted := map[string]bool{}
	for _, n := range needs {
		wanted[n.Text] = true
	}
	s := surroundings{}
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
		s[strings.Clone(id)] = append(s[id], words)
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
		if line == "" || len(line) > 3*maxContextLine || Units(line) > maxContextLine {
			continue
		}
		var words map[string]bool
		for i, n := range needs {
			if got[i] || len(s[n.Text]) == 0 || !strings.Contains(line, n.Text) {
				continue
			}
			if words == nil {
				words = wordSet(line)
			}
			got[i] = sharesWords(words, s[n.Text])
		}
	}
	return got
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
