package deploy

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// agentFile is a deployed file or link of an agent.
type agentFile struct {
	name string // relative to the agent directory
	link string // the target, if it is a link
	mode fs.FileMode
}

func (f agentFile) copy(j *job, agentDir, name string) error {
	if f.link == "" {
		return j.copy(filepath.Join(agentDir, f.name), name, f.mode)
	}
	if err := j.mkdir(path.Dir(name)); err != nil {
		return err
	}
	return os.Symlink(f.link, j.path(name))
}

// listAgent lists the files of an agent that are deployed, and those that are left
// out, with the reason. Secrets and data are left out, because an image is readable
// by more people than a directory.
func listAgent(dir string) (files []agentFile, leftOut []string, err error) {
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, nil, err
	}
	err = filepath.WalkDir(root, func(full string, entry fs.DirEntry, err error) error {
		if err != nil || full == root {
			return err
		}
		name, err := filepath.Rel(root, full)
		if err != nil {
			return err
		}
		if reason := secret(filepath.ToSlash(name), entry.IsDir()); reason != "" {
			leftOut = append(leftOut, fmt.Sprintf("%s (%s)", name, reason))
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		switch kind := entry.Type(); {
		case kind.IsDir():
			// Directories next to a database that hold files of users.
			if database, ok := strings.CutSuffix(full, ".artifacts"); ok {
				if reason, err := holds(database); err == nil && reason == isDatabase {
					leftOut = append(leftOut, name+" (files of users)")
					return fs.SkipDir
				}
			}
		case kind&fs.ModeSymlink != 0:
			link, err := os.Readlink(full)
			if err != nil {
				return err
			}
			if filepath.IsAbs(link) || !filepath.IsLocal(filepath.Join(filepath.Dir(name), link)) {
				leftOut = append(leftOut, name+" (it points out of the directory)")
				return nil
			}
			files = append(files, agentFile{name: name, link: link})
		case kind.IsRegular():
			info, err := entry.Info()
			if err != nil {
				return err
			}
			reason, err := holds(full)
			if err != nil {
				return err
			}
			if reason != "" {
				leftOut = append(leftOut, fmt.Sprintf("%s (%s)", name, reason))
				return nil
			}
			files = append(files, agentFile{name: name, mode: 0o644 | info.Mode()&0o111})
		default:
			leftOut = append(leftOut, name+" (not a file)")
		}
		return nil
	})
	return files, leftOut, err
}

// reaches reports whether a name refers to one of the files, directly or over
// links. A link to a file that is left out refers to nothing.
func reaches(files []agentFile, name string) bool {
	links, there := map[string]string{}, map[string]bool{}
	for _, one := range files {
		if one.link == "" {
			there[one.name] = true
		} else {
			links[one.name] = one.link
		}
	}
	const separator = string(filepath.Separator)
follow:
	for range 40 { // the limit of Linux
		parts := strings.Split(name, separator)
		for i := range parts {
			before := filepath.Join(parts[:i+1]...)
			if link, ok := links[before]; ok {
				name = filepath.Join(filepath.Dir(before), link, filepath.Join(parts[i+1:]...))
				continue follow
			}
		}
		return there[name]
	}
	return false
}

// Reasons that other code asks for.
const (
	isDatabase     = "a database"
	holdsVariables = "variables"
)

// leaveOut holds the lower-case names of files and directories that are not
// deployed. A name of two parts is a directory and a file in it.
var leaveOut = []struct {
	reason string
	dir    bool
	names  []string
}{
	{"version control", true, []string{".git", ".hg", ".svn"}},
	{"version control", false, []string{".git"}},
	{holdsVariables, false, []string{".env", ".env.*", ".env-*", ".env_*", "*.env", ".envrc", ".dev.vars"}},
	{isDatabase, false, []string{
		"*.db", "*.db-*", "*.db3", "*.db3-*", "*.sqlite", "*.sqlite-*", "*.sqlite3", "*.sqlite3-*",
	}},
	{"files of users", true, []string{"*.db.artifacts", "*.db3.artifacts", "*.sqlite.artifacts", "*.sqlite3.artifacts"}},
	{"results of evaluations", true, []string{".adk/eval_history"}},
	{"a key", false, []string{
		"*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk", "*.asc", "*.gpg",
		"id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", ".npmrc", ".yarnrc*", ".netrc", "_netrc", ".pypirc", ".pgpass",
		".htpasswd", "application_default_credentials.json", "client_secret*.json",
	}},
	{"a key", true, []string{".ssh", ".gnupg", ".aws", ".gcloud", ".kube", ".docker"}},
}

