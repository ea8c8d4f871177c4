package storetest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/parley-run/parley/session"
)

// secretTests are about values that are kept for users and never shown.
var secretTests = []test{
	{"Secret/RoundTrip", secretRoundTrip},
	{"Secret/OneWins", secretOneWins},
	{"Secret/Apart", secretApart},
	{"Secret/List", secretList},
	{"Secret/Walk", secretWalk},
	{"Secret/OfApplication", secretOfApplication},
	{"Secret/GoesWithItsSession", secretGoesWithItsSession},
	{"Secret/IsNowhereElse", secretIsNowhereElse},
}

func secretOf(id, name string) session.SecretID {
	return session.SecretID{App: "app", User: "user", Session: id, Name: name}
}

func (k *kit) put(id session.SecretID, version int64, sealed string) int64 {
	k.Helper()
	v, err := k.store.PutSecret(k.Context(), &session.Secret{SecretID: id, Version: version, Sealed: []byte(sealed), About: []byte(`{"a":1}`)})
	if err != nil {
		k.Fatalf("PutSecret(%v, %d): %v", id, version, err)
	}
	return v
}

// sealed is what the secret holds, "" when there is none.
func (k *kit) sealed(id session.SecretID) string {
	k.Helper()
	s, err := k.store.Secret(k.Context(), id)
	if errors.Is(err, session.ErrNoSecret) {
		return ""
	}
	if err != nil {
		k.Fatalf("Secret(%v): %v", id, err)
	}
	if s.SecretID != id || s.Age < 0 {
		k.Errorf("Secret(%v) is %+v", id, s)
	}
	return string(s.Sealed)
}

// A token that comes back changed, or not at all, sends the user to log in
// again.
func secretRoundTrip(k *kit) {
	k.create(key("s"), nil)
	for _, id := range []session.SecretID{secretOf("s", "token"), secretOf("", "token"), secretOf("s", "pending/é\x00 😀")} {
		if got := k.sealed(id); got != "" {
			k.Errorf("before it is stored, %v is %q", id, got)
		}
		first := k.put(id, 0, "one\x00\xff")
		if got := k.sealed(id); got != "one\x00\xff" {
			k.Errorf("stored was one, and read %q", got)
		}
		second := k.put(id, first, "two")
		if second <= first {
			k.Errorf("version %d came after %d", second, first)
		}
		for _, stale := range []int64{0, first, second + 1, -1} {
			_, err := k.store.PutSecret(k.Context(), &session.Secret{SecretID: id, Version: stale, Sealed: []byte("x")})
			if !errors.Is(err, session.ErrChanged) {
				k.Errorf("PutSecret over version %d with %d: %v, want ErrChanged", second, stale, err)
			}
		}
		if got := k.sealed(id); got != "two" {
			k.Errorf("a refused store left %q", got)
		}
		for range 2 {
			if err := k.store.DeleteSecret(k.Context(), id); err != nil {
				k.Fatal(err)
			}
		}
		if got := k.sealed(id); got != "" {
			k.Errorf("after it was deleted, it is %q", got)
		}
		if third := k.put(id, 0, "three"); third <= second {
			k.Errorf("version %d was given out after %d: an old owner could write", third, second)
		}
	}
	_, err := k.store.PutSecret(k.Context(), &session.Secret{SecretID: secretOf("missing", "t"), Sealed: []byte("x")})
	if !errors.Is(err, session.ErrNotFound) {
		k.Errorf("a secret of a session that is not there: %v, want ErrNotFound", err)
	}
}

// A refresh token that rotates can be used once: of those who would store the
// next one, one wins and the others know.
func secretOneWins(k *kit) {
	k.create(key("s"), nil)
	for _, id := range []session.SecretID{secretOf("s", "token"), secretOf("", "token")} {
		version := int64(0)
		for round := range 5 {
			winners := make(chan int64, 10)
			k.together(10, func(i int) error {
				v, err := k.store.PutSecret(k.Context(), &session.Secret{SecretID: id, Version: version, Sealed: fmt.Append(nil, i)})
				if err == nil {
					winners <- v
				} else if !errors.Is(err, session.ErrChanged) {
					return err
				}
				return nil
			})
			if len(winners) != 1 {
				k.Fatalf("round %d: %d of 10 won", round, len(winners))
			}
			version = <-winners
		}
	}
}

// A client that could make two names collide would use another user's login.
func secretApart(k *kit) {
	ids := []session.SecretID{
		{App: "a", User: "u", Name: "n"},
		{App: "a", User: "un", Name: ""},
		{App: "au", User: "", Name: "n"},
		{App: "a", User: "v", Name: "n"},
		{App: "b", User: "u", Name: "n"},
		{App: "a", User: "u", Name: "N"},
		{App: "a", User: "u", Session: "s", Name: "n"},
		{App: "a", User: "u", Session: "t", Name: "n"},
		{App: "a", User: "v", Session: "s", Name: "n"},
	}
	for i, id := range ids {
		if id.Session != "" {
			k.create(id.Key(), nil)
		}
		k.put(id, 0, fmt.Sprint(i))
	}
	for i, id := range ids {
		if got := k.sealed(id); got != fmt.Sprint(i) {
			k.Errorf("%v is %q, want %d", id, got, i)
		}
	}
}

