package main

import (
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for name, c := range map[string]struct {
		screen string
		want   []run
	}{
		"plain":           {"ab", []run{{look{}, 0, 2, "ab"}}},
		"sixteen":         {"\x1b[1;31ma\x1b[0mb", []run{{look{fg: sixteen[1], bold: true}, 0, 1, "a"}, {look{}, 1, 1, "b"}}},
		"256":             {"\x1b[38;5;196ma\x1b[39;48;5;232mb", []run{{look{fg: "#ff0000"}, 0, 1, "a"}, {look{bg: "#080808"}, 1, 1, "b"}}},
		"true colour":     {"\x1b[38;2;1;2;255ma", []run{{look{fg: "#0102ff"}, 0, 1, "a"}}},
		"inverse and off": {"\x1b[7ma\x1b[27mb", []run{{look{in: true}, 0, 1, "a"}, {look{}, 1, 1, "b"}}},
		"wide":            {"日本x", []run{{look{}, 0, 2, "日"}, {look{}, 2, 2, "本"}, {look{}, 4, 1, "x"}}},
		"a link":          {"\x1b]8;;https://example.com\x1b\\a\x1b]8;;\x1b\\", []run{{look{}, 0, 1, "a"}}},
		"cut off":         {"a\x1b[38;5", []run{{look{}, 0, 1, "a"}}},
		"too few numbers": {"\x1b[38;5ma\x1b[38mb", []run{{look{}, 0, 2, "ab"}}},
	} {
		t.Run(name, func(t *testing.T) {
			got := parse(c.screen)
			if len(got) != 1 || len(got[0]) != len(c.want) {
				t.Fatalf("got %+v, want %+v", got, c.want)
			}
			for i, r := range got[0] {
				if r != c.want[i] {
					t.Errorf("run %d is %+v, want %+v", i, r, c.want[i])
				}
			}
		})
	}
}

// TestColoursGoOn: what a line sets counts for the next one.
func TestColoursGoOn(t *testing.T) {
	got := parse("\x1b[32ma\nb\n")
	if len(got) != 2 || got[1][0].fg != sixteen[2] {
		t.Errorf("got %+v", got)
	}
}

// TestSVG: the picture is XML, and has the text and its place.
func TestSVG(t *testing.T) {
	out := svg("a <title>", "  \x1b[31ma < b & c\x1b[0m\n\x1b[7m x \x1b[0m\n", 20, 2)
	d := xml.NewDecoder(strings.NewReader(out))
	for {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, out)
		}
	}
	for _, want := range []string{"a &lt;title&gt;", ">a &lt; b &amp; c</text>", `x="30.8" y="27.5" textLength="75.6" fill="` + sixteen[1], `<rect x="14" y="32" width="25.2" height="18" fill="` + foreground, `fill="` + background + `">x</text>`} {
		if !strings.Contains(out, want) {
			t.Errorf("nowhere is %s in\n%s", want, out)
		}
	}
}

// TestSteps: what is waited for can be read, and no two pictures have one name.
func TestSteps(t *testing.T) {
	names := map[string]bool{}
	for _, term := range terminals {
		for _, st := range term.steps {
			if _, err := regexp.Compile(st.see); err != nil {
				t.Error(err)
			}
			if st.shot == "" {
				continue
			}
			if names[st.shot] || st.says == "" {
				t.Errorf("the picture %q has no title, or is there twice", st.shot)
			}
			names[st.shot] = true
		}
	}
}
