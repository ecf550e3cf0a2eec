// Command cmd writes generated sessions to a folder.
//
//	go run ./internal/sessiongen/cmd -out DIR -n 10 -seed 1
//	go run ./internal/sessiongen/cmd -out DIR -set pi
//
// It prints the share of sessions with each feature.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/clew-dev/clew/internal/sessiongen"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "sessiongen:", err)
		os.Exit(1)
	}
}

// job is one session to write.
type job struct {
	name string
	seed uint64
	opts sessiongen.Options
}

func run() error {
	var o sessiongen.Options
	out := flag.String("out", "", "folder to write to; it is made when it is not there")
	n := flag.Int("n", 1, "number of sessions")
	seed := flag.Uint64("seed", 1, "seed of the first session; the others count up from it")
	set := flag.String("set", "", `"pi": the sessions whose answers from pi are kept in testdata/pi; ignores the flags below`)
	flag.IntVar(&o.Entries, "entries", 0, "entries of a session; 0 draws 20 to 120")
	flag.IntVar(&o.Version, "version", 3, "format version: 1, 2 or 3")
	flag.BoolVar(&o.WellFormed, "well-formed", false, "every call has its result, nothing dangles")
	flag.BoolVar(&o.PiSafe, "pi-safe", false, "nothing that pi throws on")
	flag.IntVar(&o.UserBytes, "user-bytes", 0, "bound of a user message's text")
	flag.IntVar(&o.AnswerBytes, "answer-bytes", 0, "bound of an answer's text")
	flag.IntVar(&o.ResultBytes, "result-bytes", 0, "bound of a tool result's text")
	flag.IntVar(&o.HugeUsers, "huge-users", 0, "number of user messages of 1 MB")
	flag.IntVar(&o.HugeResults, "huge-results", 0, "number of tool results of 5 MB")
	flag.Parse()

	if *out == "" {
		return fmt.Errorf("no folder is given: use -out DIR")
	}
	if o.Version < 1 || o.Version > 3 {
		return fmt.Errorf("-version %d: there are versions 1, 2 and 3", o.Version)
	}
	var jobs []job
	switch *set {
	case "":
		for i := range *n {
			s := *seed + uint64(i)
			jobs = append(jobs, job{fmt.Sprintf("%06d", s), s, o})
		}
	case "pi":
		jobs = piSet()
	default:
		return fmt.Errorf("-set %s: the only set is pi", *set)
	}

	if err := os.MkdirAll(*out, 0o755); err != nil {
		return err
	}
	var all sessiongen.Stats
	for _, j := range jobs {
		s := sessiongen.Generate(j.seed, j.opts)
		all.Merge(s.Stats)
		if err := os.WriteFile(filepath.Join(*out, j.name+".jsonl"), s.Bytes(), 0o644); err != nil {
			return err
		}
	}
	fmt.Print(all.Shares())
	return nil
}
