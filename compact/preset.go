package compact

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/summary"
	"github.com/clew-dev/clew/wire"
)

// The presets.
const (
	PresetClew     = "clew"
	PresetPi       = "pi"
	PresetSynapse  = "synapse"
	PresetTurns    = "turns"
	PresetSemantic = "semantic"
)

// PresetNames returns the names of the presets.
func PresetNames() []string {
	return []string{PresetClew, PresetPi, PresetSynapse, PresetTurns, PresetSemantic}
}

// Preset returns a policy by name; Policy fields that are set afterwards count before the preset's own.
// docs/ladder.md says what each decides. Whatever that is, a guard follows that is the same for all: no cut parts a
// call from its result, and a context that would not fit is brought into the limit by the ladder's last stages.
func Preset(name string) (Policy, error) {
	switch name {
	case PresetClew, "":
		return Policy{Name: PresetClew}, nil
	case PresetPi:
		return Policy{Name: name, Keep: Tokens(20_000), Template: summary.Structured}, nil
	case PresetSynapse:
		return Policy{
			Name: name, Trigger: Tokens(150_000), KeepMessages: 5, Summary: Tokens(8_000), SummaryGoal: true,
			Template: summary.Technical, Tries: 3,
			Form: &wire.Form{Role: message.RoleUser, Open: "[Compressed History]\n\n", Close: ""},
		}, nil
	case PresetTurns:
		return Policy{
			Name: name, MaxWindow: 64_000, Trigger: Percent(75), KeepTurns: 6, Target: Percent(50), MaxPasses: 2,
			Template: summary.Notes,
			Form:     &wire.Form{Role: message.RoleAssistant, Open: "[COMPACTED_CONTEXT]\n", Close: ""},
		}, nil
	case PresetSemantic:
		return Policy{Name: name, Keep: Tokens(20_000), Template: summary.Brief}, nil
	}
	return Policy{}, fmt.Errorf("there is no preset %q; there are %s", name, strings.Join(PresetNames(), ", "))
}

// SynapsePolicy are the settings of preset synapse. What is unset is as in its document; below 0 stands for none.
type SynapsePolicy struct {
	Scan     float64 // the share of the messages, from the oldest on, that offload looks at. Default: 0.5.
	MinChars int     // how long a result is at most that stays. Default: 50.
	MinFreed int64   // what offload must free for no summary to be made, in tokens. Default: 15,000.
	Cooldown int     // how many answers lie between two summaries. Default: 5.
}

func (s SynapsePolicy) resolved() SynapsePolicy {
	return SynapsePolicy{
		Scan:     min(max(cmp.Or(s.Scan, 0.5), 0), 1),
		MinChars: max(cmp.Or(s.MinChars, 50), 0),
		MinFreed: max(cmp.Or(s.MinFreed, 15_000), 0),
		Cooldown: max(cmp.Or(s.Cooldown, 5), 0),
	}
}

const nothingOld = "all there is belongs to the part that is kept"

// climbPreset does what the preset does. What would not fit then is left to the ladder.
func (p *planner) climbPreset(ctx context.Context, plan *Plan) error {
	w := p.newWork()
	cut, none := (*Cut)(nil), nothingOld
	at := p.askedCut()
	switch {
	case at > 0:
		cut = newCut(p.snap.Context, at, p.Message, "asked for")
	case p.policy.Name == PresetPi:
		cut, none = p.cutPi()
	case p.policy.Name == PresetSynapse:
		if cut, none = p.cutSynapse(plan, w); none == "" {
			return p.conclude(ctx, plan, w, nil)
		}
	case p.policy.Name == PresetTurns:
		cut, none = p.cutTurns(w)
	case p.policy.Name == PresetSemantic:
		cut, none = p.cutSemantic(w)
	default:
		return p.climb(ctx, plan, w)
	}
	if cut != nil {
		cut = safeCut(p.snap.Context, w.units(), cut, p.Message)
	}
	split := p.policy.Name == PresetSemantic && cut != nil && p.keepEnds(w, cut.at)
	if split {
		cut.Tokens = w.cost(cut.at, len(w.items))
	}
	switch {
	case cut != nil && cut.Summarized > 0:
		p.takeThinking(w, 0)
		best, err := p.try(ctx, cut, w, 0)
		if err != nil {
			return err
		}
		if p.policy.Name == PresetTurns && at <= 0 && (best.total > p.target() || len(best.out.Rejected) > 0) {
			p.strip(w, cut.at)
			if best, err = p.try(ctx, cut, w, best.tightened); err != nil {
				return err
			}
		}
		if best.total <= p.hard() {
			return p.conclude(ctx, plan, w, best)
		}
	case split && w.total <= p.hard():
		return p.conclude(ctx, plan, w, nil)
	case p.budget.fits(p.reading):
		plan.nothing(none)
		return nil
	}
	plan.Guarded = true
	return p.summarize(ctx, plan, w)
}

