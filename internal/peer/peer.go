// Package peer lets the servers that share a store follow each other's runs: over
// HTTP, a server reads the partial events of a run from the one that works on it.
//
// Each server makes a key when it starts. Key and address are stored with the leases
// of its runs, where only the servers that share the store can read them. A request
// carries a proof that the sender has the key, and an answer that the receiver has it;
// the key itself is never sent. So the address in a lease that is out of date, which may
// belong to another program by now, neither learns the key nor is believed. A proof is
// for one request: its number is taken once, and it ends with the turn that it names.
package peer

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/session"
)

const (
	path   = "/.parley/feed"
	header = "Parley-Peer" // of the request and of the answer
)

// maxToken bounds a request. The longest identifiers fit.
const maxToken = 32 << 10

// Peer is this server among those that share the store.
type Peer struct {
	self   string // the address with the key
	key    []byte
	name   string
	number atomic.Int64 // of the last request
	client *http.Client
}

// New returns a peer that the others reach at an address, which is a result of
// Address.
func New(address string) *Peer {
	p := &Peer{key: make([]byte, 32), name: rand.Text()}
	_, _ = rand.Read(p.key) // it never fails
	p.self = address + "#" + encode(p.key)
	p.client = &http.Client{
		// No proxy: the address is one of the servers' own network.
		Transport: &http.Transport{
			DialContext:           (&net.Dialer{Timeout: dialTimeout}).DialContext,
			TLSHandshakeTimeout:   dialTimeout,
			ResponseHeaderTimeout: answerTimeout,
			IdleConnTimeout:       time.Minute,
			DisableCompression:    true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return p
}

// Self returns the address with the key, for session.Options.
func (p *Peer) Self() string { return p.self }

// Close closes idle connections. p may be nil.
func (p *Peer) Close() {
	if p != nil {
		p.client.CloseIdleConnections()
	}
}

// Address returns the URL of a server for its peers. text is such a URL, a host and a
// port, or only a host, to which port is added.
func Address(text string, port int) (string, error) {
	if strings.Contains(text, "://") {
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil ||
			strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.ForceQuery || strings.Contains(text, "#") {
			return "", fmt.Errorf("%q is not an address such as http://10.0.0.7:8080: it has a scheme, a host and a port, and no path", text)
		}
		return u.Scheme + "://" + u.Host, nil
	}
	host, given, err := net.SplitHostPort(text)
	if err != nil || net.ParseIP(text) != nil {
		if port == 0 {
			return "", fmt.Errorf("%q has no port, and the server listens on any that is free: give both, as in 10.0.0.7:8080", text)
		}
		host, given = strings.Trim(text, "[]"), strconv.Itoa(port)
	}
	if n, err := strconv.Atoi(given); err != nil || n < 1 || n > 65535 || host == "" || strings.ContainsAny(host, "/@#? %[]") ||
		strings.Contains(host, ":") && net.ParseIP(host) == nil {
		return "", fmt.Errorf("%q is not an address such as 10.0.0.7 or http://10.0.0.7:8080", text)
	}
	return "http://" + net.JoinHostPort(host, given), nil
}

// split returns the parts of the result of Self of another server.
func split(worker string) (address string, key []byte, err error) {
	address, text, _ := strings.Cut(worker, "#")
	key, err = base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(key) != 32 {
		return "", nil, errors.New("the address in the lease cannot be read")
	}
	if address, err = Address(address, 0); err != nil {
		return "", nil, err
	}
	return address, key, nil
}

// request is what a server sends to the worker of a run.
type request struct {
	App     string `json:"app"`
	User    string `json:"user"`
	Session string `json:"session"`
	Run     string `json:"run"`
	Epoch   int64  `json:"epoch"`
	After   int64  `json:"after"`
	Peer    string `json:"peer"`
	Number  int64  `json:"number"`
}

func (r *request) feed() run.FeedRequest {
	return run.FeedRequest{
		Key: session.Key{App: r.App, User: r.User, ID: r.Session}, Run: r.Run, Epoch: r.Epoch, After: r.After, Peer: r.Peer, Number: r.Number,
	}
}

// seal returns the request with a proof, and the proof that the answer must have.
func (r *request) seal(key []byte) (token, answer string, err error) {
	doc, err := json.Marshal(r)
	if err != nil {
		return "", "", err
	}
	text := encode(doc)
	return text + "." + proof(key, "request", text), proof(key, "answer", text), nil
}

// open returns the request in a token, and the proof for the answer. ok is false
// unless the sender has the key.
func open(key []byte, token string) (r *request, answer string, ok bool) {
	text, given, _ := strings.Cut(token, ".")
	if len(token) > maxToken || !hmac.Equal([]byte(given), []byte(proof(key, "request", text))) {
		return nil, "", false
	}
	doc, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || json.Unmarshal(doc, &r) != nil || r == nil {
		return nil, "", false
	}
	return r, proof(key, "answer", text), true
}

// proof returns what only an owner of the key can compute. kind keeps a request from
// being an answer.
func proof(key []byte, kind, text string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("parley feed " + kind + "\n" + text))
	return encode(mac.Sum(nil))
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
