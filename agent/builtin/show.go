package builtin

import ()

// maxLine is how many characters a line for the user has at most.
const maxLine = 200

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
