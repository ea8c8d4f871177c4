package bundle

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
	"github.com/goccy/go-yaml"
)

// An agent may be declared in YAML (Agent Config). Such a file is translated to
// a TypeScript module, in which references to code are imports.

// yamlModule collects what the module of one file imports.
type yamlModule struct {
	dir     string
	imports []string
}

func (s *sources) loadYAML(a api.OnLoadArgs) (api.OnLoadResult, error) {
	text, err := s.file(a.Path)
	if err != nil {
		return api.OnLoadResult{}, err
	}
	code, err := yamlCode(filepath.Dir(a.Path), text)
	if err != nil {
		return api.OnLoadResult{Errors: []api.Message{{ //nolint:nilerr // esbuild reports it
			Text: err.Error(), Location: &api.Location{File: filepath.Base(a.Path), Line: 1},
		}}}, nil
	}
	return api.OnLoadResult{Contents: &code, Loader: api.LoaderTS, ResolveDir: filepath.Dir(a.Path)}, nil
}

// yamlCode translates a config to a module, which exports the agent as rootAgent.
func yamlCode(dir string, text []byte) (string, error) {
	var cfg map[string]any
	if err := yaml.Unmarshal(text, &cfg); err != nil {
		return "", fmt.Errorf("not an agent config: %w", err)
	}
	m := &yamlModule{dir: dir}
	agent, err := m.agent(cfg)
	if err != nil {
		return "", err
	}
	return strings.Join(m.imports, "\n") + "\nexport const rootAgent = " + agent + ";\n", nil
}

// yamlOptions are the members of a config and the options that they become.
var yamlOptions = map[string]string{
	"name": "name", "description": "description", "model": "model", "instruction": "instruction",
	"output_key": "outputKey", "include_contents": "includeContents", "max_iterations": "maxIterations",
	"disallow_transfer_to_parent": "disallowTransferToParent", "disallow_transfer_to_peers": "disallowTransferToPeers",
}

// yamlClasses are the kinds of agents.
var yamlClasses = map[string]string{
	"": "LlmAgent", "LlmAgent": "LlmAgent", "LoopAgent": "LoopAgent",
	"ParallelAgent": "ParallelAgent", "SequentialAgent": "SequentialAgent",
}

// agent is the expression that makes the agent of a config.
func (m *yamlModule) agent(cfg map[string]any) (string, error) {
	name, _ := cfg["agent_class"].(string)
	class, builtIn := yamlClasses[name]
	if builtIn {
		class = m.use("@google/adk", class)
	} else {
		class = m.reference(name)
	}
	var options []string
	for _, key := range slices.Sorted(maps.Keys(cfg)) {
		value := cfg[key]
		var option string
		var err error
		switch {
		case key == "agent_class":
			continue
		case yamlOptions[key] != "":
			option, err = literal(value)
			key = yamlOptions[key]
		case key == "generate_content_config":
			option, err = literal(camelKeys(value))
			key = "generateContentConfig"
		case key == "sub_agents":
			option, err = m.list(value, m.subAgent)
			key = "subAgents"
		case key == "tools":
			option, err = m.list(value, m.tool)
		case strings.HasSuffix(key, "_callbacks"):
			option, err = m.list(value, m.code)
			key = camelName(strings.TrimSuffix(key, "s"))
		case key == "input_schema" || key == "output_schema" || key == "model_code":
			option, err = m.code(value)
			key = map[string]string{"input_schema": "inputSchema", "output_schema": "outputSchema", "model_code": "model"}[key]
		default:
			err = fmt.Errorf("%q is not a member of an agent config", key)
		}
		if err != nil {
			return "", err
		}
		options = append(options, key+": "+option)
	}
	return "new " + class + "({" + strings.Join(options, ", ") + "})", nil
}

// literal is a value of the config as it is.
func literal(value any) (string, error) {
	text, err := json.Marshal(value)
	return string(text), err
}

func (m *yamlModule) list(value any, each func(any) (string, error)) (string, error) {
	items, ok := value.([]any)
	if !ok {
		return "", fmt.Errorf("a list is expected, not %v", value)
	}
	out := make([]string, len(items))
	for i, item := range items {
		var err error
		if out[i], err = each(item); err != nil {
			return "", err
		}
	}
	return "[" + strings.Join(out, ", ") + "]", nil
}

