package script

import (
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"net/http/httptest"
	"net/textproto"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley/internal/script/engine"
	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/internal/testkit/nodejs"
	"github.com/parley-run/parley/internal/testkit/pgtest"
)

// Packages that open sockets do the same here and in Node.js: databases, caches
// and mail.
func TestSocketPackages(t *testing.T) {
	if testing.Short() {
		t.Skip("it installs packages")
	}
	dir := filepath.Join("testdata", "sockets")
	nodejs.Install(t, dir)
	known := httptest.NewTLSServer(nil)
	defer known.Close()
	mails := &mailbox{tls: &tls.Config{Certificates: known.TLS.Certificates}}
	compareUse(t, dir, map[string]any{
		"database":  pgtest.Quick(t).Database(t),
		"redisPort": startRedis(t),
		"mysqlPort": startMariaDB(t),
		"smtpPort":  listen(t, mails.serve),
		"ca":        string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: known.Certificate().Raw})),
	})
	if n := len(mails.all); n != 2 || withoutBoundaries(mails.all[0]) != withoutBoundaries(mails.all[1]) {
		t.Errorf("%d mails arrived, or they differ", n)
	}
}

// compareUse calls the function use of use.js in a directory with packages, in
// Node.js and here, and compares what it returns: an object, in which texts are
// errors.
func compareUse(t *testing.T, dir string, arg map[string]any) {
	t.Helper()
	given := string(must(json.Marshal(arg)))
	main := filepath.Join(t.TempDir(), "main.mjs")
	use := must(filepath.Abs(filepath.Join(dir, "use.js")))
	program := "import { use } from " + string(must(json.Marshal("file://"+use))) + ";\nprocess.stdout.write('\\n' + JSON.stringify(await use(" + given + ")), () => process.exit());\n"
	if err := os.WriteFile(main, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	var want, got any
	theirs := strings.TrimSpace(nodejs.Run(t, dir, nodejs.Node(t), main))
	theirs = theirs[strings.LastIndexByte(theirs, '\n')+1:] // after warnings
	if err := json.Unmarshal([]byte(theirs), &want); err != nil {
		t.Fatalf("%v: %.500s", err, theirs)
	}
	limits := generous
	limits.Memory = engine.DefaultLimits().Memory
	apps := loadApps(t, dir, func(o *Options) { o.Limits, o.Environ = &limits, []string{"GIVEN=" + given} })
	ours := result(t, rootOf(t, apps, filepath.Base(dir)), "fine")
	if err := json.Unmarshal([]byte(ours), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Node.js (-), this runtime (+):\n%s", diff)
	}
	for name, value := range want.(map[string]any) { //nolint:forcetypeassert // use.js returns an object
		if text, failed := value.(string); failed {
			t.Errorf("%s fails in Node.js: %s", name, text)
		}
	}
}

// listen serves connections until the test ends, on a port that it returns.
func listen(t *testing.T, serve func(net.Conn)) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				serve(c)
			}()
		}
	}()
	return must(net.ResolveTCPAddr("tcp", l.Addr().String())).Port
}

// startRedis starts a Redis server on a port of its own.
func startRedis(t *testing.T) (port int) {
	t.Helper()
	program := testkit.Program(t, "Redis", "redis-server", "redis-server")
	port = freePort(t)
	start(t, port, program, "--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--save", "", "--dir", t.TempDir())
	return port
}

// startMariaDB starts a MariaDB server with a database test, and the password
// secret for its user root.
func startMariaDB(t *testing.T) (port int) {
	t.Helper()
	program := testkit.Program(t, "MariaDB", "mariadb-server", "mariadbd")
	dir, port := t.TempDir(), freePort(t)
	data, setup := filepath.Join(dir, "data"), filepath.Join(dir, "setup.sql")
	as := []string{"--no-defaults", "--datadir=" + data}
	if os.Geteuid() == 0 {
		as = append(as, "--user=root") // it refuses to otherwise
	}
	nodejs.Run(t, dir, testkit.Program(t, "MariaDB", "mariadb-server", "mariadb-install-db"), append(as, "--auth-root-authentication-method=normal", "--skip-test-db")...)
	if err := os.WriteFile(setup, []byte("CREATE DATABASE test;\nALTER USER root@localhost IDENTIFIED BY 'secret';\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, port, program, append(as, "--port="+strconv.Itoa(port), "--bind-address=127.0.0.1", "--socket="+filepath.Join(dir, "s"), "--init-file="+setup)...)
	return port
}

// start starts a server until the test ends, and waits until it takes connections.
func start(t *testing.T, port int, program string, args ...string) {
	t.Helper()
	log := &testkit.Buffer{}
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s: %s", program, log.String())
		}
	})
	testkit.Eventually(t, program+" takes connections", func() bool {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return must(net.ResolveTCPAddr("tcp", l.Addr().String())).Port
}

// mailbox is a small SMTP server, which takes mail over TLS only.
type mailbox struct {
	tls *tls.Config
	mu  sync.Mutex
	all []string
}

func (m *mailbox) serve(conn net.Conn) {
	c, secure := textproto.NewConn(conn), false
	say := func(lines ...string) { _ = c.PrintfLine("%s", strings.Join(lines, "\r\n")) }
	say("220 test")
	for {
		line, err := c.ReadLine()
		if err != nil {
			return
		}
		switch word, _, _ := strings.Cut(strings.ToUpper(line), " "); {
		case word == "EHLO" && secure:
			say("250-test", "250-AUTH PLAIN", "250 8BITMIME")
		case word == "EHLO":
			say("250-test", "250 STARTTLS")
		case word == "STARTTLS":
			say("220 go ahead")
			c, secure = textproto.NewConn(tls.Server(conn, m.tls)), true
		case !secure:
			say("530 TLS first")
		case word == "DATA":
			say("354 go ahead")
			text, err := c.ReadDotBytes()
			if err != nil {
				return
			}
			m.mu.Lock()
			m.all = append(m.all, string(text))
			m.mu.Unlock()
			say("250 taken")
		case word == "AUTH":
			say("235 welcome")
		case word == "QUIT":
			say("221 bye")
			return
		default:
			say("250 fine")
		}
	}
}

// withoutBoundaries leaves out what is random in a mail.
func withoutBoundaries(mail string) string {
	lines := strings.Split(mail, "\n")
	for i, line := range lines {
		if strings.Contains(line, "--_NmP-") || strings.Contains(line, "boundary=") {
			lines[i] = ""
		}
	}
	return strings.Join(lines, "\n")
}
