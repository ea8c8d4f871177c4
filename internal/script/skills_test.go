package script

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
)

const tidy = "---\nname: tidy\ndescription: Tidies up.\n---\nSweep as references/how.md says.\n"

// told makes a model that says its instruction and the names of its tools. It calls
// the tool that the user names, if any: "load_skill {...}".
func told(string, json.RawMessage, func(string) string) (model.Model, error) {
	return scripted.Func(func(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
		name, args, ok := strings.Cut(scripted.LastUserText(req), " ")
		if ok && strings.HasPrefix(args, "{") && len(scripted.LastResponses(req)) == 0 {
			var given map[string]any
			if err := json.Unmarshal([]byte(args), &given); err != nil {
				return scripted.Say(err.Error())(ctx, req)
			}
			return scripted.Call(name, given)(ctx, req)
		}
		said := req.Instruction + "\nTools:"
		for _, d := range req.Tools {
			said += " " + d.Name
		}
		return scripted.Say(said)(ctx, req)
	}), nil
}

func toldModels(o *Options) { o.Models = told }

// answer is the last text of an agent's answer.
func answer(t *testing.T, apps *Apps, app, text string) string {
	t.Helper()
	events, err := ask(t.Context(), rootOf(t, apps, app), text)
	if err != nil {
		t.Fatal(err)
	}
	return events[len(events)-1].Content.Text()
}

func TestSkillsBesideTheCode(t *testing.T) {
	files := map[string]string{"references/how.md": "Gently.", "SKILL.md": tidy}
	layouts := map[string]string{
		"typescript/index.ts": `import { LlmAgent } from '@google/adk';
const helper = new LlmAgent({ name: 'helper', model: 'scripted', description: 'Helps.' });
export const rootAgent = new LlmAgent({ name: 'root', model: 'scripted', instruction: 'Help.', subAgents: [helper] });`,
		"workflow/index.ts": `import { LlmAgent, SequentialAgent } from '@google/adk';
const one = new LlmAgent({ name: 'one', model: 'scripted', instruction: 'Help.' });
export const rootAgent = new SequentialAgent({ name: 'root', subAgents: [one] });`,
		"graph/index.ts": `import { LlmAgent, Workflow, node } from '@google/adk';
const one = new LlmAgent({ name: 'one', model: 'scripted', instruction: 'Help.' });
export const rootAgent = new Workflow({ name: 'root', edges: [['START', node(one, { parallelWorker: true })]] });`,
		"config/root_agent.yaml": "name: root\nmodel: scripted\ninstruction: Help.\n",
	}
	all := map[string]string{}
	for name, text := range layouts {
		all[name] = text
		for file, text := range files {
			all[filepath.Dir(name)+"/skills/tidy/"+file] = text
		}
	}
	apps := loadApps(t, write(t, all), toldModels)
	for name := range layouts {
		app := filepath.Dir(name)
		t.Run(app, func(t *testing.T) {
			said := answer(t, apps, app, "hello")
			for _, want := range []string{"<name>tidy</name>", "<description>Tidies up.</description>", " load_skill load_skill_resource"} {
				if !strings.Contains(said, want) {
					t.Errorf("the model is told %s, without %s", said, want)
				}
			}
			for call, want := range map[string]string{
				`load_skill {"name":"tidy"}`: `{"skill_name":"tidy","instructions":"Sweep as references/how.md says.","files":["references/how.md"]}`,
				`load_skill_resource {"skill_name":"tidy","path":"references/how.md"}`: `{"skill_name":"tidy","path":"references/how.md","content":"Gently."}`,
				`load_skill_resource {"skill_name":"tidy","path":"../../index.ts"}`:    `has no file \"../../index.ts\"`,
			} {
				if got := result(t, rootOf(t, apps, app), call); !strings.Contains(got, want) {
					t.Errorf("%s: got %s", call, got)
				}
			}
		})
	}
	// The agents below the root are offered nothing.
	if said := answer(t, apps, "typescript", `transfer_to_agent {"agent_name":"helper"}`); !strings.Contains(said, `"helper"`) || strings.Contains(said, "load_skill") {
		t.Errorf("the helper is told %s", said)
	}
}

func TestSkillsThatAreWrong(t *testing.T) {
	code := source("return 1")
	apps := loadApps(t, write(t, map[string]string{
		"header/index.ts": code, "header/skills/tidy/SKILL.md": "# Tidy",
		"name/index.ts": code, "name/skills/sweep/SKILL.md": tidy,
		"lacks/index.ts": code, "lacks/skills/tidy/SKILL.md": tidy, "lacks/skills/sweep/skill.txt": "x",
		"taken/index.ts": strings.ReplaceAll(code, "'fine'", "'load_skill'"), "taken/skills/tidy/SKILL.md": tidy,
		"other/index.ts": code, "other/skills/index.ts": "export const skills = [];", "other/skills/data/x.json": "[]",
	}))
	for app, want := range map[string]string{
		"header": "skills: skill tidy: SKILL.md: the file must begin with front matter",
		"name":   `skills: skill sweep: SKILL.md: the name "tidy" is not that of the directory`,
		"lacks":  "skills: skill sweep: ",
		"taken":  "the agent root has a tool load_skill",
	} {
		if _, _, err := apps.Agent(app); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", app, err, want)
		}
	}
	rootOf(t, apps, "other") // a directory without a SKILL.md is something else
}

