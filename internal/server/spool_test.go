package server

import (
	"bufio"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/wire"
)

// readPart decodes the file of a document as for a small body.
func readPart(doc []byte) (*event.Part, error) {
	var part *event.Part
	return part, wire.Decode(doc, func(in *wire.Reader) error {
		return in.Object(func(member string) error {
			if member != "artifact" {
				return in.Skip()
			}
			part = &event.Part{}
			return in.Value(part)
		})
	})
}

func spoolOf(t *testing.T, doc string) (*spool, error) {
	t.Helper()
	s := &spool{in: bufio.NewReader(iotest.OneByteReader(strings.NewReader(doc))), maxRest: 1000, maxData: 1000}
	t.Cleanup(s.Close)
	return s, s.read()
}

// The file of a document is the same whether it is read in memory or spooled.
func TestSpool(t *testing.T) {
	data := make([]byte, 256)
	for i := range data {
		data[i] = byte(i)
	}
	std, web := base64.StdEncoding.EncodeToString(data), base64.URLEncoding.EncodeToString(data)
	inline := func(value string) string {
		return `{"filename":"f","artifact":{"inlineData":{"mimeType":"a/b","data":` + value + `}}}`
	}
	for _, doc := range []string{
		inline(`"` + std + `"`), inline(`"` + web + `"`), inline(`"` + strings.TrimRight(std, "=") + `"`),
		inline(`"` + strings.ReplaceAll(std, "/", `\/`) + `"`), inline(`"` + strings.ReplaceAll(std, "=", `\u003d`) + `"`),
		inline(`"` + std[:80] + `\r\n` + std[80:] + `"`), inline(`""`), inline(`"eA=="`), inline(`"eA"`), inline(`"eHg="`),
		" {\n \"artifact\" : { \"inline_data\" : { \"data\" : \"" + std + "\" , \"mime_type\" : \"a/b\" } } , \"filename\" : \"f\" } ",
		`{"customMetadata":{"artifact":{"inlineData":{"data":"not it"}}, "list":[{"data":"x"},"y",{}]},"artifact":{"x":[1,{"data":"z"}],"inlineData":{"data":"eA=="}}}`,
		`{"artifact":{"text":"a \"quoted\\\" text, {[:"}}`, `{"artifact":{"fileData":{"fileUri":"gs://x"}}}`,
		`{"artifact":{"inlineData":{"data":"eA=="}},"artifact":{"text":"x"}}`,
		inline(`null`), inline(`7`), inline(`["eA=="]`),
		// These are refused.
		inline(`"*"`), inline(`"eA==eA=="`), inline(`"e-A/"`), inline(`"e"`), inline(`"e A="`), inline("\"e\nA=\""), inline(`"\x"`), inline(`"eA==\u00e9"`),
		inline(`"eA==`), inline(`"eA==\`), `{"artifact":{"inlineData":{"data":"eA=="}}`, `{"artifact":{"inlineData":{"data":"eA=="}}}}`, `]`, `"`, `{"artifact":`, ``,
	} {
		want, wantErr := readPart([]byte(doc))
		s, err := spoolOf(t, doc)
		if err != nil {
			t.Errorf("%s: %v", doc, err)
			continue
		}
		got, gotErr := readPart(s.rest.Bytes())
		if (gotErr == nil) != (wantErr == nil) {
			t.Errorf("%s: error %v, want %v", doc, gotErr, wantErr)
			continue
		}
		if wantErr != nil || want == nil {
			continue
		}
		if got.InlineData != nil && s.data != nil {
			if _, err = s.data.Seek(0, io.SeekStart); err == nil {
				got.InlineData.Data, err = io.ReadAll(s.data)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		a, _ := want.MarshalJSON()
		if b, _ := got.MarshalJSON(); string(a) != string(b) {
			t.Errorf("%s: %s, want %s", doc, b, a)
		}
	}
}

func TestSpoolLimits(t *testing.T) {
	for doc, limited := range map[string]bool{
		`{"artifact":{"inlineData":{"data":"` + base64.StdEncoding.EncodeToString(make([]byte, 1000)) + `"}}}`: false,
		`{"artifact":{"inlineData":{"data":"` + base64.StdEncoding.EncodeToString(make([]byte, 1001)) + `"}}}`: true,
		`{"artifact":{"text":"` + strings.Repeat("x", 1001) + `"}}`:                                            true,
	} {
		s, err := spoolOf(t, doc)
		if _, is := errors.AsType[*http.MaxBytesError](err); is != limited {
			t.Errorf("%d bytes: %v", len(doc), err)
		}
		s.Close()
		if s.data != nil {
			if _, err := os.Stat(s.data.Name()); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the file is left: %v", err)
			}
		}
	}
	failing := io.MultiReader(strings.NewReader(`{"artifact":{"inlineData":{"data":"eA==`), iotest.ErrReader(errors.New("cut")))
	s := &spool{in: bufio.NewReader(failing), maxRest: 1000, maxData: 1000}
	defer s.Close()
	if err := s.read(); err == nil || err.Error() != "cut" {
		t.Errorf("a body that is cut: %v", err)
	}
}

// Documents that cost much and contain little are refused while they are read.
func TestSpoolRefusals(t *testing.T) {
	for name, doc := range map[string]string{
		"deep":   strings.Repeat("[", mostLevels+1),
		"deeper": strings.Repeat(`{"a":[`, 2*mostLevels),
		"twice":  `{"artifact":{"inlineData":{"data":"eA==","data":"eHg="}}}`,
		"often":  `{"artifact":{"inlineData":{"data":""` + strings.Repeat(`,"data":""`, 1000) + `}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			s := &spool{in: bufio.NewReader(strings.NewReader(doc)), maxRest: 1 << 20, maxData: 1000}
			defer s.Close()
			if err := s.read(); toHTTP(err, subject{}).status != http.StatusUnprocessableEntity {
				t.Errorf("got %v", err)
			}
		})
	}
	s := &spool{in: bufio.NewReader(strings.NewReader(strings.Repeat("[", mostLevels) + strings.Repeat("]", mostLevels))), maxRest: 1 << 20}
	if err := s.read(); err != nil {
		t.Errorf("what a decoder may take: %v", err)
	}
}
