package wire

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// What a large document has in it does not stay with the reader, which others
// use after it.
func TestReaderForgets(t *testing.T) {
	var doc bytes.Buffer
	doc.WriteByte('{')
	for i := range 2 * maxNames {
		fmt.Fprintf(&doc, `"%d_%s":{"known_name":0},`, i, strings.Repeat("x", 10<<10))
	}
	doc.WriteString(`"last":0}`)
	var used *Reader
	var seen []string
	err := Decode(doc.Bytes(), func(r *Reader) error {
		used = r
		return r.Object(func(name string) error {
			if name == "last" {
				return r.Skip()
			}
			return r.Object(func(name string) error {
				seen = append(seen, name)
				return r.Skip()
			})
		})
	})
	if err != nil || len(seen) != 2*maxNames || seen[0] != "knownName" || seen[len(seen)-1] != "knownName" {
		t.Fatalf("read %d members, %v", len(seen), err)
	}
	kept := 0
	for raw, name := range used.names {
		kept += len(raw) + len(name.text) + len(name.name)
	}
	if most := 3 * maxNames * (longestName + 2); kept > most {
		t.Errorf("%d bytes of names are kept, and not %d at most", kept, most)
	}
	if used.doc != nil {
		t.Error("the document is kept")
	}
	if len(used.names) == 0 {
		t.Error("nothing is remembered")
	}
}
