package a2a

import (
	"encoding/json"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/internal/agentrt"
)

// extends reports whether there is an extended card: the server knows its callers.
func (h handler) extends() bool { return len(h.Issuers()) > 0 || h.TakesKeys() }

// extendedCard answers with the card for callers that are authenticated. In addition to
// the public one, it has a skill for each tool and each agent below the root.
func (x *exchange) extendedCard([]byte) error {
	switch {
	case x.extends():
	case x.v != v1:
		return fail(cardNotConfigured, "There is no extended card: the public one has everything")
	default:
		return fail(unsupported, "There is no extended card: the public one has everything")
	}
	c, err := x.publicCard(x.r, x.app, x.v != v1)
	if err != nil {
		return err
	}
	root, err := x.Agent(x.app)
	if err != nil {
		return err
	}
	c.Skills = append(c.Skills, toolSkills(root)...)
	c.Skills = agentSkills(c.Skills, root)
	doc, err := json.Marshal(c)
	if err != nil {
		return err
	}
	x.w.Header().Set("Cache-Control", "private, max-age=300")
	return x.reply(doc)
}

// agentSkills appends the skills of the agents below an agent.
func agentSkills(list []skill, above *agent.Agent) []skill {
	for _, a := range above.SubAgents() {
		list = append(list, skillOf(a.Name(), a.Name(), a.Description(), "agent"))
		list = agentSkills(append(list, toolSkills(a)...), a)
	}
	return list
}

// toolSkills returns the skills of the tools of an agent. Names of tools are unique
// within one agent only.
func toolSkills(a *agent.Agent) []skill {
	info, _ := agentrt.InfoOf(a)
	var list []skill
	for _, d := range info.Tools {
		list = append(list, skillOf(a.Name()+"-"+d.Name, d.Name, d.Description, "tool"))
	}
	return list
}

func skillOf(id, name, description, tag string) skill {
	if description == "" {
		description = "The " + tag + " " + name + "."
	}
	return skill{ID: id, Name: name, Description: description, Tags: []string{tag}}
}
