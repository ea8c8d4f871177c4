package deploy

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// agentFile is a file or a link of an agent that is deployed.
type agentFile struct {
	name string // relative to the agent directory
	link string // what it points to, if it is a link
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

// listAgent lists the files of an agent that are deployed, and those that are
// not, with the reason. What holds secrets or data stays where it is: images
// are read by more people than directories.
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
		if reason := secret(entry.Name(), entry.IsDir()); reason != "" {
			leftOut = append(leftOut, fmt.Sprintf("%s (%s)", name, reason))
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		switch kind := entry.Type(); {
		case kind.IsDir():
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
			holds, err := holdsKey(full, info.Size())
			if err != nil {
				return err
			}
			if holds {
				leftOut = append(leftOut, name+" (a key)")
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

// leaveOut are the names, in small letters, of what is not deployed.
var leaveOut = []struct {
	reason string
	dir    bool
	names  []string
}{
	{"version control", true, []string{".git", ".hg", ".svn"}},
	{"version control", false, []string{".git"}},
	{"variables", false, []string{".env", ".env.*", "*.env", ".envrc"}},
	{"a database", false, []string{
		"*.db", "*.db-*", "*.db3", "*.db3-*", "*.sqlite", "*.sqlite-*", "*.sqlite3", "*.sqlite3-*",
	}},
	{"a key", false, []string{
		"*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk", "*.asc", "*.gpg",
		"id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", ".npmrc", ".yarnrc*", ".netrc", "_netrc", ".pypirc", ".pgpass",
		".htpasswd", "application_default_credentials.json", "client_secret*.json",
	}},
	{"a key", true, []string{".ssh", ".gnupg", ".aws", ".gcloud", ".kube", ".docker"}},
}

// secret tells why something is not deployed, by its name.
func secret(name string, dir bool) string {
	name = strings.ToLower(name)
	for _, one := range leaveOut {
		for _, pattern := range one.names {
			if match, _ := path.Match(pattern, name); match && one.dir == dir {
				return one.reason
			}
		}
	}
	return ""
}

// largestKey is the size of the largest file that is looked at for a key.
const largestKey = 64 << 10

// holdsKey reports whether a file is a key by another name: one of a service
// account, a login of Google Cloud or of an OAuth client, in JSON.
func holdsKey(name string, size int64) (bool, error) {
	if size > largestKey || !strings.EqualFold(filepath.Ext(name), ".json") {
		return false, nil
	}
	text, err := os.ReadFile(name) //nolint:gosec // a file of the agent
	if err != nil {
		return false, err
	}
	type client struct {
		Secret string `json:"client_secret"`
	}
	var key struct {
		PrivateKey   string `json:"private_key"`
		RefreshToken string `json:"refresh_token"`
		Installed    client `json:"installed"`
		Web          client `json:"web"`
	}
	// What cannot be read as one is none.
	return json.Unmarshal(text, &key) == nil &&
		key.PrivateKey+key.RefreshToken+key.Installed.Secret+key.Web.Secret != "", nil
}
