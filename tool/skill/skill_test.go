package skill_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/parley-run/parley/tool/skill"
)

const minimal = "---\nname: tidy\ndescription: Tidies up.\n---\n# How\n\nBegin at the top.\n"

func TestParse(t *testing.T) {
	s, err := skill.Parse([]byte("\uFEFF---\r\nname: tidy-up\r\ndescription: >\r\n  Tidies\r\n  up.\r\nlicense: MIT\r\ncompatibility: needs git\r\nallowed-tools: a b\r\nmetadata:\r\n  author: x\r\n  tools: [y]\r\nunknown: 1\r\n---  \r\nOne --- two\r\n---\r\nthree\r\n"))
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintf("%q %q %q %q %q %v %q", s.Name, s.Description, s.License, s.Compatibility, s.AllowedTools, s.Metadata, s.Instructions)
	want := `"tidy-up" "Tidies up.\n" "MIT" "needs git" "a b" map[author:x tools:[y]] "One --- two\r\n---\r\nthree"`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestParseRefuses(t *testing.T) {
	header := func(lines string) string { return "---\n" + lines + "\n---\ntext" }
	for _, test := range []struct{ name, text, want string }{
		{"nothing", "", "must begin with front matter"},
		{"no front matter", "# Tidy", "must begin with front matter"},
		{"open front matter", "---\nname: tidy\n", "no line with --- after it"},
		{"binary", "---\nname: \xff\n---\n", "not UTF-8"},
		{"no YAML", header("name: [tidy"), "not YAML"},
		{"a list", header("- name"), "not a mapping"},
		{"nothing in it", header(""), "not a mapping"},
		{"no name", header("description: x"), "has no name"},
		{"a number", header("name: 1\ndescription: x"), "name of the front matter is not a string"},
		{"upper case", header("name: Tidy\ndescription: x"), "lower-case"},
		{"a path", header("name: ../tidy\ndescription: x"), "lower-case"},
		{"two hyphens", header("name: tidy--up\ndescription: x"), "lower-case"},
		{"mixed", header("name: tidy-up_now\ndescription: x"), "lower-case"},
		{"long name", header("name: " + strings.Repeat("a", 65) + "\ndescription: x"), "more than 64 characters"},
		{"no description", header("name: tidy"), "has no description"},
		{"empty description", header("name: tidy\ndescription: ' '"), "description of the front matter is empty"},
		{"long description", header("name: tidy\ndescription: " + strings.Repeat("a", 1025)), "more than 1024 characters"},
		{"long compatibility", header("name: tidy\ndescription: x\ncompatibility: " + strings.Repeat("a", 501)), "more than 500 characters"},
		{"metadata", header("name: tidy\ndescription: x\nmetadata: y"), "metadata of the front matter is not a mapping"},
		{"alias", header("name: tidy\ndescription: x\nmetadata: {a: &a [x], b: *a}"), "anchor or an alias"},
		{"nesting", header("name: tidy\ndescription: x\nmetadata: " + strings.Repeat("[", 33)), "more than 32 brackets"},
		{"deep lines", header("name: tidy\n" + strings.Repeat("- ", 100)), "indented by more than"},
		{"large", "---\nname: tidy\n" + strings.Repeat("# a comment\n", 2000), "more than 16384 bytes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := skill.Parse([]byte(test.text)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(minimal))
	f.Add([]byte("---\nname: a_b\ndescription: |\n  x\nmetadata: {a: [1, {b: c}]}\n---\n"))
	f.Add([]byte("---\n? - - a\n: &a *a\n<<: *a\n---\n"))
	f.Add([]byte("---\n\"name\": !!binary aGk=\n---\n---"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := skill.Parse(text)
		if err != nil {
			return
		}
		if s.Name == "" || len(s.Name) > 64 || strings.ContainsAny(s.Name, "/\\. \n") || strings.TrimSpace(s.Description) == "" {
			t.Errorf("accepted %q: %q", s.Name, s.Description)
		}
	})
}

func file(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }

func TestLoadAll(t *testing.T) {
	skills, err := skill.LoadAll(fstest.MapFS{
		"README.md":                      file("not a skill"),
		".git/config":                    file("not one, either"),
		"tidy/SKILL.md":                  file(minimal),
		"tidy/references/guide.md":       file("Guide."),
		"tidy/a.txt":                     file("A."),
		"tidy/.hidden":                   file("x"),
		"tidy/node_modules/x/y.js":       file("x"),
		"tidy/scripts/__pycache__/z.pyc": file("x"),
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(skills) != 1 || fmt.Sprint(skills[0].Files()) != "[a.txt references/guide.md]" {
		t.Fatalf("got %d skills, %v", len(skills), skills[0].Files())
	}
	for name, want := range map[string]string{"references/../a.txt": "A.", "./references/guide.md": "Guide."} {
		if got, err := skills[0].ReadFile(name); err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
	for _, name := range []string{"", ".", "SKILL.md", "../tidy/a.txt", "/etc/passwd", "references", ".hidden", "b.txt"} {
		if got, err := skills[0].ReadFile(name); err == nil {
			t.Errorf("%s: got %q, want an error", name, got)
		}
	}
}

func TestLoadAllNamesWhatIsWrong(t *testing.T) {
	many := fstest.MapFS{"tidy/SKILL.md": file(minimal)}
	for i := range skill.MaxFiles + 1 {
		many[fmt.Sprintf("tidy/%d", i)] = file("")
	}
	skills := fstest.MapFS{}
	for i := range skill.MaxSkills + 1 {
		skills[fmt.Sprintf("s%d/SKILL.md", i)] = file(fmt.Sprintf("---\nname: s%d\ndescription: x\n---\n", i))
	}
	for _, test := range []struct {
		name  string
		files fstest.MapFS
		want  []string
	}{
		{"no SKILL.md", fstest.MapFS{"a/x": file(""), "tidy/SKILL.md": file(minimal)}, []string{"skill a:", "SKILL.md"}},
		{"two", fstest.MapFS{"a/SKILL.md": file(minimal), "b/SKILL.md": file("x")}, []string{`skill a: SKILL.md: the name "tidy" is not that of the directory, "a"`, "skill b: SKILL.md: the file must begin with front matter"}},
		{"large", fstest.MapFS{"tidy/SKILL.md": file(minimal + strings.Repeat("x", skill.MaxDocument))}, []string{"skill tidy: SKILL.md has more than 262144 bytes"}},
		{"a directory", fstest.MapFS{"tidy/SKILL.md/x": file("")}, []string{"skill tidy: SKILL.md is not a regular file"}},
		{"many files", many, []string{"skill tidy: there are more than 1000 files"}},
		{"many skills", skills, []string{"there are more than 100"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := skill.LoadAll(test.files)
			for _, want := range test.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want %q", err, want)
				}
			}
		})
	}
}

// Nothing leads out of the directory of a skill.
func TestDirStaysInside(t *testing.T) {
	base := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(base, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link := func(to, name string) {
		t.Helper()
		if err := os.Symlink(to, filepath.Join(base, name)); err != nil {
			t.Skip(err)
		}
	}
	write("secret.txt", "secret")
	write("skills/tidy/SKILL.md", minimal)
	write("skills/tidy/later.md", "x")
	link(filepath.Join(base, "secret.txt"), "skills/tidy/absolute.txt")
	link("../../secret.txt", "skills/tidy/relative.txt")
	link("../..", "skills/tidy/up")
	skills, err := skill.LoadAll(skill.Dir(filepath.Join(base, "skills")))
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(skills[0].Files()); got != "[later.md]" {
		t.Errorf("the files are %s", got)
	}
	// A file that becomes a link after the skill was loaded.
	if err := os.Remove(filepath.Join(base, "skills/tidy/later.md")); err != nil {
		t.Fatal(err)
	}
	link("../../secret.txt", "skills/tidy/later.md")
	for _, name := range []string{"absolute.txt", "relative.txt", "up/secret.txt", "later.md"} {
		if got, err := skills[0].ReadFile(name); err == nil {
			t.Errorf("%s: got %q, want an error", name, got)
		}
	}
	if _, err := skill.Dir(base).Open("../x"); err == nil {
		t.Error("a path that leads up was opened")
	}
	// A skill that is a link, and a SKILL.md that is one.
	link("../skills/tidy", "skills/other")
	if _, err := skill.LoadAll(skill.Dir(filepath.Join(base, "skills"))); err == nil || !strings.Contains(err.Error(), "skill other: it is a symbolic link") {
		t.Errorf("got %v", err)
	}
	write("linked/one/x", "")
	link("../../secret.txt", "linked/one/SKILL.md")
	if _, err := skill.LoadAll(skill.Dir(filepath.Join(base, "linked"))); err == nil || strings.Contains(err.Error(), "front matter") {
		t.Errorf("got %v", err)
	}
}

func TestReadFileLimit(t *testing.T) {
	s, err := skill.Load(fstest.MapFS{"SKILL.md": file(minimal), "big": file(strings.Repeat("x", skill.MaxFile+1))})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.ReadFile("big"); err == nil || !strings.Contains(err.Error(), "big has more than 8388608 bytes") {
		t.Errorf("got %v", err)
	}
}

var _ fs.FS = skill.Dir("")
