package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/agent/rpc"
	"github.com/clew-dev/clew/internal/chat"
	"github.com/clew-dev/clew/internal/database"
	"github.com/clew-dev/clew/internal/demo"
	"github.com/clew-dev/clew/internal/home"
	"github.com/clew-dev/clew/internal/provider"
	"github.com/clew-dev/clew/internal/sessions"
	"github.com/clew-dev/clew/internal/settings"
	"github.com/clew-dev/clew/internal/tui"
	"github.com/clew-dev/clew/internal/tui/widget"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model"
)

// chatFlags are the flags of clew chat, many of which go into the conversation as they are.
type chatFlags struct {
	chat.Config
	resume, session, fork, reasoning, systemFile, theme string
	print, json, rpc, demo, screenReader                bool
}

// pickSession is what --resume is without an id: the user is to choose.
const pickSession = " "

func newChat(cmd *cobra.Command) runFunc {
	var fl chatFlags
	cmd.Args = cobra.ArbitraryArgs
	f := cmd.Flags()
	f.BoolVarP(&fl.Last, "continue", "c", false, "continue the newest session of the project")
	f.StringVarP(&fl.resume, "resume", "r", "", "continue the session with this id, or choose one")
	f.Lookup("resume").NoOptDefVal = pickSession
	f.StringVar(&fl.session, "session", "", "continue the session with this id, in this file or at this address; see clew db")
	f.StringVar(&fl.fork, "fork", "", "start from a copy of a session, given by file or id")
	f.Bool("new", false, "begin a new session (the default)")
	f.StringVar(&fl.Name, "name", "", "give the session a name")
	f.BoolVar(&fl.Memory, "no-session", false, "keep the session in memory only")
	f.String("model", "", "the model that answers, as provider/model; clew models lists them")
	f.StringVar(&fl.BaseURL, "base-url", "", "base URL of another server with the API of --model's provider, or OpenAI's")
	f.StringVar(&fl.KeyEnv, "key-env", "", "environment variable that holds its key")
	f.StringVar(&fl.reasoning, "reasoning", "", "how much the model reasons: "+strings.Join(model.ReasoningNames(), ", "))
	f.String("mode", "", "what the agent may do without asking: "+strings.Join(settings.Modes(), ", "))
	f.StringArrayVar(&fl.Allow, "allow", nil, `rule for what is allowed, such as "bash(go test *)"; may be repeated`)
	f.StringArrayVar(&fl.Deny, "deny", nil, "rule for what is denied; may be repeated")
	f.BoolVar(&fl.NoTools, "no-tools", false, "give the model no tools")
	f.StringSliceVar(&fl.Tools, "tools", nil, "give the model only these tools: read,grep,...")
	f.String("summarizer", "", "the model that writes summaries, as provider/model; same: the model that answers; none: no model, rules")
	f.String("preset", "", "how the session is kept inside the window; see clew compact")
	_ = cmd.RegisterFlagCompletionFunc("preset", cobra.FixedCompletions(compact.PresetNames(), cobra.ShellCompDirectiveNoFileComp))
	f.String("window", "", "the model's window in tokens, such as 64k")
	f.IntVar(&fl.MaxRequests, "max-requests", 0, "maximum number of requests for one prompt (default 200)")
	f.StringVar(&fl.systemFile, "system-file", "", "read the system prompt from a file")
	f.BoolVarP(&fl.print, "print", "p", false, "answer one prompt and print the answer")
	f.BoolVar(&fl.json, "json", false, "with --print: print every event as a line of JSON")
	f.BoolVar(&fl.rpc, "rpc", false, "be driven by another program over lines of JSON; clew help rpc describes it")
	f.BoolVar(&fl.demo, "demo", false, "show how it works with a scripted model; needs no key")
	f.BoolVar(&fl.screenReader, "screen-reader", false, "print plain lines that a screen reader can follow")
	choiceFlag(cmd, &fl.theme, "theme", "the colours: "+strings.Join(settings.Themes(), ", "), settings.Themes())
	f.StringVar(&fl.Dir, "cwd", "", "the project's folder (default: this one)")
	return func(args []string) (result, error) { return nil, fl.run(cmd, args) }
}

