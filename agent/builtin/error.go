package builtin

import (
	"errors"
	"io/fs"
	"syscall"
)

// What can be wrong. Errors of this package are of type *Error and wrap one of
// these, an error of io/fs or that of a context.
var (
	// ErrArguments: the model's arguments are not those that the tool takes.
	ErrArguments = errors.New("the arguments are wrong")
	// ErrRefused: a place that the tools for files keep away from.
	ErrRefused = errors.New("refused")
	// ErrChanged: a path leads elsewhere than before, or the file was changed by
	// another program.
	ErrChanged = errors.New("changed meanwhile")
)

// Error is the rich error of this package: which tool, on what, what went wrong and
// what to do about it. The words are for the model.
type Error struct {
	Op      string // the tool
	Subject string // a path, a pattern, the name of an argument
	Err     error
	Hint    string // what to do, without a full stop; may be empty
}

func (e *Error) Error() string {
	s := e.Op
	if e.Subject != "" {
		s += " " + e.Subject
	}
	s += ": " + e.Err.Error()
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// because is an error with words of its own that errors.Is finds a kind in.
type because struct {
	kind error
	what string
}

func (b *because) Error() string { return b.what }
func (b *because) Unwrap() error { return b.kind }

func refused(what string) error { return &because{ErrRefused, what} }
func changed(what string) error { return &because{ErrChanged, what} }
func wrong(what string) error   { return &because{ErrArguments, what} }

// fail makes an *Error of what the system said about a place.
func fail(op, subject string, err error) error {
	if err == nil {
		return nil
	}
	if e := (*Error)(nil); errors.As(err, &e) {
		return e
	}
	hint := ""
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err, hint = &because{fs.ErrNotExist, "there is no such file or folder"}, "look for it with find or ls"
	case errors.Is(err, fs.ErrPermission):
		err, hint = &because{fs.ErrPermission, "the system does not allow it"}, "the user would have to change the permissions"
	case errors.Is(err, syscall.ENAMETOOLONG):
		err, hint = &because{err, "the name is longer than the system takes"}, "take a shorter one"
	case errors.Is(err, syscall.ENOTDIR):
		err, hint = &because{err, "a part of the path is a file, not a folder"}, "look at the folder above with ls"
	case errors.Is(err, syscall.ENOSPC):
		err, hint = &because{err, "the disk is full"}, "tell the user, who has to make room"
	case errors.Is(err, syscall.EROFS):
		err, hint = &because{err, "the file system can only be read"}, "write elsewhere, or tell the user"
	case errors.Is(err, fs.ErrClosed):
		err = &because{fs.ErrClosed, "the session is closed"}
	case errors.Is(err, errFolder):
		hint = "name a file in it; ls shows what is there"
	case errors.Is(err, errNotFolder):
		hint = "give the folder that it is in"
	case errors.Is(err, errLarge):
		hint = "use bash, with sed or a script"
	case errors.Is(err, ErrRefused):
		hint = "use bash, if it has to be"
	case errors.Is(err, errNoFolder), errors.Is(err, errFolderName):
		hint = "leave the slash out, or name a file in a folder"
	case errors.Is(err, ErrChanged):
		hint = "look at it again, and call again"
	default:
		// The words of the system name the path as it was opened: ours is clearer.
		if p := (*fs.PathError)(nil); errors.As(err, &p) {
			err = p.Err
		}
	}
	return &Error{Op: op, Subject: subject, Err: err, Hint: hint}
}
