package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/clew-dev/clew/model"
)

// Kinds returns all kinds of events.
func Kinds() []Kind {
	return []Kind{
		KindState, KindEntry, KindTurnStart, KindTurnEnd, KindRequest, KindDelta, KindDiscard, KindToolStart, KindToolOutput,
		KindToolEnd, KindAsk, KindAsked, KindCompactionStart, KindCompactionEnd, KindRetry, KindQueue, KindMoved, KindWarning,
		KindError, KindClosed,
	}
}

// IsCancelled reports whether something failed because Cancel or Close ended it, or the
// context that it was called with.
func IsCancelled(err error) bool {
	return errors.Is(err, errCancelled) || errors.Is(err, errShut) || errors.Is(err, context.Canceled)
}

// Reasonings are the levels of reasoning by name, the least first.
func Reasonings() []model.Reasoning {
	return []model.Reasoning{
		model.ReasoningNone, model.ReasoningMinimal, model.ReasoningLow, model.ReasoningMedium,
		model.ReasoningHigh, model.ReasoningXHigh, model.ReasoningMax,
	}
}

// levelDefault is the name of model.ReasoningDefault: the model does as it does by itself.
const levelDefault = "default"

// ParseReasoning returns the level of a name; "default" is as the model does by itself.
func ParseReasoning(name string) (model.Reasoning, error) {
	if name == levelDefault {
		return model.ReasoningDefault, nil
	}
	if r := model.Reasoning(name); slices.Contains(Reasonings(), r) {
		return r, nil
	}
	names := []string{levelDefault}
	for _, r := range Reasonings() {
		names = append(names, string(r))
	}
	return "", fmt.Errorf("there is no level of reasoning %q; there are %s", name, strings.Join(names, ", "))
}
