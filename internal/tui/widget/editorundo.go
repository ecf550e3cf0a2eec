package widget

// A snapshot is a text and where the cursor stood in it.
type snapshot struct {
	text string
	at   int
}

// maxUndo is how many changes can be taken back.
const maxUndo = 200

type undoStack struct {
	past, future []snapshot
	typing       bool // the last change was a character
}

func (u *undoStack) push(before snapshot, typed bool) {
	u.future = nil
	if typed && u.typing && len(u.past) > 0 {
		return
	}
	u.typing = typed
	u.past = append(u.past, before)
	if len(u.past) > maxUndo {
		u.past = u.past[1:]
	}
}

func (u *undoStack) back(now snapshot) (snapshot, bool) {
	u.typing = false
	return shift(&u.past, &u.future, now)
}

func (u *undoStack) forth(now snapshot) (snapshot, bool) {
	u.typing = false
	return shift(&u.future, &u.past, now)
}

func shift(from, to *[]snapshot, now snapshot) (snapshot, bool) {
	n := len(*from)
	if n == 0 {
		return snapshot{}, false
	}
	s := (*from)[n-1]
	*from, *to = (*from)[:n-1], append(*to, now)
	return s, true
}