// cutPi returns pi's cut, nil for none. none says why there is nothing to summarize, if
// there is no cut or safeCut moves it before everything; so with the other presets.
func (p *planner) cutPi() (cut *Cut, none string) {
	prep, ok := preparePi(p.snap.Path, p.budget.Keep)
	if !ok {
		return nil, "pi finds nothing: all there is belongs to its tail"
	}
	p.piFiles = &prep
	return prep.asCut(), nothingOld
}

// cutSynapse offloads first. Where that is enough, none is "".
func (p *planner) cutSynapse(plan *Plan, w *work) (cut *Cut, none string) {
	start := w.total
	own := p.policy.Synapse.resolved()
	for i := range int(float64(len(w.items)) * own.Scan) {
		it := w.items[i]
		m := it.Message
		if m.Role != message.RoleToolResult || !w.open(i) || StageOf(it.Edit) != "" || len([]rune(m.Text())) <= own.MinChars {
			continue
		}
		if short := m.WithContent([]message.Block{message.TextBlock(p.source(it.Entry).elsewhere())}); p.Message(short) < w.parts[i].cost {
			w.set(i, short, StageOffload)
		}
	}
	freed := start - w.total
	trigger := p.policy.Trigger.Of(p.budget.Window)
	if w.total <= p.hard() && (w.total < trigger || freed >= own.MinFreed || p.stepsSincePass() < own.Cooldown) && plan.Reason != Manual {
		if !w.changed() {
			return nil, "there is nothing to offload, and the last compaction is not long enough ago"
		}
		return nil, ""
	}
	if len(w.items) <= p.policy.KeepMessages {
		return nil, fmt.Sprintf("%d messages are kept as they are", p.policy.KeepMessages)
	}
	why := fmt.Sprintf("the newest %d messages are kept", p.policy.KeepMessages)
	return newCut(p.snap.Context, len(w.items)-p.policy.KeepMessages, p.Message, why), nothingOld
}

func (p *planner) askedCut() int {
	return slices.IndexFunc(p.snap.Context.Items, func(it session.Item) bool {
		return it.Entry.ID == p.policy.FirstKept && it.Entry != p.snap.Context.Compaction
	})
}

func (p *planner) stepsSincePass() int {
	steps := 0
	for _, e := range slices.Backward(p.snap.Path) {
		if e.Type == session.TypeCompaction {
			return steps
		}
		if isAnswer(e) {
			steps++
		}
	}
	return math.MaxInt
}

func (p *planner) cutTurns(w *work) (cut *Cut, none string) {
	turns, at := 0, -1
	for i := len(w.items) - 1; i >= 0; i-- {
		if w.items[i].Message.Role != message.RoleUser {
			continue
		}
		if turns++; turns == p.policy.KeepTurns {
			at = i
			break
		}
	}
	none = fmt.Sprintf("there is nothing old: %d turns are kept as they are", p.policy.KeepTurns)
	if at <= 0 {
		return nil, none
	}
	return newCut(p.snap.Context, at, p.Message, fmt.Sprintf("the newest %d turns are kept", p.policy.KeepTurns)), none
}

// strip takes reasoning, calls and results out of the kept turns, but for the last: its work may be going on.
func (p *planner) strip(w *work, from int) {
	last := len(w.items)
	for last > from && !w.items[last-1].Message.StartsTurn() {
		last--
	}
	last = min(last, openLoop(w.items))
	for _, u := range w.units() {
		pinned := func(it session.Item) bool { return p.pinned[it.Entry.ID] }
		if u.From < from || u.To >= last || slices.ContainsFunc(w.items[u.From:u.To], pinned) {
			continue
		}
		for i := u.From; i < u.To; i++ {
			p.stripOne(w, i)
		}
	}
}

func (p *planner) stripOne(w *work, i int) {
	m := w.parts[i].now
	role := w.items[i].Message.Role
	if !editable(w.items[i]) || role != message.RoleToolResult && role != message.RoleAssistant {
		return
	}
	kept := slices.DeleteFunc(slices.Clone(m.Content), func(b message.Block) bool {
		return role == message.RoleToolResult || b.Type == message.BlockToolCall || b.Type == message.BlockThinking
	})
	if len(kept) == 0 {
		w.take(i, stageStrip)
	} else if len(kept) < len(m.Content) {
		w.set(i, m.WithContent(kept), stageStrip)
	}
}
