// Package all links everything that a server can have: session stores, artifact
// services, models, agents in TypeScript, the developer UI, OpenID Connect, service
// accounts of Google Cloud, keysets, and traces and metrics with their export. A program that
// imports it can do what the command parley does:
//
//	import _ "github.com/parley-run/parley/all"
//
// A program that needs less imports the packages that it uses, and is smaller.
package all

import (
	_ "github.com/parley-run/parley/artifact/gcs"        // gs://
	_ "github.com/parley-run/parley/artifact/s3"         // s3://
	_ "github.com/parley-run/parley/credential/google"   // application default credentials
	_ "github.com/parley-run/parley/credential/keyset"   // Logins.KeyFile
	_ "github.com/parley-run/parley/credential/openid"   // Access.OIDC, logins with OpenID Connect
	_ "github.com/parley-run/parley/devui"               // the developer UI
	_ "github.com/parley-run/parley/faces"               // AG-UI, AI SDK, OpenAI
	_ "github.com/parley-run/parley/model/anthropic"     // claude-…
	_ "github.com/parley-run/parley/model/gemini"        // gemini-…
	_ "github.com/parley-run/parley/model/offline"       // Config.Offline
	_ "github.com/parley-run/parley/model/openai"        // gpt-…, ollama/…
	_ "github.com/parley-run/parley/otlp"                // exports of traces and metrics
	_ "github.com/parley-run/parley/session/agentengine" // agentengine://
	_ "github.com/parley-run/parley/session/postgres"    // postgres://
	_ "github.com/parley-run/parley/session/sqlite"      // sqlite://
	_ "github.com/parley-run/parley/telemetry"           // metrics and traces
	_ "github.com/parley-run/parley/typescript"          // agents in TypeScript
)
