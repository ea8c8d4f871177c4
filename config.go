package parley

import (
	"io"
	"log/slog"
	"time"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/session"
)

// Config says what to serve and how. The zero value of every field works,
// except that there must be something to serve.
type Config struct {
	// Agents are the applications that are written in Go: root agents by the
	// name of the application.
	Agents map[string]*agent.Agent
	// Scripts are the applications that are written in TypeScript.
	Scripts ScriptConfig
	// Models are models that agents may use by these names, beside those that
	// are built in; see model.Named.
	Models map[string]model.Model
	// Offline replaces the models that agents name by one that needs no key and
	// no network. It needs package model/offline.
	Offline bool

	Sessions  SessionConfig
	Artifacts ArtifactConfig
	Logins    LoginConfig
	Access    AccessConfig
	Limits    Limits
	// PriceFile has prices of models, in place of the built-in ones or beside them;
	// docs/cost.md describes it. It may be empty.
	PriceFile string
	Network   NetworkConfig
	// Inbox has rules for what waits for people.
	Inbox     InboxConfig
	UI        UIConfig
	Telemetry TelemetryConfig
	Recording RecordingConfig
	// Evaluations says where evaluation sets of the applications in Agents are.
	Evaluations EvaluationConfig

	// Now is the clock of the timestamps of events; nil means time.Now. Leases use the
	// clock of the database.
	Now func() time.Time
	// Log receives log records; nil means warnings and errors, as text, on standard
	// error.
	Log *slog.Logger
	// Stdout receives the lines that tell where the server listens and what it
	// serves; nil means the standard output of the process.
	Stdout io.Writer
	// Verbose adds the address of each face to the lines on Stdout.
	Verbose bool
}

// ScriptConfig configures the applications that are written in TypeScript.
type ScriptConfig struct {
	// Dir is a directory with one application, or with several, each in a
	// directory of its own. Empty means that there are none.
	Dir string
	// AppName is the name of a single application in Dir; empty means that of
	// its directory.
	AppName string
	// Reload picks up changes of the files in Dir.
	Reload bool
	// Engines is how many JavaScript engines each application has; more than
	// one only for applications that are heavy on CPU, since they share no
	// variables. 0 means one.
	Engines int
	// Engine runs the applications whose package.json does not name one; empty means
	// EngineQuickJS.
	Engine Engine
	// EngineMemory is how many bytes of memory each JavaScript engine may use; 0
	// means 256 MiB. An application can have less: "parley": {"engineMemory": N} in its
	// package.json.
	EngineMemory int64
	// ScratchSize is how many bytes the code of an application may keep in files
	// below os.tmpdir(); 0 means 256 MiB, a negative one means none. They are
	// deleted when the server is closed.
	ScratchSize int64
	// AllowHosts are what the code of the applications may connect to, beside the
	// public internet: names and addresses, such as "db.internal:5432", with any port
	// if there is none, and networks, such as "10.0.0.0/8". The single entry "public" means
	// nothing beside the public internet. Empty means that it may connect to every
	// address. Applications with the engine "node" cannot be limited, and are refused.
	AllowHosts []string
	// AllowProcesses lets the applications start processes: MCP servers that
	// speak on their standard input and output, and Node.js for those that name it
	// as their engine. They run as the user that the server runs as.
	AllowProcesses bool
	// CacheDir keeps compiled code from one start to the next; empty means that
	// it is not kept.
	CacheDir string
}

// Engine is what runs the JavaScript of applications.
type Engine string

const (
	// EngineQuickJS runs in the process of the server.
	EngineQuickJS Engine = "quickjs"
	// EngineNode is a process of Node.js for each application. It has the rights of the user
	// that the server runs as.
	EngineNode Engine = "node"
)

// SessionConfig configures sessions and their runs.
type SessionConfig struct {
	// URL says where sessions and runs are kept: empty means in memory, until
	// the process ends; sqlite:///path/to/file.db in a file; postgres://… in a
	// database that any number of servers may share; and agentengine://ID or
	// agentengine://projects/…/reasoningEngines/ID with the session service of
	// Google Cloud, which keeps sessions, but no runs.
	//
	// Several postgres://… URLs, separated by commas, are databases that each have
	// some of the users; see Move.
	URL string
	// TTL is how long a session is kept after its last change; 0 means forever.
	TTL time.Duration
	// WaitTTL is how long a run waits for an answer: to a login, a confirmation,
	// a question, or a call of a long-running tool. An answer that comes later is
	// refused, and the run has failed. 0 means 7 days; a negative one means for as
	// long as the session exists.
	WaitTTL time.Duration
	// RunLease is how long the server that works on a run in a database may go
	// without renewing its lease, before another server takes the run over; 0
	// means 10 seconds.
	RunLease time.Duration
	// Passive means that the server works only on runs that were started on it: it takes
	// over no runs of other servers that use the database, and leaves the deletion of old
	// sessions, webhooks and push notifications to them. It creates no database: that of URL must exist.
	Passive bool
	// OnBusy is what happens to a message whose session has a run already,
	// unless the request says otherwise; empty means session.Enqueue.
	OnBusy session.Policy
	// OnDisconnect is what happens to a run whose client disconnects, unless
	// the request says otherwise; empty means DisconnectContinue.
	OnDisconnect Disconnect
}

