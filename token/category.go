package token

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
)

// Counter estimates the tokens of messages and of text. Implementations are safe for
// use by several goroutines, never return a negative number, and give the same answer
// for the same input.
type Counter interface {
	Name() string                     // identifies the counter in reports: "heuristic/claude", "chars4"
	Message(m *message.Message) int64 // what a message adds to a request, its overhead included
	Text(s string) int64              // what a text costs as part of a message
}

// What a Counter may offer beyond that.
type (
	// splitter divides the tokens of a message among the categories; the parts
	// add up to what Message returns.
	splitter interface {
		split(m *message.Message, into *Categories)
	}
	guarded interface{ guard() float64 } // knows how far the counter's estimates may be too low
)

func ceilDiv(n, d int64) int64 { return n/d + min(n%d, 1) }

// Category says what kind of content tokens are spent on.
type Category uint8

// The categories.
const (
	System       Category = iota // system prompt
	Tools                        // definitions of tools
	User                         // what the user typed
	Assistant                    // text of answers
	Thinking                     // reasoning
	ToolCalls                    // names and arguments of calls
	ToolResults                  // text of results
	Images                       // images, whoever sent them
	Summaries                    // of compactions and branches
	Shell                        // commands the user ran, and their output
	Custom                       // put in by programs: extensions, hooks, reminders
	Unattributed                 // reported by the provider, but in no message here
	NumCategories
)

var categoryNames = [NumCategories]string{
	"system", "tools", "user", "assistant", "thinking", "toolCalls", "toolResults",
	"images", "summaries", "shell", "custom", "unattributed",
}

// String returns the name of the category, as it stands in JSON.
func (c Category) String() string {
	if c < NumCategories {
		return categoryNames[c]
	}
	return "category " + strconv.Itoa(int(c))
}

// Categories are tokens by category. They add up to the tokens of the reading.
type Categories [NumCategories]int64

// Total returns the sum.
func (c *Categories) Total() int64 {
	var sum int64
	for _, n := range c {
		sum = addSat(sum, n)
	}
	return sum
}

// MarshalJSON writes an object with the categories that are not 0, in order.
func (c Categories) MarshalJSON() ([]byte, error) {
	var o jsonx.Object
	for i, n := range c {
		if n != 0 {
			o.Int(Category(i).String(), n)
		}
	}
	return o.Bytes(), nil
}

// UnmarshalJSON reads what MarshalJSON wrote. Names it does not know count as Unattributed.
func (c *Categories) UnmarshalJSON(data []byte) error {
	var m map[string]int64
	if err := json.Unmarshal(data, &m); err != nil {
		return err
	}
	*c = Categories{}
	for name, n := range m {
		at := slices.Index(categoryNames[:], name)
		if at < 0 {
			at = int(Unattributed)
		}
		c[at] = addSat(c[at], n)
	}
	return nil
}

func categoryOf(m *message.Message) Category {
	switch m.Role {
	case message.RoleSystem:
		return System
	case message.RoleUser:
		if m.UserWords() {
			return User
		}
	case message.RoleAssistant:
		return Assistant
	case message.RoleToolResult:
		return ToolResults
	case message.RoleBashExecution:
		return Shell
	case message.RoleBranchSummary, message.RoleCompactionSummary:
		return Summaries
	case message.RoleCustom:
	}
	return Custom
}

func categoryOfBlock(t message.BlockType) Category {
	switch t {
	case message.BlockThinking:
		return Thinking
	case message.BlockToolCall:
		return ToolCalls
	case message.BlockImage:
		return Images
	case message.BlockText:
	}
	return Assistant
}

// apportion adds parts, in units of which per make a token, to into as whole
// tokens that add up to the sum of the parts rounded up.
func apportion(parts *[NumCategories]millis, per int64, into *Categories) {
	var sum, before int64
	for i, p := range parts {
		if p == 0 {
			continue
		}
		sum += int64(p)
		upTo := ceilDiv(sum, per)
		into[i] = addSat(into[i], upTo-before)
		before = upTo
	}
}
