package permission

// State is what a session remembers of its guard: the mode, and the rules that the
// user added. It is JSON.
type State struct {
	Mode  Mode     `json:"mode"`
	Allow []string `json:"allow,omitempty"`
}

// State returns what is to be remembered.
func (g *Guard) State() State {
	g.mu.RLock()
	defer g.mu.RUnlock()
	s := State{Mode: g.mode}
	for _, r := range g.added {
		s.Allow = append(s.Allow, r.text)
	}
	return s
}

// Restore takes a state back, in place of the one that is there. When it fails
// nothing is changed. What is restored is obeyed: a state that came with a file from
// elsewhere is for the user to confirm first.
func (g *Guard) Restore(s State) error {
	mode, err := ParseMode(string(s.Mode))
	if err != nil {
		return err
	}
	added, err := compileAll(s.Allow, allowList, g.where)
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mode, g.added = mode, added
	return nil
}
