// Package sharelink makes links to a moment of a session. A link is the right to read what was said until then; it expires,
// and can be revoked.
//
// A link has a token. The token names the session, encrypted with a key of the store, so that it is found without an
// index and on every server. What the link shows is stored with the secrets of the session, which are deleted with it,
// together with a hash of the token: neither the database nor the key is enough to make one.
package sharelink

import (
	"cmp"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/parley-run/parley/session"
)

// The errors.
var (
	// ErrNone means that there is no such link: it never existed, has expired, was revoked, or its session was deleted.
	ErrNone = errors.New("there is no such link")
	// ErrTooMany means that a session has MaxLinks already.
	ErrTooMany = errors.New("the session has too many links")
)

const (
	// MaxLinks is the largest number of links of a session.
	MaxLinks = 100
	// Prefix begins the names of the secrets of this package. They are not sealed.
	Prefix = "share/"

	keyName  = Prefix + "key"
	linkName = Prefix + "link/"
	// maxToken exceeds the token of the longest identifiers.
	maxToken = 8 << 10
)

// Link is a link to a moment of a session.
type Link struct {
	ID  string      `json:"-"`
	Key session.Key `json:"-"`
	// Seq is the sequence number of the last event that is shown, and Event its id.
	Seq   int64  `json:"seq"`
	Event string `json:"event"`
	// Tools shows the contents of tool calls.
	Tools   bool      `json:"tools"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires"`
}

// Links are the links to the sessions of a store.
type Links struct {
	secrets session.Secrets
	now     func() time.Time

	mu   sync.Mutex
	aead cipher.AEAD // nil until the key is read
}

// New returns the links of a store.
func New(secrets session.Secrets) *Links { return &Links{secrets: secrets, now: time.Now} }

// Create makes a link that lasts for some time. token is not stored. It fails with ErrTooMany.
func (l *Links) Create(ctx context.Context, link Link, life time.Duration) (token string, made *Link, err error) {
	list, err := l.List(ctx, link.Key)
	if err != nil {
		return "", nil, err
	}
	if len(list) >= MaxLinks {
		return "", nil, ErrTooMany
	}
	aead, err := l.cipher(ctx, true)
	if err != nil {
		return "", nil, err
	}
	link.ID = strings.ToLower(rand.Text()[:16])
	link.Created = l.now().UTC().Truncate(time.Second)
	link.Expires = link.Created.Add(life)
	plain, err := json.Marshal([]string{link.Key.App, link.Key.User, link.Key.ID, link.ID, rand.Text()})
	if err != nil {
		return "", nil, err
	}
	token = encoding.EncodeToString(aead.Seal(nil, nil, plain, nil)) //nolint:gosec // the cipher makes a random nonce
	about, err := json.Marshal(link)
	if err != nil {
		return "", nil, err
	}
	if _, err := l.secrets.PutSecret(ctx, &session.Secret{SecretID: nameOf(link.Key, link.ID), Sealed: hash(token), About: about}); err != nil {
		return "", nil, fmt.Errorf("store link: %w", err)
	}
	return token, &link, nil
}

// List returns the links to a session, the newest first. It deletes those that have expired.
func (l *Links) List(ctx context.Context, key session.Key) ([]*Link, error) {
	secrets, err := l.secrets.ListSecrets(ctx, key.App, key.User)
	if err != nil {
		return nil, fmt.Errorf("list links: %w", err)
	}
	var list []*Link
	for _, s := range secrets {
		id, ok := strings.CutPrefix(s.Name, linkName)
		if !ok || s.Session != key.ID {
			continue
		}
		link, err := l.read(s, key, id)
		if err != nil {
			_ = l.secrets.DeleteSecret(ctx, s.SecretID) // or the next time
			continue
		}
		list = append(list, link)
	}
	slices.SortFunc(list, func(a, b *Link) int { return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(a.ID, b.ID)) })
	return list, nil
}

