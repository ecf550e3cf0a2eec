package token

// heuristic counts by what the characters are; see weights.
type heuristic struct {
	pricer
	family Family
	bytes  [256]uint32
}

// Heuristic returns the counter for a family of models, with the price of images
// that most models of the family have. [HeuristicFor] knows the price for a
// model.
//
// Each byte of a text is looked up in a table of weights, so counting is linear
// and allocates nothing. A run of 64 or more characters that looks random
// (base64, a hexadecimal dump, the data of a data URL) costs what random data
// costs, which is two to three times the price of prose.
//
// A message costs its text, thinking, the names and arguments of its calls,
// its images and an overhead. The overhead is what was measured with everything
// that goes with a message, such as role, call id and tool name. The
// signature of a thinking block costs nothing beside the text it signs; where
// the text is withheld, the signature holds it encrypted and is counted as
// that many tokens of thinking.
//
// A message that is not sent costs nothing: an answer that failed or was
// aborted, a shell run that is excluded, an unknown role.
func Heuristic(f Family) Counter { return newHeuristic(f, imageRuleOf(f, "", "")) }

// HeuristicFor returns the counter for a model: its family's weights and its
// own price of images.
func HeuristicFor(provider, model string) Counter {
	f := FamilyOf(provider, model)
	return newHeuristic(f, imageRuleOf(f, provider, model))
}

func newHeuristic(f Family, rule imageRule) *heuristic {
	switch f {
	case Claude, ClaudeNew, GPT:
	default:
		f = Universal
	}
	h := &heuristic{family: f}
	h.pricer = pricer{words: h, w: weightsOf(f), image: rule}
	h.bytes = h.w.table()
	return h
}

func (h *heuristic) Name() string { return "heuristic/" + string(h.family) }

func (h *heuristic) Text(s string) int64 { return tokens(h.text(s)) }

// text weighs a text.
func (h *heuristic) text(s string) millis {
	if len(s) < runMin {
		return h.sum(s)
	}
	var n millis
	from := 0 // what is before it is weighed
	for i := 0; i+runProbe <= len(s); {
		// A run of runMin bytes holds one whole probe, wherever it begins.
		if !random64(s[i]) || !random64(s[i+7]) || !random64(s[i+15]) || !random64(s[i+23]) || !random64(s[i+31]) {
			i += runProbe
			continue
		}
		start, end := runAround(s, i, from)
		if end-start >= runMin {
			if rate := h.runRate(s[:start], s[start:start+runMin]); rate > 0 {
				// At no length may one more character make a run cheaper, so its
				// beginning keeps what it cost as ordinary text if that is more.
				head := max(h.sum(s[start:start+runMin]), runMin*rate)
				n += h.sum(s[from:start]) + head + millis(end-start-runMin)*rate
				from = end
			}
		}
		i = max(i+runProbe, end)
	}
	return n + h.sum(s[from:])
}

// sum adds up the weights of the bytes.
func (h *heuristic) sum(s string) (n millis) {
	t := &h.bytes
	for len(s) >= 8 {
		n += millis(t[s[0]] + t[s[1]] + t[s[2]] + t[s[3]] + t[s[4]] + t[s[5]] + t[s[6]] + t[s[7]])
		s = s[8:]
	}
	for i := range len(s) {
		n += millis(t[s[i]])
	}
	return n
}

// runRate returns what a character of a run costs after its first runMin, given
// as head, or 0 when the run does not look random.
func (h *heuristic) runRate(before, head string) millis {
	switch {
	case isHex(head):
		return millis(h.w.hex)
	case isBase64(head), endsDataURL(before):
		return millis(h.w.base64)
	}
	return 0
}
