package host

import (
	"encoding/base64"
	"testing"

	"golang.org/x/text/encoding/htmlindex"
)

// Single bytes are those whose meaning does not differ between the Encoding
// Standard and the tables of ICU, which Node.js uses.
func TestTextDecoderAsNode(t *testing.T) {
	t.Parallel()
	const imports = `const says = (f) => { try { return f() } catch (e) { return [e.name, e.message, e.code] } };
		const hex = (text) => Uint8Array.from(text.match(/../g) ?? [], (h) => parseInt(h, 16));
		const samples = { "shift_jis": "93fa967b8cea83658358836780b1", "euc-jp": "c6fccbdcb8ecc6a5a5ada5b9a5c8", "iso-2022-jp": "1b2442467c4b5c386c1b284261", "gbk": "d6d0cec4b2e2cad4", "gb18030": "d6d0cec481308130", "big5": "a4a4a4e5b4fab8d5", "euc-kr": "c7d1b1b9bef1", "koi8-r": "f2d5d3d3cbc9ca", "koi8-u": "f5cbd2c1a7cec1", "windows-1251": "d0f3f1f1eae8e9", "windows-1250": "d8e8eb9e9a", "windows-1253": "c5ebebe7ede9eae1", "windows-1254": "defd", "windows-1255": "f9ece5ed", "windows-1256": "e3d1cdc8c7", "windows-1257": "c0e0f0", "windows-1258": "d0f0", "iso-8859-2": "b1e6ea", "iso-8859-5": "c0e3e1e1dad8d9", "iso-8859-7": "c1e2e3", "iso-8859-15": "a4a6a8", "iso-8859-8-i": "e0e1e2", "ibm866": "8fe0a8a2a5e2", "macintosh": "8a9a9f", "windows-874": "cac7d1cab4d5", "utf-16be": "00410042d83dde00", "utf-16le": "410042003dd800de" };`
	compareWithNode(t, imports,
		`Object.entries(samples).filter(([name]) => name !== "shift_jis").map(([name, data]) => [name, new TextDecoder(name).decode(hex(data))])`,
		`Object.entries(samples).filter(([name]) => name !== "shift_jis").map(([name, data]) => { const d = new TextDecoder(name, { fatal: true }); let text = ""; for (const byte of hex(data)) text += d.decode(Uint8Array.of(byte), { stream: true }); return text + d.decode(); })`,
		`["gb2312", "sjis", "x-user-defined", "macintosh", "iso-8859-8-i", "x-mac-cyrillic", "latin1", " KOI8-R\n", "big5-hkscs", "ISO-2022-JP", "windows-949", "tis-620", "csisolatin2", "unicodefffe", "iso-8859-16", "nope", ""].map((label) => says(() => new TextDecoder(label).encoding))`,
		`new TextDecoder("shift_jis").decode(hex("93fa967b8cea8365"))`,
		`says(() => new TextDecoder("shift_jis", { fatal: true }).decode(hex("82")))`,
		`says(() => new TextDecoder("euc-kr", { fatal: true }).decode(hex("c7")))`,
		`new TextDecoder("euc-kr").decode(hex("c7d1ff"))`,
		`[new TextDecoder("utf-16be").decode(hex("feff0041")), new TextDecoder("utf-16be", { ignoreBOM: true }).decode(hex("feff0041")), new TextDecoder("utf-16be").decode(hex("004100"))]`,
		`{ const d = new TextDecoder("utf-16be"); return [d.decode(hex("0041d8"), { stream: true }), d.decode(hex("3dde"), { stream: true }), d.decode(hex("00"))]; }`,
		`says(() => new TextDecoder("utf-16be", { fatal: true }).decode(hex("d800"))).slice?.(2)`,
		`{ const d = new TextDecoder("big5"); return [d.decode(hex("a4"), { stream: true }), d.decode(hex("a4")), d.decode(hex("41"))]; }`,
	)
}

func TestTextDecoderHostileInput(t *testing.T) {
	t.Parallel()
	type params = struct {
		Encoding string `json:"encoding"`
		Data     string `json:"data"`
		Fatal    bool   `json:"fatal"`
		More     bool   `json:"more"`
	}
	for _, m := range []params{{}, {Encoding: "nope"}, {Encoding: "big5", Data: "%"}} {
		if _, err := decodeText(m); err == nil {
			t.Errorf("%+v was taken", m)
		}
	}
	// No sequence of bytes may need more room than there is, or leave much.
	for _, name := range []string{"big5", "euc-jp", "euc-kr", "gb18030", "gbk", "iso-2022-jp", "koi8-r", "shift_jis", "windows-1252"} {
		if _, err := htmlindex.Get(name); err != nil {
			t.Fatal(err)
		}
		for first := range 256 {
			for second := range 256 {
				data := []byte{byte(first), byte(second), byte(first), byte(second), byte(second)}
				for _, more := range []bool{false, true} {
					got, err := decodeText(params{Encoding: name, Data: base64.StdEncoding.EncodeToString(data), More: more})
					if err != nil {
						t.Fatalf("%s %x: %v", name, data, err)
					}
					if rest := got.(map[string]string)["rest"]; len(rest) > 8 || !more && rest != "" {
						t.Fatalf("%s %x leaves %q", name, data, rest)
					}
				}
			}
		}
	}
}