// Disconnect is what happens to a run whose client disconnects.
type Disconnect string

// The values of Disconnect.
const (
	DisconnectContinue Disconnect = "continue" // it continues
	DisconnectCancel   Disconnect = "cancel"   // it is cancelled
)

// RecordingConfig configures what is kept of runs beside the log, so that they can be
// repeated exactly: the requests to models, and the answers of models and tools before
// callbacks change them.
type RecordingConfig struct {
	// Share is the part of runs that is recorded, from 0 to 1. 0 means all if the
	// server has the developer UI and Access.Mode is AccessLocal, and none otherwise. A
	// negative one means none.
	Share float64
	// TTL is how long recordings are kept; 0 means 7 days, a negative one means as long
	// as their sessions.
	TTL time.Duration
}

// ArtifactConfig configures the files of sessions and users.
type ArtifactConfig struct {
	// URL says where they are kept: memory://, file:///path/to/directory,
	// s3://bucket or gs://bucket. Empty means as lasting as the sessions: in
	// memory, or in a directory beside the file of SQLite. With Postgres, it has
	// to be given before files can be saved.
	URL string
	// MaxBytes is the largest file that can be saved over HTTP, as it is or in
	// JSON; 0 means 1 GiB. A text in JSON, and what is beside a file in it, cannot
	// be larger than Limits.BodyBytes.
	MaxBytes int64
	// SaveInput keeps the files in messages of users as artifacts, and leaves
	// only their names in the conversation, unless the request says otherwise.
	SaveInput bool
}

// LoginConfig configures the logins of users, for tools that need them.
type LoginConfig struct {
	// Key seals the logins: 32 bytes in base64, or a keyset of Tink as JSON, which needs
	// package credential/keyset. KeyFile is the path of a file with either. If both are
	// empty, a key is made for sessions in memory and, beside
	// the file, for those in SQLite; with Postgres, agents with tools that need a
	// login are refused.
	Key     string
	KeyFile string
	// KMS is the key of a key management service that the keyset is encrypted
	// with, such as "aws-kms://arn:aws:kms:…" or "gcp-kms://projects/…". The
	// service is called once, at the start. It needs a program that is built with
	// -tags kms.
	KMS string
	// PerUser keeps a login for all sessions of the user, not only for the one
	// that asked for it.
	PerUser bool
	// Call is the name of the function call with which a user is asked to log
	// in; empty means LoginCallParley.
	Call LoginCall
	// AllowPrivate are networks, such as "10.0.0.0/8", in which login providers
	// may be. Others are called on public addresses only and, with AccessLocal, on
	// this machine.
	AllowPrivate []string
	// Timeout is how long a login provider may take to answer; 0 means 15
	// seconds.
	Timeout time.Duration
}

// LoginCall is the name of the function call with which a user is asked to log
// in.
type LoginCall string

// The values of LoginCall. The second one is for clients that look for it.
const (
	LoginCallParley LoginCall = "svc_request_credential"
	LoginCallADK    LoginCall = "adk_request_credential"
)

// AccessConfig configures who may call.
type AccessConfig struct {
	// Mode is who may call. Empty means AccessLocal, and AccessPlatform if other
	// machines can reach the server because Run listens where PORT says, as
	// NetworkConfig.Host describes, or because of the listener that Serve gets.
	Mode AccessMode
	// OIDC says which identity tokens are accepted, with AccessOIDC.
	OIDC OIDC
	// UserHeader is the header in which the platform in front says which user a
	// caller is, with AccessPlatform; empty means that callers may be any user.
	UserHeader string
	// Proxied says that, with AccessPublic, all requests come through a proxy,
	// which puts the address of the caller last in X-Forwarded-For: limits count
	// by that.
	Proxied bool
	// KeysURL says where API keys are kept, with AccessKeys, as
	// SessionConfig.URL does for sessions; empty means beside the sessions.
	KeysURL string
}

