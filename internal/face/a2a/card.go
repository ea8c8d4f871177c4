package a2a

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/parley-run/parley/internal/face"
)

// cardPath is where clients look for a card.
const cardPath = "/.well-known/agent-card.json"

// agentVersion is the version of every agent: applications have none, and that of the
// server is not public.
const agentVersion = "1.0.0"

// card is an agent card of version 1.0. The members from URL on are of version 0.3.
type card struct {
	Name               string                    `json:"name"`
	Description        string                    `json:"description"`
	Version            string                    `json:"version"`
	Interfaces         []cardInterface           `json:"supportedInterfaces"`
	Capabilities       capabilities              `json:"capabilities"`
	InputModes         []string                  `json:"defaultInputModes"`
	OutputModes        []string                  `json:"defaultOutputModes"`
	Skills             []skill                   `json:"skills"`
	Schemes            map[string]securityScheme `json:"securitySchemes,omitempty"`
	Requirements       []requirement             `json:"securityRequirements,omitempty"`
	URL                string                    `json:"url,omitempty"`
	ProtocolVersion    string                    `json:"protocolVersion,omitempty"`
	PreferredTransport string                    `json:"preferredTransport,omitempty"`
	Security           []map[string][]string     `json:"security,omitempty"`
	Additional         []oldInterface            `json:"additionalInterfaces,omitempty"`
	Extended           bool                      `json:"supportsAuthenticatedExtendedCard,omitempty"`
}

type cardInterface struct {
	URL     string `json:"url"`
	Binding string `json:"protocolBinding"`
	Version string `json:"protocolVersion"`
}

// oldInterface is an interface in version 0.3.
type oldInterface struct {
	URL       string `json:"url"`
	Transport string `json:"transport"`
}

type capabilities struct {
	Streaming    bool `json:"streaming"`
	Push         bool `json:"pushNotifications"`
	ExtendedCard bool `json:"extendedAgentCard"`
}

type skill struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Tags        []string `json:"tags"`
}

// securityScheme is a scheme in the spelling of both versions.
type securityScheme struct {
	OpenID *openIDScheme `json:"openIdConnectSecurityScheme,omitempty"`
	HTTP   *httpScheme   `json:"httpAuthSecurityScheme,omitempty"`

	Type   string `json:"type,omitempty"`
	URL    string `json:"openIdConnectUrl,omitempty"`
	Scheme string `json:"scheme,omitempty"`
}

type openIDScheme struct {
	URL string `json:"openIdConnectUrl"`
}

type httpScheme struct {
	Scheme string `json:"scheme"`
}

type requirement struct {
	Schemes map[string]scopes `json:"schemes"`
}

type scopes struct {
	List []string `json:"list"`
}

// mainCard answers with the card of the application at the root: that of version 1.0,
// whose schema allows no other members.
func (h handler) mainCard(w http.ResponseWriter, r *http.Request) error {
	app := h.MainApp()
	if app == "" {
		return &face.Problem{Status: http.StatusNotFound, Message: "There are several agents: the card of each is at " + strings.Replace(path, "{app}", "<name>", 1) + cardPath}
	}
	if address := h.A2AURL(); address != "" {
		return h.frontCard(w, r, app, address)
	}
	return h.card(w, r, app, false)
}

// frontCard answers with the card of an application that clients reach at one address
// only, in both versions.
func (h handler) frontCard(w http.ResponseWriter, r *http.Request, app, address string) error {
	c, err := h.publicCard(r, app, true)
	if err != nil {
		return err
	}
	c.URL, c.Additional = address, nil
	c.Interfaces = []cardInterface{{address, "JSONRPC", version1}, {address, "JSONRPC", version0}}
	return h.serveCard(w, r, c)
}

// appCard answers with the card of an application, for clients of both versions.
func (h handler) appCard(w http.ResponseWriter, r *http.Request) error {
	return h.card(w, r, r.PathValue("app"), true)
}

// card answers with the card of an application.
func (h handler) card(w http.ResponseWriter, r *http.Request, app string, both bool) error {
	c, err := h.publicCard(r, app, both)
	if err != nil {
		return err
	}
	return h.serveCard(w, r, c)
}

func (h handler) serveCard(w http.ResponseWriter, r *http.Request, c *card) error {
	doc, err := json.Marshal(c)
	if err != nil {
		return err
	}
	header := w.Header()
	header.Set("Content-Type", jsonType)
	header.Set("Cache-Control", "public, max-age=300")
	header.Set("ETag", `"`+face.Fingerprint(doc)[:32]+`"`)
	header.Add("Vary", "Host, X-Forwarded-Proto") // of which the addresses may be made
	http.ServeContent(w, r, "", h.since, bytes.NewReader(doc))
	return nil
}

// publicCard returns what everyone may know of an application: the name and the
// description of the root agent, and how callers log in. If both is true, the card has
// the members of version 0.3, too.
func (h handler) publicCard(r *http.Request, app string, both bool) (*card, error) {
	description, err := h.Describe(app)
	if err != nil {
		return nil, err
	}
	name := h.Root(app)
	if description == "" {
		description = "The agent " + name + "."
	}
	address := h.BaseURL(r) + "/a2a/" + url.PathEscape(app)
	c := &card{
		Name: name, Description: description, Version: agentVersion,
		Interfaces: []cardInterface{
			{address, "JSONRPC", version1}, {address, "HTTP+JSON", version1}, {address, "JSONRPC", version0}, {address, "HTTP+JSON", version0},
		},
		Capabilities: capabilities{Streaming: true, Push: h.Outbox() != nil, ExtendedCard: h.extends()},
		InputModes:   inputModes, OutputModes: []string{"text/plain", jsonType},
		Skills: []skill{{ID: app, Name: name, Description: description, Tags: []string{"agent"}}},
	}
	if both {
		c.Additional = []oldInterface{{address, "JSONRPC"}, {address, "HTTP+JSON"}}
		c.URL, c.ProtocolVersion, c.PreferredTransport, c.Extended = address, version0+".0", "JSONRPC", h.extends()
	}
	c.secure(h.Issuers(), h.TakesKeys(), both)
	return c, nil
}

// secure adds how callers log in. One of the schemes is enough.
func (c *card) secure(issuers []string, keys, both bool) {
	add := func(name string, s securityScheme) {
		if both {
			c.Security = append(c.Security, map[string][]string{name: {}})
		} else {
			s.Type, s.URL, s.Scheme = "", "", ""
		}
		if c.Schemes == nil {
			c.Schemes = map[string]securityScheme{}
		}
		c.Schemes[name] = s
		c.Requirements = append(c.Requirements, requirement{map[string]scopes{name: {[]string{}}}})
	}
	for _, issuer := range issuers {
		address := strings.TrimRight(issuer, "/") + "/.well-known/openid-configuration"
		name := "oidc"
		if u, err := url.Parse(issuer); err == nil && len(issuers) > 1 {
			name += "-" + u.Host
		}
		add(name, securityScheme{OpenID: &openIDScheme{address}, Type: "openIdConnect", URL: address})
	}
	if keys {
		add("key", securityScheme{HTTP: &httpScheme{"Bearer"}, Type: "http", Scheme: "Bearer"})
	}
}
