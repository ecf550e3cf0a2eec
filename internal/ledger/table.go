package ledger

// table is a list whose values have keys. Touching one moves it to the end.
type table[T any] struct {
	byKey map[string]*row[T]
	rows  []*row[T] // in the order of the last touch; those that moved on are gone
	live  int
}

type row[T any] struct {
	key string
	val T
	at  int // index in rows
}

// touch returns the value with the key, moved to the end; a new one starts as
// first.
func (t *table[T]) touch(key string, first T) *T {
	if t.byKey == nil {
		t.byKey = map[string]*row[T]{}
	}
	r := t.byKey[key]
	if r == nil {
		r = &row[T]{key: key, val: first}
		t.byKey[key] = r
		t.live++
	} else {
		t.rows[r.at] = nil
	}
	r.at = len(t.rows)
	t.rows = append(t.rows, r)
	if len(t.rows) > 2*t.live+64 {
		t.compact()
	}
	return &r.val
}

func (t *table[T]) compact() {
	out := t.rows[:0]
	for _, r := range t.rows {
		if r != nil {
			r.at = len(out)
			out = append(out, r)
		}
	}
	clear(t.rows[len(out):])
	t.rows = out
}

func (t *table[T]) get(key string) (T, bool) {
	if r := t.byKey[key]; r != nil {
		return r.val, true
	}
	var zero T
	return zero, false
}

func (t *table[T]) drop(key string) {
	if r := t.byKey[key]; r != nil {
		t.rows[r.at] = nil
		delete(t.byKey, key)
		t.live--
	}
}

// all returns the values, the last touched last. They may be touched while the
// list is in use.
func (t *table[T]) all() []*T {
	out := make([]*T, 0, t.live)
	for _, r := range t.rows {
		if r != nil {
			out = append(out, &r.val)
		}
	}
	return out
}
