package host

import (
	"strings"
	"testing"
)

// The expected values are those of Node.js 20.
func TestHostURL(t *testing.T) {
	t.Parallel()
	parse := [][2]string{
		{`http://example.com`, `http://example.com/ http://example.com example.com  : /  `},
		{`HTTP://EXAMPLE.com:80/a/../b/./c?q=1#f`, `http://example.com/b/c?q=1#f http://example.com example.com  : /b/c ?q=1 #f`},
		{`https://user:pa%20ss@host.com:8443/p?x=y#z`, `https://user:pa%20ss@host.com:8443/p?x=y#z https://host.com:8443 host.com:8443 8443 user:pa%20ss /p ?x=y #z`},
		{`http://a b/`, `ERR_INVALID_URL`},
		{`http://exa%6Dple.com/%7Efoo/%zz`, `http://example.com/%7Efoo/%zz http://example.com example.com  : /%7Efoo/%zz  `},
		{`http://münchen.de/straße?ü=ß#é`, `http://xn--mnchen-3ya.de/stra%C3%9Fe?%C3%BC=%C3%9F#%C3%A9 http://xn--mnchen-3ya.de xn--mnchen-3ya.de  : /stra%C3%9Fe ?%C3%BC=%C3%9F #%C3%A9`},
		{`http://日本語.jp/`, `http://xn--wgv71a119e.jp/ http://xn--wgv71a119e.jp xn--wgv71a119e.jp  : /  `},
		{`http://0x7f.1/`, `http://127.0.0.1/ http://127.0.0.1 127.0.0.1  : /  `},
		{`http://256.1.1.1/`, `ERR_INVALID_URL`},
		{`http://1.2.3`, `http://1.2.0.3/ http://1.2.0.3 1.2.0.3  : /  `},
		{`http://[::1]:3000/x`, `http://[::1]:3000/x http://[::1]:3000 [::1]:3000 3000 : /x  `},
		{`http://[2001:db8:0:0:1:0:0:1]/`, `http://[2001:db8::1:0:0:1]/ http://[2001:db8::1:0:0:1] [2001:db8::1:0:0:1]  : /  `},
		{`http://[::ffff:1.2.3.4]/`, `http://[::ffff:102:304]/ http://[::ffff:102:304] [::ffff:102:304]  : /  `},
		{`http://[1::2::3]/`, `ERR_INVALID_URL`},
		{`http://a:99999/`, `ERR_INVALID_URL`},
		{`http://a:/x`, `http://a/x http://a a  : /x  `},
		{`http:///a.com//b`, `http://a.com//b http://a.com a.com  : //b  `},
		{`http:\\a.com\b\c`, `http://a.com/b/c http://a.com a.com  : /b/c  `},
		{`http:a.com`, `http://a.com/ http://a.com a.com  : /  `},
		{"http://a.com/a b\"<>`{}|^'", `http://a.com/a%20b%22%3C%3E%60%7B%7D|^' http://a.com a.com  : /a%20b%22%3C%3E%60%7B%7D|^'  `},
		{"http://a.com/?a b\"<>`{}|^'#a b\"<>`{}|^'", "http://a.com/?a%20b%22%3C%3E`{}|^%27#a%20b%22%3C%3E%60{}|^' http://a.com a.com  : / ?a%20b%22%3C%3E`{}|^%27 #a%20b%22%3C%3E%60{}|^'"},
		{`file:///etc/passwd`, `file:///etc/passwd null   : /etc/passwd  `},
		{`file://localhost/c:/x/../y`, `file:///c:/y null   : /c:/y  `},
		{`file:///C|/a/../../b`, `file:///C:/b null   : /C:/b  `},
		{`file:c:\foo\bar`, `file:///c:/foo/bar null   : /c:/foo/bar  `},
		{`file://host/share/f`, `file://host/share/f null host  : /share/f  `},
		{`mailto:a@b.c?subject=x y`, `mailto:a@b.c?subject=x%20y null   : a@b.c ?subject=x%20y `},
		{`data:text/plain,hi there#frag`, `data:text/plain,hi there#frag null   : text/plain,hi there  #frag`},
		{`javascript:alert(1)`, `javascript:alert(1) null   : alert(1)  `},
		{`urn:isbn:123`, `urn:isbn:123 null   : isbn:123  `},
		{`foo://bar.baz:80/x/../y`, `foo://bar.baz:80/y null bar.baz:80 80 : /y  `},
		{`foo:/a/../b`, `foo:/b null   : /b  `},
		{`foo:///a//b`, `foo:///a//b null   : /a//b  `},
		{`ws://a:80/`, `ws://a/ ws://a a  : /  `},
		{`wss://a:443/x`, `wss://a/x wss://a a  : /x  `},
		{`  http://trim.me/  `, `http://trim.me/ http://trim.me trim.me  : /  `},
		{`ht tp://x`, `ERR_INVALID_URL`},
		{`//no.base`, `ERR_INVALID_URL`},
		{`/path`, `ERR_INVALID_URL`},
		{`?`, `ERR_INVALID_URL`},
		{`http://a.com?`, `http://a.com/? http://a.com a.com  : /  `},
		{`http://a.com/#`, `http://a.com/# http://a.com a.com  : /  `},
		{`http://a.com:0080/`, `http://a.com/ http://a.com a.com  : /  `},
		{`http://u@/x`, `ERR_INVALID_URL`},
		{`http://@a/`, `http://a/ http://a a  : /  `},
		{`http://a%00b/`, `ERR_INVALID_URL`},
		{`http://a/%2e%2E/b/%2e`, `http://a/b/ http://a a  : /b/  `},
		{`http://a/b/..`, `http://a/ http://a a  : /  `},
		{`http://a/b/.`, `http://a/b/ http://a a  : /b/  `},
		{`blob:https://a.com/uuid`, `blob:https://a.com/uuid https://a.com   : https://a.com/uuid  `},
		{`http://xn--mnchen-3ya.de`, `http://xn--mnchen-3ya.de/ http://xn--mnchen-3ya.de xn--mnchen-3ya.de  : /  `},
		{`http://EXAMPLE.com.`, `http://example.com./ http://example.com. example.com.  : /  `},
		{`http://a_b.com/`, `http://a_b.com/ http://a_b.com a_b.com  : /  `},
		{`http://ex.com/😀`, `http://ex.com/%F0%9F%98%80 http://ex.com ex.com  : /%F0%9F%98%80  `},
	}
	relative := [][3]string{
		{`a`, `http://h/x/y?q#f`, `http://h/x/a`},
		{`./a`, `http://h/x/y`, `http://h/x/a`},
		{`../../../a`, `http://h/x/y/z`, `http://h/a`},
		{`/a`, `http://h/x/y`, `http://h/a`},
		{`//o/a`, `https://h/x`, `https://o/a`},
		{`?n`, `http://h/x/y?q#f`, `http://h/x/y?n`},
		{`#n`, `http://h/x/y?q#f`, `http://h/x/y?q#n`},
		{``, `http://h/x/y?q#f`, `http://h/x/y?q`},
		{`http:z`, `http://h/x/y`, `http://h/x/z`},
		{`http:/z`, `http://h/x/y`, `http://h/z`},
		{`https:z`, `http://h/x/y`, `https://z/`},
		{`g;x=1/./y`, `http://a/b/c/d;p?q`, `http://a/b/c/g;x=1/y`},
		{`g?y/../x`, `http://a/b/c/d;p?q`, `http://a/b/c/g?y/../x`},
		{`\a\b`, `http://h/x/y`, `http://h/a/b`},
		{`x`, `file:///a/b/c`, `file:///a/b/x`},
		{`/x`, `file:///C:/a/b`, `file:///C:/x`},
		{`../../../x`, `file:///C:/a/b`, `file:///C:/x`},
		{`//h/x`, `file:///a`, `file://h/x`},
		{`D:/x`, `file:///C:/a/b`, `d:/x`},
		{`#x`, `mailto:a@b`, `mailto:a@b#x`},
		{`x`, `mailto:a@b`, `ERR_INVALID_URL`},
		{`x`, `foo://h/a/b`, `foo://h/a/x`},
		{`//q/x`, `foo://h/a/b`, `foo://q/x`},
		{`.`, `http://a/b/c/`, `http://a/b/c/`},
		{`..`, `http://a/b/c/`, `http://a/b/`},
		{`a/..`, `http://a/b/c`, `http://a/b/`},
	}
	set := [][4]string{
		{`http://a.com/x?y#z`, `protocol`, `https`, `https://a.com/x?y#z`},
		{`http://a.com:443/`, `protocol`, `https:`, `https://a.com/`},
		{`http://a.com/`, `protocol`, `foo`, `http://a.com/`},
		{`foo://a/`, `protocol`, `http`, `foo://a/`},
		{`http://u@a/`, `protocol`, `file`, `http://u@a/`},
		{`http://a/`, `username`, `u@ü`, `http://u%40%C3%BC@a/`},
		{`http://a/`, `password`, `p:w`, `http://:p%3Aw@a/`},
		{`file:///x`, `username`, `u`, `file:///x`},
		{`http://a/`, `host`, `b.c:81`, `http://b.c:81/`},
		{`http://a:1/`, `host`, `b`, `http://b:1/`},
		{`http://a/`, `host`, ``, `http://a/`},
		{`http://a/`, `host`, `b:80`, `http://b/`},
		{`http://a/`, `host`, `x/y`, `http://x/`},
		{`http://a:8/`, `hostname`, `b.c`, `http://b.c:8/`},
		{`http://a/`, `hostname`, `b:81`, `http://a/`},
		{`http://a/`, `hostname`, `[::1]`, `http://[::1]/`},
		{`foo://a:8/`, `hostname`, ``, `foo://a:8/`},
		{`mailto:x`, `host`, `y`, `mailto:x`},
		{`http://a/`, `port`, `8080`, `http://a:8080/`},
		{`http://a:8/`, `port`, ``, `http://a/`},
		{`http://a:8/`, `port`, `80`, `http://a/`},
		{`http://a/`, `port`, `99999`, `http://a/`},
		{`http://a/`, `port`, `12x`, `http://a:12/`},
		{`http://a/`, `port`, `x`, `http://a/`},
		{`file:///x`, `port`, `8`, `file:///x`},
		{`http://a/b`, `pathname`, `c d/../e?f#g`, `http://a/e%3Ff%23g`},
		{`http://a/b`, `pathname`, ``, `http://a/`},
		{`http://a/b`, `pathname`, `/x\y`, `http://a/x/y`},
		{`mailto:x`, `pathname`, `y`, `mailto:x`},
		{`foo://a/b`, `pathname`, ``, `foo://a`},
		{`http://a/?b`, `search`, `?c d#'`, `http://a/?c%20d%23%27`},
		{`http://a/?b`, `search`, ``, `http://a/`},
		{`http://a/?b`, `search`, `c=ü`, `http://a/?c=%C3%BC`},
		{`http://a/#b`, `hash`, `#c d`, `http://a/#c%20d`},
		{`http://a/#b`, `hash`, ``, `http://a/`},
		{`http://a/`, `hash`, "x`y", `http://a/#x%60y`},
		{`http://a/`, `href`, `http://b/c`, `http://b/c`},
		{`http://a/`, `href`, `nope`, `ERR_INVALID_URL`},
	}
	s := newSandbox(t, Options{}, "", `
		const [kind, ...args] = params;
		try {
			if (kind === "set") {
				const u = new URL(args[0]);
				u[args[1]] = args[2];
				return u.href;
			}
			const u = new URL(...args);
			return [u.href, u.origin, u.host, u.port, u.username + ":" + u.password, u.pathname, u.search, u.hash].join(" ");
		} catch (e) { return e.code ?? e.message; }`)
	for _, c := range parse {
		if got := s.must(t, []string{"parse", c[0]}); got != c[1] {
			t.Errorf("new URL(%q)\n got: %s\nwant: %s", c[0], got, c[1])
		}
	}
	for _, c := range relative {
		got, _, _ := strings.Cut(s.must(t, []string{"parse", c[0], c[1]}), " ")
		if got != c[2] {
			t.Errorf("new URL(%q, %q)\n got: %s\nwant: %s", c[0], c[1], got, c[2])
		}
	}
	for _, c := range set {
		if got := s.must(t, []string{"set", c[0], c[1], c[2]}); got != c[3] {
			t.Errorf("%s: %s = %q\n got: %s\nwant: %s", c[0], c[1], c[2], got, c[3])
		}
	}
}