func (fl *chatFlags) run(cmd *cobra.Command, args []string) error {
	if err := fl.check(cmd); err != nil {
		return err
	}
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // by nohup
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), ends...)
	defer stop()
	c, args, err := fl.config(cmd, args)
	if err != nil {
		return err
	}
	return fl.start(ctx, cmd, c, strings.Join(args, " "))
}

// start begins a conversation with a model, or with that of the demo: at a pace that can be read
// along, where somebody does.
func (fl *chatFlags) start(ctx context.Context, cmd *cobra.Command, c chat.Config, words string) error {
	if fl.demo {
		dc := demo.Config{}
		if isTerminal(cmd.OutOrStdout()) {
			dc.Pace = demo.Pace
		}
		d, err := demo.Open(dc)
		if err != nil {
			return err
		}
		defer d.Close()
		delete(c.Flags, "summarizer") // of who took the demo when asked for a model
		c.Dir, c.Home, c.UserFile, c.Environ, c.OpenModel = d.Dir, d.Home, d.UserFile, d.Environ(os.Environ()), d.OpenModel
	}
	switch {
	case fl.rpc:
		return fl.runRPC(ctx, cmd, c, words)
	case fl.print:
		return fl.runPrint(ctx, cmd, c, words)
	}
	return fl.runUI(ctx, cmd, c, words)
}

// check reports flags that make no sense together.
func (fl *chatFlags) check(cmd *cobra.Command) error {
	only := func(what string, names ...string) error {
		given := ""
		for _, name := range names {
			switch {
			case !cmd.Flags().Changed(name):
			case given != "":
				return usagef("chat: --%s and --%s: %s", given, name, what)
			default:
				given = name
			}
		}
		return nil
	}
	if err := errors.Join(
		only("they choose different sessions; drop one of them", "continue", "resume", "session", "fork", "new", "no-session"),
		only("they exclude each other; drop one of them", "print", "rpc"),
		only("they exclude each other; drop one of them", "no-tools", "tools"),
	); err != nil {
		return err
	}
	for _, name := range []string{"model", "summarizer", "base-url", "cwd", "continue", "resume", "session", "fork"} {
		if err := only("the demo has its own; drop one of them", "demo", name); err != nil {
			return err
		}
	}
	switch {
	case fl.json && !fl.print:
		return usagef("chat: --json works only with --print; add --print")
	case (fl.BaseURL != "" || fl.KeyEnv != "") && !cmd.Flags().Changed("model"):
		return usagef("chat: --base-url and --key-env need a model; name it with --model")
	case cmd.Flags().Changed("max-requests") && fl.MaxRequests < 1:
		return usagef("chat: --max-requests %d: it must be at least 1", fl.MaxRequests)
	case fl.resume == pickSession && (fl.print || fl.rpc) && len(cmd.Flags().Args()) == 0:
		return usagef("chat: --resume cannot show a list without a terminal; give an id, or use --continue")
	}
	return nil
}

// config completes the chat.Config of the flags. It returns what is left of the arguments.
func (fl *chatFlags) config(cmd *cobra.Command, args []string) (c chat.Config, _ []string, err error) {
	ctx := cmd.Context()
	c = fl.Config
	c.Interactive, c.Flags = !fl.print, map[string]string{}
	for _, name := range []string{"model", "mode", "summarizer", "preset", "window"} {
		if value, _ := cmd.Flags().GetString(name); value != "" {
			c.Flags[name] = value
		}
	}
	if fl.reasoning != "" {
		if c.Reasoning, err = model.ParseReasoning(fl.reasoning); err != nil {
			return c, nil, usagef("chat: --reasoning: %w", err)
		}
	}
	if fl.systemFile != "" {
		data, err := os.ReadFile(fl.systemFile)
		if err != nil {
			return c, nil, usagef("chat: --system-file: %w", err)
		}
		if c.System = strings.TrimSpace(string(data)); c.System == "" {
			return c, nil, usagef("chat: --system-file %s: the file is empty", fl.systemFile)
		}
	}
	if fl.resume == pickSession && len(args) > 0 && isSessionID(ctx, args[0]) {
		fl.resume, args = args[0], args[1:]
	}
	for _, from := range []struct {
		name string
		to   *string
	}{{strings.TrimSpace(fl.resume), &c.File}, {fl.session, &c.File}, {fl.fork, &c.Fork}} {
		if from.name == "" {
			continue
		}
		if *from.to = from.name; database.Is(from.name) && from.to == &c.File {
			continue
		}
		if *from.to, err = resolveSession(ctx, from.name); err != nil {
			return c, nil, err
		}
	}
	return c, args, nil
}