// Revoke deletes a link. It fails with ErrNone if there is none.
func (l *Links) Revoke(ctx context.Context, key session.Key, id string) error {
	_, err := l.secrets.Secret(ctx, nameOf(key, id))
	if errors.Is(err, session.ErrNoSecret) {
		return ErrNone
	}
	if err == nil {
		err = l.secrets.DeleteSecret(ctx, nameOf(key, id))
	}
	if err != nil {
		return fmt.Errorf("revoke link: %w", err)
	}
	return nil
}

// Open returns the link with a token. It fails with ErrNone.
func (l *Links) Open(ctx context.Context, token string) (*Link, error) {
	sealed, err := encoding.DecodeString(token)
	if err != nil || len(token) > maxToken || strings.ContainsAny(token, "\r\n") {
		return nil, ErrNone
	}
	aead, err := l.cipher(ctx, false)
	if err != nil {
		return nil, err
	}
	var parts []string
	if plain, err := aead.Open(nil, nil, sealed, nil); err != nil || json.Unmarshal(plain, &parts) != nil || len(parts) != 5 {
		return nil, ErrNone
	}
	key := session.Key{App: parts[0], User: parts[1], ID: parts[2]}
	secret, err := l.secrets.Secret(ctx, nameOf(key, parts[3]))
	if errors.Is(err, session.ErrNoSecret) {
		return nil, ErrNone
	}
	if err != nil {
		return nil, fmt.Errorf("read link: %w", err)
	}
	if subtle.ConstantTimeCompare(secret.Sealed, hash(token)) != 1 {
		return nil, ErrNone
	}
	return l.read(secret, key, parts[3])
}

// read decodes a link. It fails with ErrNone if the link has expired or is damaged.
func (l *Links) read(s *session.Secret, key session.Key, id string) (*Link, error) {
	link := &Link{}
	if err := json.Unmarshal(s.About, link); err != nil || !l.now().Before(link.Expires) {
		return nil, ErrNone
	}
	link.ID, link.Key = id, key
	return link, nil
}

// encoding refuses text that decodes to the same bytes as another text.
var encoding = base64.RawURLEncoding.Strict()

func nameOf(key session.Key, id string) session.SecretID {
	return session.SecretID{App: key.App, User: key.User, Session: key.ID, Name: linkName + id}
}

// hash returns the stored hash of a token, which is long and random.
func hash(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}

// cipher encrypts the names of sessions with the key of the store. Without create it fails with ErrNone if there is no
// key, and thus no link.
func (l *Links) cipher(ctx context.Context, create bool) (cipher.AEAD, error) {
	l.mu.Lock()
	known := l.aead
	l.mu.Unlock()
	if known != nil {
		return known, nil
	}
	key, err := l.storedKey(ctx, create)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("read the key of links: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("read the key of links: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.aead = aead // concurrent calls have read the same key
	return aead, nil
}

// storedKey returns the key of the store, which the first link creates. It belongs to no user.
func (l *Links) storedKey(ctx context.Context, create bool) ([]byte, error) {
	id := session.SecretID{Name: keyName}
	stored, err := l.secrets.Secret(ctx, id)
	switch {
	case err == nil:
		return stored.Sealed, nil
	case !errors.Is(err, session.ErrNoSecret):
		return nil, fmt.Errorf("read the key of links: %w", err)
	case !create:
		return nil, ErrNone
	}
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	switch _, err = l.secrets.PutSecret(ctx, &session.Secret{SecretID: id, Sealed: key}); {
	case errors.Is(err, session.ErrChanged): // by another server, at the same time
		stored, err = l.secrets.Secret(ctx, id)
		if err != nil {
			return nil, fmt.Errorf("read the key of links: %w", err)
		}
		return stored.Sealed, nil
	case err != nil:
		return nil, fmt.Errorf("store the key of links: %w", err)
	}
	return key, nil
}
