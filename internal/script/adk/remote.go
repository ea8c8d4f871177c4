package adk

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/agent/a2a"
)

// remote makes an agent of another server. Its card is read when it is first used:
// an application must load even if the other server is not available.
func (a *App) remote(def *definition, cfg agent.Config) (*agent.Agent, error) {
	where := a2a.Config{CardJSON: def.Card}
	var text string
	if json.Unmarshal(def.Card, &text) == nil {
		where = a2a.Config{Card: text}
		if !strings.HasPrefix(text, "http://") && !strings.HasPrefix(text, "https://") {
			path, err := a.Locate(text)
			if err != nil {
				return nil, fmt.Errorf("the agent %s: agentCard: %w", def.Name, err)
			}
			if where.CardJSON, err = os.ReadFile(path); err != nil { //nolint:gosec // Locate finds files of the application only
				return nil, fmt.Errorf("the agent %s: agentCard: %w", def.Name, err)
			}
		}
	}
	remote, err := a2a.New(where)
	if err != nil {
		return nil, fmt.Errorf("the agent %s: agentCard: %w", def.Name, err)
	}
	return agent.NewRemote(agent.RemoteConfig{Config: cfg, Remote: remote})
}
