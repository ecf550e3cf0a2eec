package builtin

import (
	"context"

	"github.com/clew-dev/clew/agent/tool"
	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/recall"
	"github.com/clew-dev/clew/model"
)

func (s *Set) recallTool() tool.Tool {
	about := recall.AgentTool()
	return &one{
		spec: model.Tool{Name: about.Name, Description: about.Description, Parameters: about.Schema},
		effect: func(a arguments) (tool.Effect, error) {
			line := about.Name
			for _, name := range []string{"id", "query", "path", "tool", "role"} {
				if what := jsonx.StringAt(a.object, name); what != "" {
					line += " " + what
					break
				}
			}
			return tool.Effect{Kind: tool.Read, Line: line}, nil
		},
		run: func(ctx context.Context, a arguments, _ tool.Call) (tool.Result, error) {
			text, err := s.recall(ctx, a.object)
			if err != nil {
				return tool.Result{}, err
			}
			return tool.Text(text), nil
		},
	}
}
