package trigger

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"mime"
	"net/url"
	"strings"
	"unicode/utf8"
)

// payload is what a request is about: the data in its envelope, if it has one.
type payload struct {
	body       any
	attributes map[string]any // of CloudEvents, and of messages of Pub/Sub
	values     map[string]any // what templates see
	id, kind   string         // of the delivery; empty if it has none
}

// media returns the type of a body; empty if it is unknown.
func media(kind string) string {
	name, _, err := mime.ParseMediaType(kind)
	if err != nil {
		return ""
	}
	return name
}

func isJSON(media string) bool {
	return media == "application/json" || media == "text/json" || strings.HasSuffix(media, "+json")
}

var (
	errNotJSON = &PayloadError{"the body is not JSON, as its Content-Type says"}
	errNotText = &PayloadError{"the body is neither JSON, a form, nor text in UTF-8"}
	errBatch   = &PayloadError{"batches of CloudEvents are not supported: send one event with each request"}
)

// content reads a body of a type.
func content(doc []byte, kind string) (any, error) {
	switch name := media(kind); {
	case isJSON(name):
		v, err := decode(doc)
		if err != nil {
			return nil, errNotJSON
		}
		return v, nil
	case name == "application/x-www-form-urlencoded":
		return form(doc)
	}
	if v, err := decode(doc); err == nil {
		return v, nil
	}
	if !utf8.Valid(doc) {
		return nil, errNotText
	}
	return string(doc), nil
}

// form reads a form. Slack and GitHub send JSON in its field payload.
func form(doc []byte) (any, error) {
	fields, err := url.ParseQuery(string(doc))
	if err != nil || !utf8.Valid(doc) {
		return nil, &PayloadError{"the body is not a form, as its Content-Type says"}
	}
	if text := fields.Get("payload"); text != "" {
		if v, err := decode([]byte(text)); err == nil {
			return v, nil
		}
	}
	return firsts(fields), nil
}

// firsts returns the first of the values of each name.
func firsts(all map[string][]string) map[string]any {
	out := make(map[string]any, len(all))
	for name, values := range all {
		if len(values) > 0 && utf8.ValidString(name) && utf8.ValidString(values[0]) {
			out[name] = values[0]
		}
	}
	return out
}

// open reads a request that has been checked.
func open(s *Spec, r *Request) (*payload, error) {
	p := &payload{attributes: map[string]any{}}
	var err error
	if s.Check.signs() {
		err = p.unwrapSigned(s.Check, r)
	} else {
		err = p.unwrap(r)
	}
	if err != nil {
		return nil, err
	}
	p.message()
	headers, query := map[string]any{}, firsts(r.Query)
	for name, value := range firsts(r.Header) {
		headers[strings.ToLower(name)] = value
	}
	// What proves who the sender is must not get into sessions.
	for _, name := range []string{"authorization", "proxy-authorization", "cookie", strings.ToLower(s.Header)} {
		delete(headers, name)
	}
	delete(query, s.Query)
	p.identify(s, headers, r)
	p.values = map[string]any{"body": p.body, "headers": headers, "query": query, "attributes": p.attributes}
	if p.id != "" {
		p.values["id"] = p.id
	}
	if p.kind != "" {
		p.values["type"] = p.kind
	}
	return p, nil
}

// unwrap reads the body, and takes the data of CloudEvents out of it.
func (p *payload) unwrap(r *Request) (err error) {
	kind := r.Header.Get("Content-Type")
	switch media(kind) {
	case "application/cloudevents+json":
		return p.structured(r.Body)
	case "application/cloudevents-batch+json":
		return errBatch
	}
	if r.Header.Get("Ce-Specversion") != "" {
		for name, value := range firsts(r.Header) {
			if attribute, ok := strings.CutPrefix(strings.ToLower(name), "ce-"); ok {
				text, _ := value.(string)
				if plain, err := url.PathUnescape(text); err == nil && utf8.ValidString(plain) {
					text = plain
				}
				p.attributes[attribute] = text
			}
		}
	}
	if len(r.Body) == 0 {
		return nil
	}
	p.body, err = content(r.Body, kind)
	return err
}

// unwrapSigned is unwrap for a request of which only the body is signed. Who sends it again
// can choose the other headers, so they do not say what the body means.
func (p *payload) unwrapSigned(check Check, r *Request) (err error) {
	kind := r.Header.Get("Content-Type")
	switch name := media(kind); {
	case len(r.Body) == 0:
		return nil
	case check == StandardWebhooks && name == "application/cloudevents+json":
		return p.structured(r.Body)
	case check == StandardWebhooks && name == "application/cloudevents-batch+json":
		return errBatch
	}
	if p.body, err = decode(r.Body); err == nil {
		return nil
	}
	switch check {
	case StandardWebhooks:
		p.body, err = content(r.Body, kind)
	case Slack, GitHub:
		p.body, err = form(r.Body)
	default:
		err = errNotJSON
	}
	return err
}