// AccessMode is who may call a server. It decides where Run may listen, and
// whether requests have to name a loopback host.
type AccessMode string

// The values of AccessMode.
const (
	// AccessLocal is for programs on the same machine.
	AccessLocal AccessMode = "local"
	// AccessPublic is for everyone who can reach the server.
	AccessPublic AccessMode = "public"
	// AccessPlatform leaves it to what is in front of the server, such as a
	// hosting platform or a proxy, to check who may call.
	AccessPlatform AccessMode = "platform"
	// AccessOIDC is for callers with an identity token of AccessConfig.OIDC. It needs
	// package credential/openid.
	AccessOIDC AccessMode = "oidc"
	// AccessKeys is for callers with an API key.
	AccessKeys AccessMode = "keys"
)

// OIDC says which identity tokens are accepted, and what they mean.
type OIDC struct {
	// Issuers are the addresses of those whose tokens are accepted, such as
	// "https://accounts.google.com". When there are several, all but one have a
	// name, as in "partner=https://login.example.com", which their users have
	// before their id, as in "partner:1234".
	Issuers []string
	// Audiences are the accepted audiences of tokens. At least one is required,
	// unless ClientID is set.
	Audiences []string
	// UserClaim is the claim that is the id of the user; empty means "sub". An
	// "email" counts if the issuer has verified it.
	UserClaim string
	// Admins are claims, such as "groups=operators", of callers who may do
	// everything; Delegates of those who may act for any user. They count in tokens
	// of the issuer without a name; those of another one have its name before
	// them, as in "partner:groups=operators".
	Admins, Delegates []string
	// Readers are claims of callers who may look at what any user has, and change
	// nothing; Reviewers of those who may also give feedback. If a caller is also an
	// administrator or a delegate, that takes precedence.
	Readers, Reviewers []string
	// ClientID identifies this server at the first of the Issuers. If it is set,
	// users of the developer UI sign in there, and the issuer sends them back to
	// /dev-ui/signin/callback, below NetworkConfig.PublicURL. Tokens for ClientID
	// are accepted without an entry in Audiences. ClientSecret, or the content of
	// ClientSecretFile, is the secret of the client, if it has one.
	ClientID, ClientSecret, ClientSecretFile string
}

// Limits keep one caller, or one run, from taking what others need. Zero means
// no limit, unless a default is given.
type Limits struct {
	// RequestsPerMinute is how many requests a caller may send, for each
	// application.
	RequestsPerMinute int
	// ConcurrentRuns is how many runs of one caller and application this server
	// works on at once.
	ConcurrentRuns int
	// QueueDepth is how many messages may wait for a session.
	QueueDepth int
	// RunDuration ends a run that takes longer.
	RunDuration time.Duration
	// RunTokens is how many tokens a run may use. A run that has used them ends
	// before its next call of a model.
	RunTokens int64
	// DayTokens is how many tokens a user of an application may use in a day, in UTC, on
	// all servers that share the database.
	DayTokens int64
	// ScheduledRuns is how many runs that schedules have started this server works on
	// at once; 0 means 16. If it is negative, this server starts none.
	ScheduledRuns int
	// RunCost and DayCost are like RunTokens and DayTokens, in US dollars. Models
	// without a price cost nothing; the log names them.
	RunCost, DayCost float64
	// WarnDayCost is the cost of a user of an application in a day, in US dollars,
	// above which the log has a warning.
	WarnDayCost float64
	// ModelCalls is how many calls of models a run may make; 0 means 100.
	ModelCalls int
	// ToolCalls is how many calls of tools one response of a model may have; 0
	// means 256. The run fails if it has more.
	ToolCalls int
	// ModelResponseBytes is the largest response of a model, and the largest one
	// that the code of an agent in TypeScript can fetch, decompressed; 0 means 64
	// MiB. The run fails if that of a model is larger, and a fetch throws an error.
	ModelResponseBytes int64
	// ToolResultBytes is the largest result of a tool; 0 means 10 MiB. The
	// results of all calls in one response of a model may have four times as much
	// together. In place of a larger one, the model gets an error.
	ToolResultBytes int64
	// BodyBytes is the largest request body; 0 means 32 MiB.
	BodyBytes int64
}

