package clew

// Prepared returns how many messages of the context were read ahead for the next summary.
func (s *Session) Prepared() int { return s.ready.warmed }