// structured reads an event of CloudEvents with its attributes in the body.
func (p *payload) structured(doc []byte) error {
	v, err := decode(doc)
	event, ok := v.(map[string]any)
	if err != nil || !ok {
		return errNotJSON
	}
	for name, value := range event {
		if name != "data" && name != "data_base64" {
			p.attributes[name] = value
		}
	}
	if p.body = event["data"]; p.body != nil {
		return nil
	}
	text, ok := event["data_base64"].(string)
	if !ok {
		return nil
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return &PayloadError{"the data_base64 of the event is not base64"}
	}
	kind, _ := event["datacontenttype"].(string)
	p.body, err = content(data, kind)
	return err
}

// message takes the data of a message of Pub/Sub out of the envelope that it is pushed
// in.
func (p *payload) message() {
	envelope, _ := p.body.(map[string]any)
	message, _ := envelope["message"].(map[string]any)
	subscription, _ := envelope["subscription"].(string)
	id := textAt(message, "messageId", "message_id")
	if id == "" || subscription == "" {
		return
	}
	set := func(name, value string) {
		if _, there := p.attributes[name]; !there && value != "" {
			p.attributes[name] = value
		}
	}
	attributes, _ := message["attributes"].(map[string]any)
	for name, value := range attributes {
		if text, ok := value.(string); ok {
			set(name, text)
		}
	}
	set("messageId", id)
	set("publishTime", textAt(message, "publishTime", "publish_time"))
	set("orderingKey", textAt(message, "orderingKey"))
	set("subscription", subscription)
	text, _ := message["data"].(string)
	p.body = nil
	if data, err := base64.StdEncoding.DecodeString(text); err == nil && len(data) > 0 {
		if p.body, err = content(data, ""); err != nil {
			p.body = text // bytes, which stay as they are
		}
	}
}

// textAt returns the first text that an object has under one of the names.
func textAt(object any, names ...string) string {
	members, _ := object.(map[string]any)
	for _, name := range names {
		if text, ok := members[name].(string); ok && text != "" {
			return text
		}
	}
	return ""
}

// identify finds the id and the type of a delivery.
func (p *payload) identify(s *Spec, headers map[string]any, r *Request) {
	event := any(nil)
	if body, ok := p.body.(map[string]any); ok {
		event = body["event"]
	}
	id := textAt(p.attributes, "id")
	switch {
	case s.Check == StandardWebhooks: // what is signed with the body
		p.id, p.kind = textAt(headers, "webhook-id", "svix-id"), textAt(p.attributes, "type")
	case s.Check == GitHub: // neither is signed
		p.id, p.kind = textAt(headers, "x-github-delivery"), textAt(headers, "x-github-event")
		if action := textAt(p.body, "action"); action != "" {
			p.kind += "." + action
		}
	case s.Check == Slack:
		if p.id, p.kind = textAt(p.body, "event_id", "trigger_id"), textAt(event, "type"); p.id == "" {
			p.id = digest(r.Header.Get(slackTime), r.Body)
		}
	case s.Check == Stripe:
		p.id = textAt(p.body, "id")
	case id != "" && textAt(p.attributes, "specversion") != "":
		p.id, p.kind = textAt(p.attributes, "source")+" "+id, textAt(p.attributes, "type")
	case textAt(p.attributes, "messageId") != "":
		p.id, p.kind = textAt(p.attributes, "messageId"), textAt(p.attributes, "eventType", "ce-type", "type")
	default:
		p.id = textAt(headers, "webhook-id", "svix-id", "x-goog-pubsub-message-id", "idempotency-key")
	}
	if p.kind == "" {
		p.kind = textAt(p.body, "type")
	}
}

// digest identifies a request by what its signature covers.
func digest(at string, body []byte) string {
	sum := sha256.Sum256(append([]byte(at+":"), body...))
	return hex.EncodeToString(sum[:16])
}

// ignored returns why a delivery starts no run; empty if it does.
func (p *payload) ignored(s *Spec) string {
	if s.Paused {
		return "the trigger is paused"
	}
	if len(s.Events) == 0 && s.Check == GitHub && p.kind == "ping" {
		return "a ping starts no run"
	}
	if len(s.Events) > 0 && !matches(s.Events, p.kind) {
		return "the trigger is not for events of this type"
	}
	for path, values := range s.Match {
		names, err := parsePath(path)
		v := lookUp(p.values, names)
		if err != nil || v == nil {
			return "the payload has no " + path
		}
		text, err := textOf(v)
		found := false
		for _, value := range values {
			found = found || text == value
		}
		if err != nil || !found {
			return "the trigger is not for this value of " + path
		}
	}
	return ""
}

// matches reports whether a type of events is in the list, or what it begins with:
// issues is for issues.opened, too.
func matches(list []string, kind string) bool {
	for _, one := range list {
		if prefix, ok := strings.CutSuffix(one, "*"); ok && strings.HasPrefix(kind, prefix) {
			return true
		}
		if kind == one || strings.HasPrefix(kind, one+".") {
			return true
		}
	}
	return false
}
