package script

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"net/textproto"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley/internal/script/engine"
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
		"redisPort": listen(t, (&cache{values: map[string]string{}}).serve),
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

// cache is a small Redis.
type cache struct {
	mu     sync.Mutex
	values map[string]string
}

func (c *cache) serve(conn net.Conn) {
	in := textproto.NewReader(bufio.NewReader(conn))
	number := func(mark string) int {
		line, _ := in.ReadLine()
		n, _ := strconv.Atoi(strings.TrimPrefix(line, mark))
		return n
	}
	for {
		n := number("*")
		if n < 1 {
			return
		}
		args := make([]string, n)
		for i := range args {
			size := number("$")
			data := make([]byte, size+2)
			if _, err := io.ReadFull(in.R, data); err != nil {
				return
			}
			args[i] = string(data[:size])
		}
		if _, err := io.WriteString(conn, c.answer(args)); err != nil || strings.EqualFold(args[0], "quit") {
			return
		}
	}
}

func (c *cache) answer(args []string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	bulk := func(text string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(text), text) }
	switch name := strings.ToLower(args[0]); {
	case name == "info":
		return bulk("redis_version:7.0.0\r\nloading:0\r\n")
	case name == "client", name == "quit":
		return "+OK\r\n"
	case name == "set" && len(args) > 2:
		c.values[args[1]] = args[2]
		return "+OK\r\n"
	case name == "get" && len(args) > 1:
		return bulk(c.values[args[1]])
	case name == "incr" && len(args) > 1:
		n, _ := strconv.Atoi(c.values[args[1]])
		n = n%2 + 1 // the same for each of two programs
		c.values[args[1]] = strconv.Itoa(n)
		return fmt.Sprintf(":%d\r\n", n)
	}
	return "-ERR unknown command '" + args[0] + "'\r\n"
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
