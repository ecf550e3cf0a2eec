package ledger

import (
	"fmt"
	"strings"
	"testing"
)

func TestParseScript(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"a b && c | d; e", "a b [&&] c [|] d [;] e"},
		{`a 'b c' "d \"e\"" f\ g`, `a "b c" "d \"e\"" "f g"`},
		{"a $(b; c | d) e", "a $(b; c | d)? e"},
		{"a `b c` \"$x\" *.go", "a `b c`? $x? *.go?"},
		{"a > out 2>&1 < in >> more &> all", "a >out >more >all"},
		{"cat <<'EOF' > f\nrm x\nEOF\nls", "cat >f [;] ls"},
		{"cat <<-E | b\n\tx\n\tE\nc", "cat [|] b [;] c"},
		{"a <<< word b", "a b"},
		{"# nothing\na # comment\nb", "a [;] b"},
		{"a \\\n b", "a b"},
		{"A=1 B=2 cmd", "cmd"},
		{"(a; b)", "a [;] b [;] !"},
		{"if a; then b; fi", "a [;] b !"},
		{"f() { rm x; }; a", "a !"},
		{"time a && ! b", "a [&&] b !"},
		{"a $'b\\n' \"c\\nd\"", "a b\\n? c\\nd"},
		{"'open && a\nb", "'open? &&? a? !"},
		{"cat <<E\nx", "cat? <<E? !"},
		{"a " + strings.Repeat("b", maxScript) + " c", "a? " + strings.Repeat("b", 1022) + "? !"},
		{"", ""},
	} {
		sc := parseScript(newParser(), c.in)
		var parts []string
		for i, cmd := range sc.cmds {
			for _, w := range cmd.words {
				s := w.text
				if strings.ContainsAny(s, " \"") && !strings.ContainsAny(s, "$`") || strings.HasPrefix(s, "open $") {
					s = fmt.Sprintf("%q", s)
				}
				if w.dynamic {
					s += "?"
				}
				parts = append(parts, s)
			}
			for _, o := range cmd.outs {
				parts = append(parts, ">"+o.text)
			}
			if i < len(sc.cmds)-1 || strings.HasPrefix(c.in, "(") {
				parts = append(parts, "["+cmd.next+"]")
			}
		}
		if sc.control {
			parts = append(parts, "!")
		}
		if got := strings.Join(parts, " "); got != c.want {
			t.Errorf("%q\n got %s\nwant %s", c.in, got, c.want)
		}
	}
}

func FuzzParseScript(f *testing.F) {
	for _, s := range []string{"a && b", "cat <<E\nx\nE", "a $(b (c) `d`) > e", "for i in *; do x; done", `"\`, "a <<<", "2>&1 >"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		sc := parseScript(newParser(), s)
		last := 0
		for _, c := range sc.cmds {
			if len(c.words) == 0 {
				continue
			}
			if c.from < last || c.to < c.from || c.to > len(s) {
				t.Fatalf("%q: command at %d to %d", s, c.from, c.to)
			}
			last = c.from
		}
		readLine(s, sc, newPlace("/home/user"), "").shellChanges(newPlace("/home/user"), false)
	})
}