// secret returns the reason why a path is not deployed, or "".
func secret(name string, dir bool) string {
	name = strings.ToLower(name)
	base := path.Base(name)
	for _, one := range leaveOut {
		for _, pattern := range one.names {
			last := base
			if strings.Contains(pattern, "/") {
				last = path.Join(path.Base(path.Dir(name)), base)
			}
			if match, _ := path.Match(pattern, last); match && one.dir == dir {
				return one.reason
			}
		}
	}
	return ""
}

// maxKeySize is the size of the largest file that is searched for a key.
const maxKeySize = 64 << 10

// databases are the first bytes of SQLite's files, whatever their names: the
// database, and its log in either byte order.
var databases = []string{"SQLite format 3\x00", "\x37\x7f\x06\x82", "\x37\x7f\x06\x83"}

// configName is the file with flags of the server, in an agent's directory.
const configName = "parley.yaml"

// password matches a URL with a password that is not a reference to a variable.
var password = regexp.MustCompile(`://[^/@:\s]*:[^$/@\s][^/@\s]*@`)

var privateKey = regexp.MustCompile(`^-----BEGIN ([A-Z0-9]+ )*PRIVATE KEY`)

// holds returns the reason why the content of a file is not deployed, or "": a
// database, or a key under another name.
func holds(name string) (reason string, err error) {
	file, err := os.Open(name) //nolint:gosec // a file of the agent
	if err != nil {
		return "", err
	}
	defer file.Close()
	// Most files are not JSON objects, which the first bytes show.
	in := bufio.NewReader(io.LimitReader(file, maxKeySize))
	start, err := in.Peek(512)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	for _, one := range databases {
		if bytes.HasPrefix(start, []byte(one)) {
			return isDatabase, nil
		}
	}
	start = bytes.TrimLeft(start, byteOrderMark+" \t\r\n")
	if privateKey.Match(start) {
		return "a key", nil
	}
	if filepath.Base(name) == configName {
		text, err := io.ReadAll(in)
		if err == nil && password.Match(text) {
			return "a password: refer to a variable instead, as in ${PASSWORD}", nil
		}
		return "", err
	}
	if !bytes.HasPrefix(start, []byte("{")) {
		return "", nil
	}
	text, err := io.ReadAll(in)
	if err == nil && holdsKey(text) {
		return "a key", nil
	}
	return "", err
}

const byteOrderMark = "\ufeff"

// holdsKey reports whether JSON is a key: that of a service account, a login of
// Google Cloud or of an OAuth client, or the keys that seal the logins of users.
func holdsKey(text []byte) bool {
	var members map[string]json.RawMessage
	if json.Unmarshal(bytes.TrimPrefix(text, []byte(byteOrderMark)), &members) != nil {
		return false // a document that does not decode is not a key
	}
	for name, value := range members {
		if isKey(name, value) {
			return true
		}
	}
	primary := members["primaryKeyId"] != nil || members["primary_key_id"] != nil
	var keys []map[string]json.RawMessage
	return primary && json.Unmarshal(members["key"], &keys) == nil && len(keys) > 0
}

// isKey reports whether a member alone makes a file a key, regardless of the
// others.
func isKey(name string, value json.RawMessage) bool {
	switch name {
	case "private_key", "refresh_token", "encryptedKeyset", "encrypted_keyset":
		var text string
		return json.Unmarshal(value, &text) == nil && text != ""
	case "installed", "web": // clients
		var client map[string]json.RawMessage
		var text string
		return json.Unmarshal(value, &client) == nil && json.Unmarshal(client["client_secret"], &text) == nil && text != ""
	}
	return false
}