// A skill cannot be read from outside of the application.
func TestSkillsStayInside(t *testing.T) {
	dir := write(t, map[string]string{"a/index.ts": source("return 1"), "b/index.ts": source("return 1"), "b/skills/tidy/SKILL.md": tidy})
	if err := os.Symlink("../b/skills", filepath.Join(dir, "a", "skills")); err != nil {
		t.Skip(err)
	}
	apps := loadApps(t, dir)
	if _, _, err := apps.Agent("a"); err == nil || !strings.Contains(err.Error(), "skills") {
		t.Errorf("got %v", err)
	}
}

func TestReloadOfSkills(t *testing.T) {
	dir := write(t, map[string]string{"index.ts": source("return 1"), "skills/tidy/SKILL.md": tidy})
	var log journal
	apps := loadApps(t, dir, toldModels, func(o *Options) {
		o.Reload = true
		o.Log = slog.New(slog.NewTextHandler(&log, nil))
	})
	change := changer(t, dir, &log)
	says := func(want string) {
		t.Helper()
		if got := answer(t, apps, "app", "hello"); !strings.Contains(got, want) {
			t.Errorf("the model is told %s, without %s", got, want)
		}
	}
	change("skills/tidy/SKILL.md", strings.ReplaceAll(tidy, "Tidies up.", "Cleans."), "was reloaded")
	says("<description>Cleans.</description>")
	change("skills/tidy/SKILL.md", "# Tidy", "the version before is still served")
	says("<description>Cleans.</description>")
	change("skills/tidy/SKILL.md", tidy, "was reloaded")
	change("skills/tidy/new.md", "x", "was reloaded")
	if got := result(t, rootOf(t, apps, "app"), `load_skill {"name":"tidy"}`); !strings.Contains(got, `"files":["new.md"]`) {
		t.Errorf("got %s", got)
	}
	if err := os.Mkdir(filepath.Join(dir, "skills", "sweep"), 0o755); err != nil {
		t.Fatal(err)
	}
	log.waitFor(t, "the version before is still served")
	change("skills/sweep/SKILL.md", strings.ReplaceAll(tidy, "name: tidy", "name: sweep"), "was reloaded")
	says("<name>sweep</name>")
}

// An archive may be made to lead out of it, or to have any size when it is
// unpacked.
func TestSkillArchives(t *testing.T) {
	pack := func(files ...string) string {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		for i := 0; i < len(files); i += 2 {
			f, err := w.Create(files[i])
			if err != nil {
				t.Fatal(err)
			}
			_, _ = f.Write([]byte(files[i+1]))
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return base64.StdEncoding.EncodeToString(b.Bytes())
	}
	for _, test := range []struct{ name, data, want string }{
		{"fine", pack("SKILL.md", tidy, "references/", "", "references/a/how.md", "Gently.", "scripts/x.py", "print()", "other/x", "x"), `{"names":["a/how.md","x.py"],"name":"tidy"}`},
		{"nothing", base64.StdEncoding.EncodeToString([]byte("x")), "read the archive of a skill"},
		{"no SKILL.md", pack("a/SKILL.md", tidy), "there is no SKILL.md at its top"},
		{"up", pack("SKILL.md", tidy, "references/../../x", "x"), "leads out of it"},
		{"absolute", pack("SKILL.md", tidy, "/etc/x", "x"), "leads out of it"},
		{"backslashes", pack("SKILL.md", tidy, `references\..\x`, "x"), "leads out of it"},
		{"bomb", pack("SKILL.md", tidy, "assets/zeros", strings.Repeat("\x00", 17<<20)), "more than 16777216 bytes"},
		{"wrong", pack("SKILL.md", "# Tidy"), "must begin with front matter"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := write(t, map[string]string{"index.ts": "import { loadSkillFromZipBuffer } from '@google/adk';\n" + source(`
				const { frontmatter, resources: r } = loadSkillFromZipBuffer(Buffer.from(`+"`"+test.data+"`"+`, 'base64'));
				return { names: [...Object.keys(r.references), ...Object.keys(r.scripts)], name: frontmatter.name };`)})
			if got := result(t, rootOf(t, loadApps(t, dir), "app"), "fine"); !strings.Contains(got, test.want) {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// Code that has a SkillToolset decides itself which agents are offered which skills.
func TestSkillToolsetBesideSkills(t *testing.T) {
	dir := write(t, map[string]string{
		"index.ts": `import { LlmAgent, SkillToolset, loadAllSkillsInDir } from '@google/adk';
const all = await loadAllSkillsInDir('./skills');
const helper = new LlmAgent({ name: 'helper', model: 'scripted', tools: [new SkillToolset([all.tidy])] });
export const rootAgent = new LlmAgent({ name: 'root', model: 'scripted', subAgents: [helper] });`,
		"skills/tidy/SKILL.md": tidy, "skills/wrong/SKILL.md": "# Wrong",
	})
	apps := loadApps(t, dir, toldModels)
	if said := answer(t, apps, "app", "hello"); !strings.Contains(said, "Tools:") || strings.Contains(said, "load_skill") {
		t.Errorf("the root is told %s", said)
	}
	if said := answer(t, apps, "app", `transfer_to_agent {"agent_name":"helper"}`); !strings.Contains(said, "<name>tidy</name>") || !strings.Contains(said, "list_skills load_skill load_skill_resource run_skill_script") {
		t.Errorf("the helper is told %s", said)
	}
}
