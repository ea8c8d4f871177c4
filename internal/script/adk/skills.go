package adk

import (
	"fmt"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/tool"
	"github.com/parley-run/parley/tool/skill"
)

// offerSkills gives the skills beside the code to the root agent, or to the agents
// below it that are the first with a model. Code with a SkillToolset decides
// itself what its agents are offered.
func (a *App) offerSkills(root *definition) error {
	if a.Skills == nil || root.anySkills() {
		return nil
	}
	skills, err := a.Skills()
	if err != nil || len(skills) == 0 {
		return err
	}
	set, err := skill.NewToolset(skill.Config{Skills: skills})
	if err != nil {
		return err
	}
	return root.offer(set)
}

// anySkills reports whether an agent of the tree has a SkillToolset.
func (def *definition) anySkills() bool {
	if def.OwnSkills {
		return true
	}
	for _, sub := range def.SubAgents {
		if sub.anySkills() {
			return true
		}
	}
	for _, t := range def.Tools {
		if t.Agent != nil && t.Agent.anySkills() {
			return true
		}
	}
	return false
}

func (def *definition) offer(set tool.Toolset) error {
	if def.Kind == agent.KindLLM {
		for _, t := range def.Tools {
			if t.Name == skill.LoadTool || t.Name == skill.ReadTool {
				return fmt.Errorf("the agent %s has a tool %s, which is also the name of a tool for the skills in the directory skills: rename one of the two", def.Name, t.Name)
			}
		}
		def.skills = set
		return nil
	}
	for _, sub := range def.SubAgents {
		if err := sub.offer(set); err != nil {
			return err
		}
	}
	return nil
}