func TestHostURLSearchParams(t *testing.T) {
	t.Parallel()
	checkSnippets(t, Options{}, "", []snippet{
		{"parse", `[...new URLSearchParams("?a=1&b=%C3%BC+x&c&=d&&a=2&e=%zz")]`, `[["a","1"],["b","ü x"],["c",""],["","d"],["a","2"],["e","%zz"]]`},
		{"from pairs", `new URLSearchParams([["a", 1], ["b c", "ü&="]]).toString()`, `a=1&b+c=%C3%BC%26%3D`},
		{"from object", `new URLSearchParams({a: 1, b: undefined}).toString()`, `a=1&b=undefined`},
		{"bad pairs", `{ try { new URLSearchParams([["a"]]) } catch (e) { return e.name } return 0 }`, `TypeError`},
		{"live", `{ const u = new URL("http://a/?x=1&y=2"); u.searchParams.append("z", "a b"); u.searchParams.delete("x"); const one = u.href; u.search = "?q=9"; return [one, u.searchParams.get("q"), u.searchParams.size]; }`, `["http://a/?y=2&z=a+b","9",1]`},
		{"emptied", `{ const u = new URL("http://a/?x=1"); u.searchParams.delete("x"); return u.href; }`, `http://a/`},
		{"has and set", `{ const p = new URLSearchParams("a=1&a=2&b=3"); p.set("a", "9"); p.set("c", "!'()~*"); return [p.has("a", "9"), p.has("a", "1"), p.getAll("a"), p.get("zz"), String(p)]; }`, `[true,false,["9"],null,"a=9&b=3&c=%21%27%28%29%7E*"]`},
		{"sort", `{ const p = new URLSearchParams("b=1&a=2&b=0"); p.sort(); return String(p); }`, `a=2&b=1&b=0`},
		{"delete value", `{ const p = new URLSearchParams("a=1&a=2"); p.delete("a", "1"); return String(p); }`, `a=2`},
		{"iterate", `{ const out = []; new URLSearchParams("a=1&b=2").forEach((v, k) => out.push(k + v)); return [out, [...new URLSearchParams("a=1").keys()], [...new URLSearchParams("a=1").values()]]; }`, `[["a1","b2"],["a"],["1"]]`},
		{"double question mark", `new URL("http://a/??b=1").searchParams.get("?b")`, `1`},
		{"static", "[URL.canParse(\"x\", \"http://a\"), URL.canParse(\"x\"), JSON.stringify({u: new URL(\"http://a\")}), `${new URL(\"http://a\")}`]", `[true,false,"{\"u\":\"http://a/\"}","http://a/"]`},
		{"URL of URL", `new URL(new URL("http://a/b")).href`, `http://a/b`},
		{"invalid", `{ try { new URL("nope", "http://a:b") } catch (e) { return [e.name, e.code, e.message, e.input] } return 0 }`, `["TypeError","ERR_INVALID_URL","Invalid URL","nope"]`},
	})
}