// NetworkConfig configures where the server listens, and which requests it
// answers.
type NetworkConfig struct {
	// Host is the address or the name that Run listens on. One that other
	// machines can reach needs an AccessMode other than AccessLocal.
	//
	// Empty means the loopback interface, unless PORT is set and used, as
	// below: then a hosting platform checks the callers, and Run listens on all
	// interfaces.
	Host string
	// Port is where Run listens. 0 means the PORT environment variable or,
	// without one, 8080; with a Host, it means any port that is free.
	Port int
	// PublicURL is where users reach this server. With it, clients need only
	// open the address of a login: users begin at /oauth/start and come back to
	// /oauth/callback, and the run continues by itself.
	PublicURL string
	// AllowOrigins are the web origins, beside the server's own, whose pages
	// may call it, such as "https://app.example.com", "https://*.example.com" or
	// "http://localhost:*". One * is allowed in each.
	AllowOrigins []string
	// AllowHosts are the host names, such as "api.example.com" or
	// "*.example.com", that requests may be sent to; empty means any. With
	// AccessLocal, they are accepted beside those of the loopback interface.
	AllowHosts []string
	// Faces are the protocols that are served besides the server's own; nil means all
	// that are linked, and an empty list none. They need package faces.
	Faces []Face
	// Platforms are the hosting platforms whose paths are served, too, for the
	// application that A2AApp describes. They need package faces.
	Platforms []Platform
	// A2AApp is the application whose agent card is at /.well-known/agent-card.json, and
	// which Platforms call; empty means the only one, if there is only one.
	A2AApp string
	// A2AURL is where clients of A2A reach that application over JSON-RPC, if what is in
	// front of the server has an address of its own for it, such as the runtime of
	// Amazon Bedrock AgentCore. The card at the root then names no other one.
	A2AURL string
	// AllowPrivateWebhooks are networks, such as "10.0.0.0/8", in which the receivers
	// of notifications may be, which callers choose. Others are called on public
	// addresses only and, with AccessLocal, on this machine.
	AllowPrivateWebhooks []string
	// PeerAddr is where the other servers that share the database of the sessions
	// reach this one: an address such as "10.0.0.7" or "http://10.0.0.7:8080", without a
	// port that of Port, and with "https://" if something in front of the server has a
	// certificate. Clients that read a run on another server then get the pieces of its
	// texts, too. Empty means that they get whole events only.
	PeerAddr string
	// AdminAddr is where Run and Serve also listen for operators, who need no
	// login there: metrics, probes and profiles. It is a port of the loopback
	// interface, such as "9090", or an address and a port, such as
	// "0.0.0.0:9090"; empty means nowhere.
	AdminAddr string
}

// Face is a protocol of other clients that the server speaks besides its own.
type Face string

// The faces.
const (
	FaceA2A    Face = "a2a"    // Agent2Agent, at /a2a/{app}
	FaceAGUI   Face = "agui"   // AG-UI, at /apps/{app}/agui
	FaceAISDK  Face = "aisdk"  // UI message streams of the AI SDK, at /apps/{app}/aisdk
	FaceMCP    Face = "mcp"    // the Model Context Protocol, at /apps/{app}/mcp
	FaceOpenAI Face = "openai" // responses and chat completions, at /v1
)

// Platform is a service that runs images, and calls their server at paths of its own.
type Platform string

// The platforms.
const (
	PlatformAgentCore Platform = "agentcore" // Amazon Bedrock AgentCore, at /invocations, /ping, /mcp and /
	PlatformFoundry   Platform = "foundry"   // hosted agents of Microsoft Foundry, at /responses and /readiness
)

// UIConfig configures the developer UI.
type UIConfig struct {
	// Enabled serves the UI at the root address, and the endpoints that only
	// developers need.
	Enabled bool
	// Dir is a directory with another UI, such as the built files of adk-web, which
	// is then served at /dev-ui/.
	Dir string
}

// EvaluationConfig configures the evaluation sets of the applications in Agents, and
// their results. Those of applications in a directory are in that directory.
type EvaluationConfig struct {
	// Dir is a directory with a directory for each application, with its name, which
	// Open creates if it does not exist. Empty means that sets are only read from the
	// files that Evaluation.Sets names, and that results are not stored.
	Dir string
}

// TelemetryConfig configures traces. The environment variables of OpenTelemetry,
// such as OTEL_EXPORTER_OTLP_ENDPOINT, set where spans are exported to; without
// them, spans are not exported.
type TelemetryConfig struct {
	// Content exports what people, models and tools say along with the spans of
	// a trace; without it, spans tell only how long things took and how they
	// ended. OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true does the
	// same.
	Content bool

	endpoint string // of a collector, for tests
}
