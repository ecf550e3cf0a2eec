package widget_test

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/clew-dev/clew/internal/tui/widget"
)

func ExampleEditor() {
	e := widget.NewEditor(widget.NewTheme(widget.ModeNone, false))
	e.SetSize(40, 24)
	e.Commands = []widget.Command{{Name: "compact", Args: "[instructions]", Help: "summarize"}}
	for _, c := range "/com" {
		e.Update(tea.KeyPressMsg{Text: string(c), Code: c})
	}
	fmt.Println(strings.Join(e.Lines(), "\n"))
	e.Update(tea.KeyPressMsg{Code: tea.KeyTab})
	fmt.Printf("%#v\n", e.Update(tea.KeyPressMsg{Code: tea.KeyEnter}))
	// Output:
	// > /compact [instructions]  summarize
	// ────────────────────────────────────────
	// > /com
	// widget.SendMsg{Text:"/compact"}
}

func ExampleBlock() {
	b := widget.NewBlock(widget.BlockTool, "bash go test ./...", "ok\nok\n")
	b.Status = widget.StatusDone
	for _, l := range b.Lines(widget.NewTheme(widget.ModeNone, false), 40) {
		fmt.Println(l)
	}
	// Output:
	// + bash go test ./...  done, 2 lines
}

func ExampleSanitize() {
	fmt.Println(widget.Sanitize("\x1b]0;a title\a\x1b[31mred\x1b[0m"))
	fmt.Println(widget.Reveal("\x1b[31mred"))
	// Output:
	// red
	// \x1b[31mred
}
