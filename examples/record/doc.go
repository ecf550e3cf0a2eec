// Record plays a scripted conversation against real tools and writes what
// happened as a session file.
//
//	go run ./examples/record -o examples/long-session.jsonl
//
// The script in folder script says what the user and the assistant say and
// which tools are called with which arguments. What the tools answer is not
// scripted: they work on a copy of this repository in a temporary folder, so
// the compiler errors, test failures, diffs and listings in the session are
// real. The clock, the ids, the token counts and the durations of tests are
// computed, so that recording the same repository twice with the same tool
// chain gives the same file.
//
//	go run ./examples/record --check    examines the recorded session
//	go run ./examples/record --print    shows it for reading
package main
