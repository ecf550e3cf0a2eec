package agent

import (
	"github.com/clew-dev/clew/internal/agent/builtin"
	"github.com/clew-dev/clew/internal/agent/permission"
	"github.com/clew-dev/clew/internal/agent/rules"
	"github.com/clew-dev/clew/internal/agent/tool"
)

// What a Config is made of. These names stand for types of packages that only clew imports.
type (
	// Tool is something that a model may call. It has three methods: Spec() model.Tool is what the model is told;
	// Effect(arguments json.RawMessage) (Effect, error) says what a call would do, so that the user can be asked; and
	// Run(context.Context, Call) (Result, error) does it.
	Tool = tool.Tool
	// Call is a call of a tool: its ID and its Arguments, a JSON object.
	Call = tool.Call
	// Result is what the model reads of a call, and Details for the user.
	Result = tool.Result
	// Effect says what a call would do: its Kind, the Paths that it touches, and a Line for the user.
	Effect = tool.Effect

	// Guard decides what a call may do. It may be used from several goroutines.
	Guard = permission.Guard
	// GuardConfig says what a Guard knows: the project's Dir, the Rules and the Mode it starts with: "ask" (the
	// default), "edits", "plan" or "all".
	GuardConfig = permission.Config
	// GuardRules has the patterns that are allowed, asked and denied, in the form that docs/chat.md describes.
	GuardRules = permission.Rules

	// BuiltinConfig says where clew's own tools work: Dir, Shell and Environ. Its zero value is all tools but recall,
	// in the current folder.
	BuiltinConfig = builtin.Config
	// Builtin is clew's own tools; Tools lists them, Close ends their use.
	Builtin = builtin.Set

	// RulesConfig says where the project's rules files are: Dir, the user's Home, and User, a folder of the user's own.
	RulesConfig = rules.Config
	// Rules is the AGENTS.md files that hold for a folder.
	Rules = rules.Set
)

// The kinds of an Effect.
const (
	EffectRead  = tool.Read  // it looks at files or at the session, and changes nothing
	EffectWrite = tool.Write // it changes files
	EffectRun   = tool.Run   // it runs a command
	EffectOther = tool.Other // anything else: tools of other programs, the network
)

// TextResult returns a result of one text.
func TextResult(text string) Result { return tool.Text(text) }

// NewGuard returns a guard. The error says which rule can't be read.
func NewGuard(c GuardConfig) (*Guard, error) { return permission.New(c) }

// NewBuiltin returns clew's own tools for a project: read, write, edit, bash and so on. The folder must exist; it stays
// open until Close.
func NewBuiltin(c BuiltinConfig) (*Builtin, error) { return builtin.New(c) }

// ReadRules reads the rules files that hold for a folder, for Config.Rules.
func ReadRules(c RulesConfig) (Rules, error) { return rules.Read(c) }
