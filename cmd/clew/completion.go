package main

import (
	"strings"

	"github.com/spf13/cobra"
)

var shells = []string{"bash", "fish", "powershell", "zsh"}

func newCompletion() *cobra.Command {
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print a completion script for a shell",
		Long: `completion prints a script with which the shell completes commands, flags
and values of clew. SHELL is bash, fish, powershell or zsh.`,
		Example: `  source <(clew completion bash)
  clew completion zsh > "${fpath[1]}/_clew"
  clew completion fish > ~/.config/fish/completions/clew.fish
  clew completion powershell | Out-String | Invoke-Expression`,
		GroupID:   groupOther,
		Args:      argCount(1, 1),
		ValidArgs: shells,
		RunE: func(cmd *cobra.Command, args []string) error {
			root, w := cmd.Root(), cmd.OutOrStdout()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(w, true)
			case "fish":
				return root.GenFishCompletion(w, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(w)
			case "zsh":
				return root.GenZshCompletion(w)
			}
			return usagef("completion: no shell %q; there are %s", args[0], strings.Join(shells, ", "))
		},
	}
}
