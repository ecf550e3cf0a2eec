package gateway

import "sync"

// recent is a map that forgets what was not asked for lately. It holds between n and 2n
// entries once it is full: the younger generation becomes the older one, whose entries go
// with the next change unless they are used.
type recent[K comparable, V any] struct {
	mu         sync.Mutex
	n          int
	young, old map[K]V
}

func newRecent[K comparable, V any](n int) *recent[K, V] {
	return &recent[K, V]{n: n, young: map[K]V{}, old: map[K]V{}}
}

func (r *recent[K, V]) get(k K) (v V, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if v, ok = r.young[k]; ok {
		return v, true
	}
	if v, ok = r.old[k]; ok {
		r.add(k, v)
	}
	return v, ok
}

// last returns the value of the last of the keys that has one which ok takes.
func (r *recent[K, V]) last(keys []K, ok func(i int, v V) bool) (v V, i int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.young)+len(r.old) == 0 {
		return v, -1
	}
	for i := len(keys) - 1; i >= 0; i-- {
		had, found := r.young[keys[i]]
		if !found {
			if had, found = r.old[keys[i]]; found {
				r.add(keys[i], had)
			}
		}
		if found && ok(i, had) {
			return had, i
		}
	}
	return v, -1
}

// put keeps v, unless first is set and there is a value already; it returns the one that counts.
func (r *recent[K, V]) put(k K, v V, first bool) V {
	r.mu.Lock()
	defer r.mu.Unlock()
	if first {
		if had, ok := r.young[k]; ok {
			return had
		}
		if had, ok := r.old[k]; ok {
			v = had
		}
	}
	r.add(k, v)
	return v
}

func (r *recent[K, V]) add(k K, v V) {
	if len(r.young) >= r.n {
		r.young, r.old = map[K]V{}, r.young
	}
	r.young[k] = v
}
