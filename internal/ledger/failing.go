package ledger

import (
	"regexp"
	"strings"

	"github.com/clew-dev/clew/internal/text"
)

// testNames match how test runners name what failed: pytest, unittest, Jest and
// Vitest, Cargo, TAP and Bats, RSpec, PHPUnit, JUnit under Gradle, CTest.
var testNames = []func() *regexp.Regexp{
	text.Pattern(`(?m)^(?:FAILED|ERROR) (\S+::\S+|\S+\.py)`),
	text.Pattern(`(?m)^(?:FAIL|ERROR): (\w+) \(`),
	text.Pattern(`(?m)^\s*(?:FAIL|❯|×|✕)\s+(\S+\.[cm]?[jt]sx?)\b`),
	text.Pattern(`(?m)^test (\S+) \.\.\. FAILED`),
	text.Pattern(`(?m)^not ok [0-9]+ (?:- )?(.{1,200})$`),
	text.Pattern(`(?m)^rspec (\S+)`),
	text.Pattern(`(?m)^[0-9]+\) (\S+::\S+)`),
	text.Pattern(`(?m)^(\S+) > \S.* FAILED`),
	text.Pattern(`(?m)^\s*[0-9]+ - (\S+) \((?:Failed|SEGFAULT|Timeout)`),
}

// failedTests returns what failed as an output names it, at most MaxFailed. More
// than that many is as good as everything: then there are none.
func failedTests(out string) []string {
	head, tail := ends(out)
	if len(head) < len(out) {
		head += "\n" + tail
	}
	if !strings.Contains(head, "FAIL") && !strings.Contains(head, "Fail") && !strings.Contains(head, "not ok") && !strings.Contains(head, "rspec ") &&
		!strings.Contains(head, "ERROR") && !strings.ContainsAny(head, "❯×✕") {
		return nil
	}
	var names []string
	seen := map[string]bool{}
	add := func(name string) {
		if name = text.Line(name); !seen[name] && len(name) <= MaxText {
			seen[name] = true
			names = append(names, name)
		}
	}
	goFailures(head, add)
	for _, name := range testNames {
		for _, m := range name().FindAllStringSubmatch(head, MaxFailed+1) {
			add(m[1])
		}
	}
	if len(names) > MaxFailed {
		return nil
	}
	return names
}

// goFailures names what failed in the output of go test as package::test: the
// tests of a package stand before the line about the package.
func goFailures(out string, add func(string)) {
	var tests []string
	for line := range strings.SplitSeq(out, "\n") {
		if test, ok := strings.CutPrefix(line, "--- FAIL: "); ok {
			test, _, _ = strings.Cut(test, " ")
			tests = append(tests, test)
		} else if pkg, ok := strings.CutPrefix(line, "FAIL\t"); ok {
			pkg, _, _ = strings.Cut(pkg, "\t")
			pkg, _, _ = strings.Cut(pkg, " ")
			for _, t := range tests {
				add(pkg + "::" + t)
			}
			if tests == nil {
				add(pkg)
			}
			tests = nil
		}
	}
	for _, t := range tests {
		add("::" + t)
	}
}

// failedSurely matches the lines in which test runners sum up that they failed.
var failedSurely = text.Pattern(`(?m)^(?:FAIL\b|FAILED\b|\s*--- FAIL|npm ERR!|make(?:\[\d+\])?: \*\*\*|error: test failed|BUILD FAILED|not ok \d)|^=+ .*\b[1-9]\d* failed\b|\bTests:\s+[1-9]\d* failed\b|test result: FAILED`)

// runs reports whether a check that names what it runs runs one of the tests,
// files or packages that failed.
func (l line) runs(name string) bool {
	file, test, _ := strings.Cut(name, "::")
	for _, words := range l.parts {
		s := selectionOf(words)
		if len(s.filters)+len(s.targets) > 0 && s.filtersRun(file, test) && s.targetsRun(file, name) {
			return true
		}
	}
	return false
}

func (s selection) filtersRun(file, test string) bool {
	if test == "" {
		test = file
	}
	for _, f := range s.filters {
		_, value, _ := strings.Cut(f, "=")
		found := false
		for one := range strings.FieldsFuncSeq(value, func(r rune) bool { return strings.ContainsRune(`|'"^$() `, r) }) {
			found = found || strings.Contains(test, one)
		}
		if !found {
			return false
		}
	}
	return true
}

func (s selection) targetsRun(file, name string) bool {
	if len(s.targets) == 0 || file == "" {
		return len(s.filters) > 0
	}
	for _, t := range s.targets {
		t = strings.TrimSuffix(strings.TrimPrefix(t, "./"), "/...")
		switch {
		case t == name, strings.HasPrefix(name, t+"::"), within(file, t) && t != "", // also a::b::c for a::b
			strings.HasSuffix(file, "/"+t), strings.Contains(file, "/"+t+"/"):
			return true
		}
	}
	return false
}
