package adk

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/parley-run/parley/internal/agentrt"
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
	return root.offer(func(def *definition) (tool.Toolset, error) {
		cfg := skill.Config{Skills: skills}
		if def.Code != nil && !def.Code.BuiltIn {
			run, err := def.Code.config(a)
			if err != nil {
				return nil, fmt.Errorf("the agent %s: codeExecutor: %w", def.Name, err)
			}
			cfg.Executor = run.Executor
		}
		return skill.NewToolset(cfg)
	})
}

// anySkills reports whether an agent of the tree has a SkillToolset.
func (def *definition) anySkills() bool {
	if def.OwnSkills {
		return true
	}
	for _, sub := range def.agents() {
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

// agents returns the agents below this one: sub-agents, and those in the nodes of a
// workflow. Nodes that code makes in a run are not known.
func (def *definition) agents() []*definition {
	all := slices.Clone(def.SubAgents)
	for i := range def.Nodes {
		for n := &def.Nodes[i]; n != nil; n = n.Inner {
			if n.Agent != nil {
				all = append(all, n.Agent)
			}
		}
	}
	return all
}

// offer gives the first agents with a model the toolset that is made for them.
func (def *definition) offer(toolset func(*definition) (tool.Toolset, error)) (err error) {
	if def.Kind == agentrt.KindLLM {
		for _, t := range def.Tools {
			if t.Name == skill.LoadTool || t.Name == skill.ReadTool || t.Name == skill.RunTool && def.Code != nil {
				return fmt.Errorf("the agent %s has a tool %s, which is also the name of a tool for the skills in the directory skills: rename one of the two", def.Name, t.Name)
			}
		}
		def.skills, err = toolset(def)
		return err
	}
	for _, sub := range def.agents() {
		if err := sub.offer(toolset); err != nil {
			return err
		}
	}
	return nil
}

// parseSkill reads a SKILL.md for the code.
func parseSkill(p struct{ Text string }) (any, error) {
	s, err := skill.Parse([]byte(p.Text))
	if err != nil {
		return nil, err
	}
	members := map[string]any{}
	maps.Copy(members, s.Other)
	members["name"], members["description"] = s.Name, s.Description
	for name, value := range map[string]string{"license": s.License, "compatibility": s.Compatibility, "allowed-tools": s.AllowedTools} {
		if value != "" {
			members[name] = value
		}
	}
	if s.Metadata != nil {
		members["metadata"] = s.Metadata
	}
	return map[string]any{"frontmatter": members, "body": s.Instructions}, nil
}

// maxArchive is the size of a skill that the code unpacks.
const maxArchive = 16 << 20

// unpackSkill reads the files of a skill in a ZIP archive for the code.
func unpackSkill(p struct{ Data []byte }) (any, error) {
	archive, err := zip.NewReader(bytes.NewReader(p.Data), int64(len(p.Data)))
	if err != nil {
		return nil, fmt.Errorf("read the archive of a skill: %w", err)
	}
	if len(archive.File) > skill.MaxFiles {
		return nil, fmt.Errorf("read the archive of a skill: it has more than %d files", skill.MaxFiles)
	}
	var document []byte
	files := map[string][]byte{}
	left := int64(maxArchive)
	for _, f := range archive.File {
		if !fs.ValidPath(strings.TrimSuffix(f.Name, "/")) || strings.Contains(f.Name, `\`) {
			return nil, fmt.Errorf("read the archive of a skill: the path %q leads out of it", f.Name)
		}
		top, inside, _ := strings.Cut(f.Name, "/")
		isDocument := strings.EqualFold(f.Name, "skill.md")
		if !isDocument && (inside == "" || !slices.Contains([]string{"references", "assets", "scripts"}, top)) || f.FileInfo().IsDir() || strings.Contains(f.Name, "__pycache__") {
			continue
		}
		data, err := unpack(f, left)
		if err != nil {
			return nil, fmt.Errorf("read the archive of a skill: %s: %w", f.Name, err)
		}
		left -= int64(len(data))
		if isDocument {
			document = data
		} else {
			files[f.Name] = data
		}
	}
	if document == nil {
		return nil, errors.New("read the archive of a skill: there is no SKILL.md at its top")
	}
	if len(document) > skill.MaxDocument {
		return nil, fmt.Errorf("read the archive of a skill: SKILL.md has more than %d bytes", skill.MaxDocument)
	}
	return map[string]any{"document": string(document), "files": files}, nil
}

// unpack reads a file with a limit, whatever size the archive says it has.
func unpack(f *zip.File, most int64) ([]byte, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	data, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("there are more than %d bytes", maxArchive)
	}
	return data, err
}
