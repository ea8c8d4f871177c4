// Small is what a program weighs that serves one agent in memory. With an
// argument, it tries to keep sessions at that URL, or to use a model of that name.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
)

func main() {
	var chosen model.Model = scripted.New(scripted.Say("Hello."))
	cfg := parley.Config{}
	for _, arg := range os.Args[1:] {
		name, value, _ := strings.Cut(arg, "=")
		switch name {
		case "sessions":
			cfg.Sessions.URL = value
		case "artifacts":
			cfg.Artifacts.URL = value
		case "scripts":
			cfg.Scripts.Dir = value
		case "admin":
			cfg.Network.AdminAddr = value
		case "content":
			cfg.Telemetry.Content = true
		case "keyfile":
			cfg.Logins.KeyFile = value
		case "key":
			cfg.Logins.Key = value
		case "kms":
			cfg.Logins.KMS = value
		case "offline":
			cfg.Offline = true
		case "oidc":
			cfg.Access = parley.AccessConfig{Mode: parley.AccessOIDC, OIDC: parley.OIDC{Issuers: []string{value}, Audiences: []string{"small"}}}
		case "ui":
			cfg.UI.Enabled = true
		case "model":
			chosen = model.Named(value)
		}
	}
	root, err := agent.NewLLM(agent.LLMConfig{Name: "greeter", Model: chosen})
	if err != nil {
		log.Fatal(err)
	}
	cfg.Agents = map[string]*agent.Agent{"app": root}
	srv, err := parley.Open(context.Background(), cfg)
	if err != nil {
		log.Fatal(err)
	}
	if len(os.Args) == 1 {
		err = srv.Run(context.Background())
		log.Fatal(err)
	}
	text, err := srv.Ask(context.Background(), "app", "u", "s", "Hi")
	fmt.Println(text, err)
}