// isSessionID reports whether a word is the id of one session in the data folder, or the
// beginning of it.
func isSessionID(ctx context.Context, word string) bool {
	if len(word) < minID || strings.ContainsAny(word, " /\\") {
		return false
	}
	h, err := home.Default()
	if err != nil {
		return false
	}
	found, err := sessions.Find(ctx, h, word)
	return err == nil && len(found) == 1
}

// openChat opens the conversation, and makes wrong use of what is the user's slip.
func openChat(ctx context.Context, c chat.Config) (*chat.Host, error) {
	s, err := chat.Open(ctx, c)
	bad := (*settings.Error)(nil)
	switch {
	case err == nil:
		return s, nil
	case errors.As(err, new(*chat.ConfigError)), errors.As(err, &bad) && bad.Flag != "":
		return nil, usagef("chat: %w", err)
	case errors.As(err, new(*provider.NameError)) && c.Flags["model"] != "":
		return nil, usagef("chat: --model %w", err)
	}
	return nil, err
}

// maxPrompt is the most that a prompt from the standard input may have, in bytes.
const maxPrompt = 16 << 20

// readInput returns what is on the standard input, where that is no terminal.
func readInput(cmd *cobra.Command) (string, error) {
	in := cmd.InOrStdin()
	if isTerminal(in) {
		return "", nil
	}
	data, err := io.ReadAll(io.LimitReader(in, maxPrompt+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("chat: can't read standard input: %w", err)
	case len(data) > maxPrompt:
		return "", usagef("chat: standard input is larger than %s; put it into a file and name the file in the prompt", size(maxPrompt))
	}
	return strings.ToValidUTF8(strings.TrimSpace(string(data)), "\uFFFD"), nil
}

// isAnswer reports whether a message is something that a model said, to its end.
func isAnswer(m *message.Message) bool {
	return m.Role == message.RoleAssistant && m.StopReason != message.StopError && m.StopReason != message.StopAborted
}

// leaving is an output that takes what is written until ctx ends. From then on it does not wait for a reader that does
// not read: a program that was told to end ends.
type leaving struct {
	ctx context.Context
	to  io.Writer
}

// leaveAfter is how long a reader may take once the program is to end.
const leaveAfter = 500 * time.Millisecond

// Write implements io.Writer.
func (l *leaving) Write(data []byte) (int, error) {
	data = bytes.Clone(data) // it may be written when the caller uses it again
	var n int
	var err error
	written, late := make(chan struct{}), make(chan struct{})
	go func() {
		n, err = l.to.Write(data)
		close(written)
	}()
	defer context.AfterFunc(l.ctx, func() { time.AfterFunc(leaveAfter, func() { close(late) }) })()
	select {
	case <-written:
		return n, err
	case <-late:
		return 0, errors.New("nobody reads what is written")
	}
}

// runRPC lets another program talk.
func (fl *chatFlags) runRPC(ctx context.Context, cmd *cobra.Command, c chat.Config, words string) error {
	if words != "" {
		return usagef("chat: --rpc takes no prompt; the other program sends it")
	}
	srv := rpc.NewServer(&leaving{ctx, cmd.OutOrStdout()})
	c.Events = srv.Event
	s, err := openChat(ctx, c)
	if err != nil {
		return err
	}
	tell(cmd, s.Warnings())
	err = srv.Serve(ctx, s, cmd.InOrStdin())
	closed := s.Close()
	if err = errors.Join(err, srv.Flush()); ctx.Err() != nil {
		err = nil // what was not read is not missed
	}
	if err = errors.Join(err, closed); err == nil && ctx.Err() != nil {
		err = &exitError{exitInterrupted, errors.New("interrupted; " + howToGoOn(s))}
	}
	return err
}

// runUI shows the conversation on the terminal.
func (fl *chatFlags) runUI(ctx context.Context, cmd *cobra.Command, c chat.Config, words string) error {
	in, out := cmd.InOrStdin(), cmd.OutOrStdout()
	if !fl.print && !fl.screenReader && (!isTerminal(in) || !isTerminal(out)) {
		return usagef("chat: %w", tui.ErrNoTerminal)
	}
	queue := agent.NewEventQueue()
	c.Events = queue.Send
	s, err := openChat(ctx, c)
	if errors.Is(err, provider.ErrNoModel) && isTerminal(in) {
		if err := fl.firstRun(ctx, cmd); err != nil {
			return err
		}
		return fl.start(ctx, cmd, c, words)
	}
	if err != nil {
		return err
	}
	if s.AskTrust() {
		yes, err := askTrust(in, out, s.Untrusted())
		if err == nil && !yes {
			err = s.DontTrust()
		} else if err = errors.Join(err, s.Close()); err == nil {
			if err = s.Trust(ctx); err == nil { // with all that the project wants
				s, err = openChat(ctx, c)
			}
		}
		if err != nil {
			return err
		}
	}
	hints := s.Warnings()
	var script []string
	if fl.print { // the demo goes through its tour by itself
		script = demo.Script()
	} else if fl.demo {
		hints = append(hints, demo.Hints()...)
	}
	look := s.UI()
	var host rpc.Host = s
	if fl.demo {
		host = demoHost{s}
	}
	err = tui.Run(ctx, tui.Config{
		Host: host, Events: queue, In: in, Out: out, Theme: cmp.Or(widget.Mode(fl.theme), widget.Mode(look.Theme), widget.ModeAuto), ScreenReader: fl.screenReader || look.ScreenReader,
		First: words, Script: script, Choose: fl.resume == pickSession, Hints: hints,
		Silent: look.Silent, NoPreview: look.NoPreview, MoveAtOnce: look.MoveAtOnce,
	})
	now := s.Agent().State()
	if err = errors.Join(err, s.Close()); err != nil {
		return err
	}
	goOn := ""
	if _, err := os.Stat(now.File); err == nil && now.File != "" && !fl.demo {
		goOn = "clew chat --session " + now.Session + " continues it"
	}
	switch {
	case ctx.Err() != nil:
		return &exitError{exitInterrupted, errors.New(strings.TrimSuffix("interrupted; "+goOn, "; "))}
	case fl.print:
		fmt.Fprintln(out, "\nThat was all. clew chat --demo does the same in the terminal, one step at a time;\nclew chat without --demo talks with a model of yours: clew models lists them.")
	case goOn != "":
		fmt.Fprintln(cmd.ErrOrStderr(), goOn)
	}
	return nil
}

// demoHost is a session of the demo, which has one model.
type demoHost struct{ *chat.Host }

// Models implements rpc.Host.
func (h demoHost) Models() []rpc.ModelChoice {
	s := h.Agent().State()
	return []rpc.ModelChoice{{Name: s.Model, Window: s.Window, Ready: true}}
}

// askTrust asks whether a project is trusted.
func askTrust(in io.Reader, out io.Writer, wants []string) (bool, error) {
	fmt.Fprintln(out, "This project's settings ask for more than a project may do without your trust:")
	for _, w := range wants {
		fmt.Fprintln(out, "  "+printable(w))
	}
	return askYes(in, out, "Trust this project? It can then run its own programs.")
}

// chatHeader is the first line of chat --json.
type chatHeader struct {
	Type    string `json:"type"`
	Version int    `json:"version"`
	Session string `json:"session"`
	File    string `json:"file,omitempty"`
	Model   string `json:"model"`
	Dir     string `json:"dir"`
}

// printer follows what the agent does for one prompt.
type printer struct {
	enc    *json.Encoder // nil: the answer alone is printed
	broken error         // the output took no more
	bar    *progress
	errOut io.Writer

	answer  string
	outcome agent.Outcome
	failed  string
	refused []*agent.Question // nobody was there to answer
}

func (p *printer) show(e agent.Event) {
	switch e.Kind {
	case agent.KindEntry:
		if isAnswer(e.Entry.Message) {
			p.answer = e.Entry.Message.Text()
		}
	case agent.KindTurnStart, agent.KindRequest:
		p.bar.say("working")
	case agent.KindToolStart:
		p.bar.say("%s", e.Tool.Line)
	case agent.KindCompactionStart:
		p.bar.say("compacting")
	case agent.KindRetry:
		p.bar.say("again in %s: %s", e.Retry.Wait, e.Retry.Error)
	case agent.KindWarning:
		p.bar.done()
		fmt.Fprintf(p.errOut, "clew: %s\n", printable(e.Text))
	case agent.KindRefused:
		if !slices.ContainsFunc(p.refused, func(q *agent.Question) bool { return q.Tool.Line == e.Question.Tool.Line }) {
			p.refused = append(p.refused, e.Question)
		}
	case agent.KindTurnEnd:
		p.outcome, p.failed = e.Outcome, e.Error
	default:
	}
	if p.enc != nil && p.broken == nil {
		p.broken = p.enc.Encode(e)
	}
}

// runPrint answers one prompt.
func (fl *chatFlags) runPrint(ctx context.Context, cmd *cobra.Command, c chat.Config, words string) error {
	input, err := readInput(cmd)
	if err != nil {
		return err
	}
	if words+input == "" && fl.demo && !fl.json {
		c.Interactive = true
		return fl.runUI(ctx, cmd, c, "")
	}
	if words+input == "" {
		return usagef("chat: there is no prompt; give one as an argument or on the standard input")
	}
	p := &printer{bar: newProgress(cmd), errOut: cmd.ErrOrStderr()}
	defer p.bar.done()
	if fl.json {
		p.enc = json.NewEncoder(&leaving{ctx, cmd.OutOrStdout()})
		p.enc.SetEscapeHTML(false)
	}
	queue := agent.NewEventQueue()
	c.Events = queue.Send
	s, err := openChat(ctx, c)
	if err != nil {
		return err
	}
	tell(cmd, s.Warnings())
	if p.enc != nil {
		now := s.Agent().State()
		p.broken = p.enc.Encode(chatHeader{"header", 1, now.Session, now.File, now.Model, s.Dir()})
	}
	var told sync.WaitGroup
	told.Go(func() { queue.Each(context.WithoutCancel(ctx), p.show) })
	err = p.say(ctx, s, words, input)
	err = errors.Join(err, s.Close())
	told.Wait()
	p.bar.done()
	if ctx.Err() != nil {
		return &exitError{exitInterrupted, errors.New("interrupted; " + howToGoOn(s))}
	}
	if err != nil {
		return err
	}
	p.refusals()
	return p.end(cmd, s)
}

// say sends a prompt and waits until it is answered. When ctx ends the work is cancelled.
// What the words name is added; what came on the standard input is sent as it is.
func (p *printer) say(ctx context.Context, s *chat.Host, words, input string) error {
	if err := s.Ready(ctx); err != nil {
		return nil // it was interrupted
	}
	a := s.Agent()
	prompt, err := s.Expand(ctx, words)
	if err != nil {
		return nil // likewise
	}
	for _, note := range prompt.Notes {
		fmt.Fprintf(p.errOut, "clew: note: %s\n", printable(note))
	}
	text := strings.TrimSpace(prompt.Text + "\n\n" + input)
	if _, err := a.Send(ctx, agent.Input{Text: text, Images: prompt.Images}); err != nil {
		return err
	}
	if err := a.Wait(ctx); err != nil {
		_, err := a.Cancel(context.WithoutCancel(ctx))
		return err
	}
	return nil
}

func howToGoOn(s *chat.Host) string {
	if now := s.Agent().State(); now.File != "" {
		return "clew chat --session " + now.File + " continues it"
	}
	return "the session was only in memory"
}

// refusals says what was refused because nobody was there to ask.
func (p *printer) refusals() {
	for _, r := range p.refused {
		text := "refused, because clew could not ask: " + printable(r.Tool.Line) + " (" + printable(r.Why) + ")"
		for i, rule := range r.Rules {
			if i == 0 {
				text += "; to allow it:"
			}
			text += " --allow " + shellWord(printable(rule))
		}
		fmt.Fprintf(p.errOut, "clew: %s\n", text)
	}
}

// end prints the answer, or says why there is none.
func (p *printer) end(cmd *cobra.Command, s *chat.Host) error {
	switch p.outcome {
	case agent.OutcomeDone:
	case agent.OutcomeLimit:
		return fmt.Errorf("stopped at the limit of requests for one prompt; raise it with --max-requests; %s", howToGoOn(s))
	case agent.OutcomeFailed:
		return errors.New(p.failed)
	default:
		return errors.New("it was cancelled; " + howToGoOn(s))
	}
	if p.enc != nil {
		return p.broken
	}
	if p.answer == "" {
		return nil
	}
	_, err := fmt.Fprintln(cmd.OutOrStdout(), strings.TrimRight(p.answer, "\n"))
	return err
}
