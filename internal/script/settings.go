package script

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/parley-run/parley/internal/bounded"
	"github.com/parley-run/parley/internal/script/bundle"
	"github.com/parley-run/parley/internal/script/engine"
	"github.com/parley-run/parley/tool"
)

// settings are the member "parley" of the package.json of an application.
type settings struct {
	// CredentialCall is the name of the call that asks for a login. An App may
	// choose another one.
	CredentialCall string `json:"credentialCall"`
	// EngineMemory is how many bytes each of its engines may use; 0 for as many as
	// the operator allows.
	EngineMemory int64 `json:"engineMemory"`
	// Engine runs its code: "quickjs" or "node"; empty for what the operator has
	// chosen.
	Engine string `json:"engine"`
}

// target returns what runs the application. Only the operator can allow a process,
// which has the rights of the server.
func (s settings) target(byDefault string, processes bool) (bundle.Target, error) {
	switch cmp.Or(s.Engine, byDefault) {
	case "", "quickjs":
		return bundle.QuickJS, nil
	case "node":
		if byDefault != "node" && !processes {
			return 0, errors.New(`package.json: parley.engine: "node" starts a process, which the operator of the server can allow (--allow_processes)`)
		}
		return bundle.Node, nil
	}
	return 0, fmt.Errorf(`package.json: parley.engine: %q is neither "quickjs" nor "node"`, s.Engine)
}

// limit returns the limits of the application's engines, of those that the operator
// allows.
func (s settings) limit(allowed engine.Limits) (engine.Limits, error) {
	switch {
	case s.EngineMemory < 0:
		return allowed, errors.New("package.json: parley.engineMemory must not be negative")
	case s.EngineMemory > allowed.Memory:
		return allowed, fmt.Errorf("package.json: parley.engineMemory: the server allows %s; its operator can allow more (--engine_memory)", bounded.Size(allowed.Memory))
	case s.EngineMemory > 0:
		allowed.Memory = s.EngineMemory
	}
	return allowed, nil
}

// maxPackage is more than any package.json needs.
const maxPackage = 1 << 20

// settingsOf reads the settings of the application in dir.
func settingsOf(dir string, within bundle.Bounds) (s settings, file string, err error) {
	file = filepath.Join(dir, "package.json")
	f, err := within.Open(file)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, bundle.ErrOutside) { // the bundler reports the latter, if it matters
		return s, file, nil
	}
	if err != nil {
		return s, file, err
	}
	defer f.Close()
	var doc struct {
		Parley settings `json:"parley"`
	}
	text, err := io.ReadAll(io.LimitReader(f, maxPackage))
	if err == nil {
		err = json.Unmarshal(text, &doc)
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return s, file, fmt.Errorf("package.json: %s must not be a %s", wrong.Field, wrong.Value)
	}
	if err != nil {
		return s, file, nil
	}
	if name := doc.Parley.CredentialCall; name != "" && !tool.IsCredentialCall(name) {
		return s, file, fmt.Errorf("package.json: parley.credentialCall: %q is neither %s nor %s", name, tool.CredentialCall, tool.CredentialCallADK)
	}
	return doc.Parley, file, nil
}
