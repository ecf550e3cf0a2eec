package jsonl

import (
	"fmt"

	"github.com/clew-dev/clew/session"
)

// The problems of the physical layer. docs/FORMAT.md lists the codes.

const remedyRepair = "clew repair FILE --out FILE makes a sound copy"

func problemBadLine(off int64, p *piece) session.Problem {
	return session.Problem{
		Code: "bad-line", Severity: session.SevError, Offset: off,
		What:    fmt.Sprintf("%d bytes that are no record: %v", len(p.data), p.err),
		Meaning: "what it said is lost to readers; entries that hung under it hang where it hung, else under the record before it",
		Remedy:  remedyRepair + "; the bytes stay in the original",
	}
}

func problemTorn(off, size int64) session.Problem {
	return session.Problem{
		Code: "torn-tail", Severity: session.SevWarning, Offset: off,
		What:    fmt.Sprintf("the last line breaks off after %d bytes", size),
		Meaning: "a writer was stopped in the middle of it; it was never acknowledged",
		Remedy:  "the next append moves it to a file with the ending .cut; nothing else to do",
	}
}

func problemPartPass(off int64, e *session.Entry, want, have int) session.Problem {
	what := "a pass"
	if _, ok := e.Pass(); !ok {
		what = "an undo"
	}
	return session.Problem{
		Code: "part-pass", Severity: session.SevWarning, Offset: off, EntryID: e.ID,
		What:    fmt.Sprintf("the file ends inside %s: %d of %d entries", what, have, want),
		Meaning: "it did not happen; the context is the one before it",
		Remedy:  "the next append moves its lines to a file with the ending .cut; nothing else to do",
	}
}

func problemStray(off int64, p *piece) session.Problem {
	show := p.data
	if len(show) > 40 {
		show = append(show[:40:40], "..."...)
	}
	return session.Problem{
		Code: "stray-value", Severity: session.SevWarning, Offset: off,
		What:    fmt.Sprintf("a JSON value that is no record: %s", show),
		Meaning: "clew passes over it; pi takes it for an entry and may open the session with an empty context",
		Remedy:  remedyRepair,
	}
}

func problemNoID(off int64, p *piece) session.Problem {
	return session.Problem{
		Code: "no-id", Severity: session.SevError, Offset: off,
		What:    fmt.Sprintf("a record of type %q without an id", p.typ),
		Meaning: "it has no place in the tree and is passed over; pi may open the session with an empty context",
		Remedy:  remedyRepair,
	}
}

func problemSecondHeader(off int64) session.Problem {
	return session.Problem{
		Code: "second-header", Severity: session.SevWarning, Offset: off,
		What:    "another session header in the middle of the file",
		Meaning: "the first one counts",
		Remedy:  remedyRepair,
	}
}

func problemJoined(off int64, n int) session.Problem {
	return session.Problem{
		Code: "joined-records", Severity: session.SevError, Offset: off,
		What:    fmt.Sprintf("%d records, or parts of records, on one line", n),
		Meaning: "clew reads them all; pi passes over the whole line",
		Remedy:  remedyRepair,
	}
}

func problemDuplicate(off int64, id string) session.Problem {
	return session.Problem{
		Code: "duplicate-id", Severity: session.SevError, Offset: off, EntryID: id,
		What:    fmt.Sprintf("the id %s stands in more than one record", id),
		Meaning: "the last record with it counts, here and in pi; the others can't be reached",
		Remedy:  remedyRepair + ", in which the others have ids of their own",
	}
}

func problemMissingParent(r *rec, to string) session.Problem {
	p := session.Problem{
		Code: "missing-parent", Severity: session.SevError, Offset: r.off, EntryID: r.id,
		What:    fmt.Sprintf("its parent %s is nowhere in the file", r.parent),
		Meaning: "it is taken for a root: nothing before it is in its context",
		Remedy:  remedyRepair,
	}
	if to != "" {
		p.Meaning = fmt.Sprintf("it is read as hanging under %s, where its lost parent hung or stood; pi loses all before it", to)
	}
	return p
}

func problemBOM() session.Problem {
	return session.Problem{
		Code: "bom", Severity: session.SevWarning,
		What:    "a byte order mark at the beginning",
		Meaning: "clew passes over it; pi does not open the file",
		Remedy:  remedyRepair,
	}
}

func problemBeforeHeader(off int64, n int) session.Problem {
	return session.Problem{
		Code: "before-header", Severity: session.SevWarning, Offset: off,
		What:    fmt.Sprintf("%d bytes before the header that are no record", n),
		Meaning: "they are passed over",
		Remedy:  remedyRepair,
	}
}

func problemFuture(v int) session.Problem {
	return session.Problem{
		Code: "future-version", Severity: session.SevWarning,
		What:    fmt.Sprintf("the file is of format version %d; this clew knows up to %d", v, session.Version),
		Meaning: "it is read as version 3 and can't be written",
		Remedy:  "use a newer clew",
	}
}

func problemNoLock(err error) session.Problem {
	return session.Problem{
		Code: "no-lock", Severity: session.SevWarning,
		What:    fmt.Sprintf("this file system gives no lock: %v", err),
		Meaning: "another program could write at the same time",
		Remedy:  "do not use the session in two places at once",
	}
}

func problemMore(at int64, n int) session.Problem {
	return session.Problem{
		Code: "more", Severity: session.SevError, Offset: at,
		What:    fmt.Sprintf("%d more problems that are not listed", n),
		Meaning: "the file may be no session any more than it is damaged",
		Remedy:  remedyRepair,
	}
}
