package artifact

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// NameError describes an invalid artifact name.
type NameError struct{ Why string }

func (e *NameError) Error() string { return "The name of an artifact " + e.Why }

// maxName is the longest name, in characters.
const maxName = 512

// userPrefix starts the names of the files that all sessions of a user share.
const userPrefix = "user:"

// CheckName refuses names that an artifact cannot have: empty ones, and those that a URL could not tell from something
// else. Saving does so too; a program that takes names from files of users calls it to choose another name in time. The
// error is a *NameError.
func CheckName(name string) error {
	path := strings.TrimPrefix(name, userPrefix)
	switch {
	case path == "":
		return &NameError{"must not be empty"}
	case !utf8.ValidString(name):
		return &NameError{"must be UTF-8"}
	case utf8.RuneCountInString(name) > maxName:
		return &NameError{fmt.Sprintf("must have at most %d characters", maxName)}
	case strings.ContainsFunc(name, unicode.IsControl):
		return &NameError{"must not have control characters"}
	}
	for i, segment := range strings.Split(path, "/") {
		switch segment {
		case "", ".", "..":
			return &NameError{"must be a path without empty segments, . and .."}
		case "versions":
			if i > 0 {
				return &NameError{"must not have a directory or a file that is called versions"}
			}
		}
	}
	return nil
}

// Place identifies the session that files belong to.
type Place struct{ App, User, Session string }

// The keys of objects are paths of characters that every object store and file system accepts:
//
//	a-app/u-user/s-session/n-name/0.1  the record of version 1
//	a-app/u-user/s-session/data/…      the content of some version
//	a-app/u-user/user/…                the same for files of the user

// dir returns the prefix of the files of a session.
func (p Place) dir() string { return p.userDir() + "s-" + segment(p.Session) + "/" }

// userDir returns the prefix of everything of the user.
func (p Place) userDir() string { return "a-" + segment(p.App) + "/u-" + segment(p.User) + "/" }

// of returns the prefix for a name: that of the user or that of the session.
func (p Place) of(name string) string {
	if strings.HasPrefix(name, userPrefix) {
		return p.userDir() + "user/"
	}
	return p.dir()
}

// uri returns the URI of a version, which does not depend on the store.
func (p Place) uri(name string, version int64) string {
	where := "artifact://apps/" + url.PathEscape(p.App) + "/users/" + url.PathEscape(p.User)
	if !strings.HasPrefix(name, userPrefix) {
		where += "/sessions/" + url.PathEscape(p.Session)
	}
	path := strings.ReplaceAll(url.PathEscape(name), "%2F", "/")
	return fmt.Sprintf("%s/artifacts/%s/versions/%d", where, path, version)
}

// maxSegment keeps a key with four segments below the limit of object stores.
const maxSegment = 120

// segment encodes a text with characters that are safe in every store. It escapes capital letters, because some file
// systems ignore case. It cuts a long text and appends a digest after ~.
func segment(text string) string {
	var b strings.Builder
	for i := range len(text) {
		c := text[i]
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.' && i < len(text)-1 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "=%02x", c)
		}
	}
	if b.Len() <= maxSegment {
		return b.String()
	}
	sum := sha256.Sum256([]byte(text))
	return b.String()[:maxSegment-2*len(sum)] + "~" + hex.EncodeToString(sum[:])
}

// unsegment decodes a segment; it returns false if the text was cut.
func unsegment(s string) (string, bool) {
	if strings.Contains(s, "~") {
		return "", false
	}
	text, err := url.PathUnescape(strings.ReplaceAll(s, "=", "%"))
	return text, err == nil
}
