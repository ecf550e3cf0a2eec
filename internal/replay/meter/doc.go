// Package meter measures how far estimates of tokens are from what providers
// reported, on recorded sessions.
//
//	errs := meter.Measure(path, token.HeuristicFor)
//	fmt.Println(errs.Growth.Median(), errs.Anchored.Quantile(0.95))
//
// What is measured, with P the size of a request as it was reported, C that with
// its answer, and E the estimate:
//
//   - Raw: E of all messages up to an answer against C. The system prompt and the
//     tools are in C, and in most records nowhere else.
//   - Fixed: the same, with the difference at the first call of the window added.
//   - Anchored: the C of the call before, and E of the messages since, against P.
//   - Growth: E of an answer and the results after it against how much P grew
//     from that call to the next. After ten calls were learnt from, Learned is the
//     same with the calibrated estimate.
//   - Tools: E of the results alone against P minus the C of the call before.
//   - Slices: growth over 8 messages and more, from each call to the first that is
//     far enough, with the calibrated estimate. Guarded is that times the guard.
//
// Some records have the usage as it was when the answer began. Where the output is
// far too small for the answer, C is P and E of the answer, as for a token.Meter,
// and Tools is not measured.
//
// A window ends where the context was changed other than by adding to it. Growth,
// Tools and Slices are measured only over what is recorded as it was sent: no
// thinking and no hidden reasoning, no words of users and programs (they come
// with what is not recorded), nothing but text and calls.
package meter