// subAgent is an agent in a file of its own, or in code.
func (m *yamlModule) subAgent(value any) (string, error) {
	entry, _ := value.(map[string]any)
	if path, ok := entry["config_path"].(string); ok {
		return m.use("./"+filepath.ToSlash(filepath.Clean(path)), "rootAgent"), nil
	}
	if code, ok := entry["code"].(string); ok {
		return m.reference(code), nil
	}
	return "", fmt.Errorf("a sub-agent needs config_path or code, not %v", value)
}

// yamlTools are tools that have a name of their own in a config.
var yamlTools = map[string]string{
	"google_search": "GOOGLE_SEARCH", "google_maps_grounding": "GOOGLE_MAPS_GROUNDING", "load_artifacts": "LOAD_ARTIFACTS",
	"url_context": "URL_CONTEXT", "exit_loop": "EXIT_LOOP", "preload_memory": "PRELOAD_MEMORY", "load_memory": "LOAD_MEMORY",
	"get_user_choice": "getUserChoiceTool", "enterprise_web_search": "ENTERPRISE_WEB_SEARCH", "load_web_page": "LOAD_WEB_PAGE",
	"request_input": "requestInputTool",
}

func (m *yamlModule) tool(value any) (string, error) {
	entry, _ := value.(map[string]any)
	name, _ := entry["name"].(string)
	args, _ := entry["args"].(map[string]any)
	switch {
	case name == "":
		return "", fmt.Errorf("a tool needs a name, not %v", value)
	case yamlTools[name] != "":
		return m.use("@google/adk", yamlTools[name]), nil
	case name == "AgentTool":
		agent, err := m.subAgent(args["agent"])
		return "new " + m.use("@google/adk", name) + "({agent: " + agent + "})", err
	case name == "McpToolset" || name == "MCPToolset":
		options, err := literal(args)
		return "new " + m.use("@google/adk", "MCPToolset") + "(" + options + ")", err
	case name == "LongRunningFunctionTool":
		fn, _ := args["func"].(string)
		return "new " + m.use("@google/adk", name) + "(" + m.reference(fn) + ")", nil
	}
	return m.code(value)
}

// code is a reference to something in the author's files, called with its
// arguments if it has any.
func (m *yamlModule) code(value any) (string, error) {
	entry, _ := value.(map[string]any)
	name, _ := entry["name"].(string)
	if text, ok := value.(string); ok {
		name = text
	}
	if name == "" {
		return "", fmt.Errorf("a reference to code needs a name, not %v", value)
	}
	expression := m.reference(name)
	if args, ok := entry["args"]; ok {
		text, err := literal(args)
		return expression + "(" + text + ")", err
	}
	return expression, nil
}

// reference imports what a dotted name leads to: tools.checkPrime is the export
// checkPrime of ./tools. The name of the agent's own directory may stand first.
func (m *yamlModule) reference(name string) string {
	parts := strings.Split(name, ".")
	if len(parts) > 2 && parts[0] == filepath.Base(m.dir) {
		parts = parts[1:]
	}
	last := len(parts) - 1
	module := "./index"
	if last > 0 {
		module = "./" + strings.Join(parts[:last], "/")
	}
	return m.use(module, parts[last])
}

// use imports a name, and returns the one that it has here.
func (m *yamlModule) use(module, name string) string {
	local := fmt.Sprintf("_%d", len(m.imports))
	m.imports = append(m.imports, fmt.Sprintf("import { %s as %s } from %s;", name, local, quote(module)))
	return local
}

// camelKeys turns snake_case keys into the camelCase of options, all the way
// down.
func camelKeys(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, one := range v {
			out[camelName(key)] = camelKeys(one)
		}
		return out
	case []any:
		for i := range v {
			v[i] = camelKeys(v[i])
		}
	}
	return value
}

func camelName(name string) string {
	head, rest, more := strings.Cut(name, "_")
	if !more || rest == "" {
		return head
	}
	return head + strings.ToUpper(rest[:1]) + camelName(rest[1:])
}
