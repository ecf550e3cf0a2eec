// Package calibration keeps what a [token.Learner] learns: it learns from the
// path of a log, and keeps what was learnt about several models in a file from
// one session to the next.
//
//	set, err := calibration.Load(file) // damaged: set is empty, err says so
//	counter := token.HeuristicFor(provider, model)
//	learner := token.NewLearner(set.For(counter, provider, model), counter, provider, model)
//	calibration.Learn(learner, path)
//	set.Put(learner.Calibration())
//	err = calibration.Save(file, set)
package calibration
