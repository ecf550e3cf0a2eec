// Package calibration keeps what a [token.Learner] learns: it learns from the
// path of a log, and keeps what was learnt about several models in a file from
// one session to the next.
//
//	set, err := calibration.Load(file) // damaged: err says so, and the rest is there
//	counter := token.HeuristicFor(provider, model)
//	known := set.For(counter, provider, model)
//	counter, known, err = calibration.Counter(counter, known, path, provider, model)
//	// ... counter corrects its estimates
//	set.Put(known)
//	err = calibration.Save(file, set)
//
// A path is to be learnt from once: when what was learnt from it was saved, what
// is learnt next begins with the entries after it.
package calibration
