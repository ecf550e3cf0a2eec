package permission

// wild reports whether a pattern matches all of a text, where star(p) says which
// elements of the pattern stand for any number of elements, and one(p, t) whether an
// element of the pattern matches one of the text. It takes time in proportion to the
// product of the lengths at most.
func wild[P, T any](pattern []P, text []T, star func(P) bool, one func(P, T) bool) bool {
	p, t := 0, 0
	back, from := -1, 0 // the last star, and where the text behind it was begun
	for t < len(text) {
		switch {
		case p < len(pattern) && star(pattern[p]):
			back, from = p, t
			p++
		case p < len(pattern) && one(pattern[p], text[t]):
			p++
			t++
		case back >= 0:
			from++
			p, t = back+1, from
		default:
			return false
		}
	}
	for p < len(pattern) && star(pattern[p]) {
		p++
	}
	return p == len(pattern)
}

func isStar(r rune) bool { return r == '*' }

// wildText matches a text against a pattern in which "*" stands for any characters.
func wildText(pattern, text string) bool {
	return wild([]rune(pattern), []rune(text), isStar, func(p, t rune) bool { return p == t })
}

// wildName matches the name of a file against a pattern with "*" and "?".
func wildName(pattern, name string) bool {
	return wild([]rune(pattern), []rune(name), isStar, func(p, t rune) bool { return p == t || p == '?' })
}