func secretList(k *kit) {
	k.create(key("s"), nil)
	k.create(key("r"), nil)
	for _, id := range []session.SecretID{secretOf("s", "b"), secretOf("", "z"), secretOf("s", "a"), secretOf("r", "c")} {
		k.put(id, 0, "x")
	}
	k.put(session.SecretID{App: "app", User: "other", Name: "n"}, 0, "x")
	list, err := k.store.ListSecrets(k.Context(), "app", "user")
	if err != nil {
		k.Fatal(err)
	}
	var names []string
	for _, s := range list {
		names = append(names, s.Session+"/"+s.Name)
		if string(s.About) != `{"a":1}` || string(s.Sealed) != "x" || s.Version == 0 {
			k.Errorf("%+v", s)
		}
	}
	if want := []string{"/z", "r/c", "s/a", "s/b"}; !slices.Equal(names, want) {
		k.Errorf("listed are %v, want %v", names, want)
	}
	if list, err := k.store.ListSecrets(k.Context(), "app", "unknown"); err != nil || list == nil || len(list) > 0 {
		k.Errorf("of a user without secrets: %v, %v", list, err)
	}
}

// A session that is made again under the same name must not find the logins of
// the one before.
func secretGoesWithItsSession(k *kit) {
	k.create(key("s"), nil)
	k.create(key("other"), nil)
	k.put(secretOf("s", "t"), 0, "x")
	k.put(secretOf("other", "t"), 0, "kept")
	k.put(secretOf("", "t"), 0, "kept")
	k.delete(key("s"))
	if got := k.sealed(secretOf("s", "t")); got != "" {
		k.Errorf("after Delete the secret is %q", got)
	}
	k.create(key("s"), nil)
	if got := k.sealed(secretOf("s", "t")); got != "" {
		k.Errorf("after Delete and Create the secret is %q", got)
	}
	if a, b := k.sealed(secretOf("other", "t")), k.sealed(secretOf("", "t")); a != "kept" || b != "kept" {
		k.Errorf("others are %q and %q", a, b)
	}
}

// Secrets change nothing that anyone reads.
func secretIsNowhereElse(k *kit) {
	k.create(key("s"), state("a", "1"), say("e"))
	before := look(k.get(key("s")))
	k.put(secretOf("s", "t"), 0, "x")
	k.put(secretOf("", "t"), 0, "x")
	k.same("after a secret was stored", before, look(k.get(key("s"))))
}

// Key rotation has to find every secret once, and to know whose it is.
func secretWalk(k *kit) {
	k.create(key("s"), nil)
	k.create(key("t"), nil)
	ids := []session.SecretID{secretOf("s", "one"), secretOf("", "two"), secretOf("t", "three"), secretOf("s", "four")}
	for _, id := range ids {
		k.put(id, 0, "sealed "+id.Name)
	}
	k.put(secretOf("s", "five"), 0, "") // and one whose session goes
	var after int64
	var found []session.SecretID
	for {
		page, err := k.store.WalkSecrets(k.Context(), after, 2)
		if err != nil {
			k.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		if len(page) > 2 {
			k.Fatalf("a page of %d", len(page))
		}
		for _, s := range page {
			if s.Version <= after {
				k.Fatalf("the version %d comes after %d", s.Version, after)
			}
			after = s.Version
			if s.Name == "five" {
				continue
			}
			if string(s.Sealed) != "sealed "+s.Name || string(s.About) != `{"a":1}` {
				k.Errorf("%v holds %q and %q", s.SecretID, s.Sealed, s.About)
			}
			found = append(found, s.SecretID)
		}
	}
	if !slices.Equal(found, ids) {
		k.Errorf("found %v, want %v", found, ids)
	}
	for _, id := range []string{"s", "t"} {
		if err := k.store.Delete(k.Context(), key(id)); err != nil {
			k.Fatal(err)
		}
	}
	page, err := k.store.WalkSecrets(k.Context(), 0, 10)
	if err != nil {
		k.Fatal(err)
	}
	for _, s := range page {
		if s.Session != "" || s.Name != "two" {
			k.Errorf("after its session, %v is there", s.SecretID)
		}
	}
}

// A secret of an application has no user, and is not one of a user of the application.
func secretOfApplication(k *kit) {
	k.create(key("s"), nil)
	id := session.SecretID{App: "app", Name: "trigger/one"}
	version := k.put(id, 0, "one")
	if _, err := k.store.PutSecret(k.Context(), &session.Secret{SecretID: id, Sealed: []byte("x")}); !errors.Is(err, session.ErrChanged) {
		k.Errorf("stored twice: %v", err)
	}
	k.put(id, version, "two")
	k.put(session.SecretID{App: "other", Name: "trigger/one"}, 0, "of another")
	if got := k.sealed(id); got != "two" {
		k.Errorf("it is %q", got)
	}
	for user, want := range map[string]int{"": 1, "user": 0} {
		if list, err := k.store.ListSecrets(k.Context(), "app", user); err != nil || len(list) != want {
			k.Errorf("%q has %d secrets, %v", user, len(list), err)
		}
	}
	page, err := k.store.WalkSecrets(k.Context(), 0, 10)
	if err != nil || len(page) != 2 {
		k.Errorf("there are %d secrets, %v", len(page), err)
	}
	if err := k.store.DeleteSecret(k.Context(), id); err != nil {
		k.Fatal(err)
	}
	if got := k.sealed(id); got != "" {
		k.Errorf("after it was deleted, it is %q", got)
	}
}
