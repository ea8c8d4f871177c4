package face

import (
	"encoding/base64"
	"errors"
	"mime"
	"net/url"
	"strings"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/wire"
)

// Errors of contents that cannot be read.
var (
	errBase64  = errors.New("is not base64")
	errDataURL = errors.New("is not a data URL")
)

// Data returns a part with data that is encoded in base64.
func Data(mimeType, data, name string) (*event.Part, error) {
	b, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		if b, err = base64.RawURLEncoding.DecodeString(strings.TrimRight(data, "=")); err != nil {
			return nil, errBase64
		}
	}
	if mimeType == "" {
		mimeType = "application/octet-stream"
	}
	return &event.Part{InlineData: &event.Blob{MIMEType: mimeType, Data: b, DisplayName: name}}, nil
}

// URL returns a part for the address of a file. The file of a data URL is in it.
func URL(address, mimeType, name string) (*event.Part, error) {
	rest, ok := strings.CutPrefix(address, "data:")
	if !ok {
		return &event.Part{FileData: &event.FileData{MIMEType: mimeType, FileURI: address, DisplayName: name}}, nil
	}
	head, data, ok := strings.Cut(rest, ",")
	if !ok {
		return nil, errDataURL
	}
	head, encoded := strings.CutSuffix(head, ";base64")
	if media, _, err := mime.ParseMediaType(head); err == nil {
		mimeType = media
	}
	if encoded {
		return Data(mimeType, data, name)
	}
	text, err := url.PathUnescape(data)
	if err != nil {
		return nil, errDataURL
	}
	if mimeType == "" {
		mimeType = "text/plain"
	}
	return &event.Part{InlineData: &event.Blob{MIMEType: mimeType, Data: []byte(text), DisplayName: name}}, nil
}

// DataURL returns a blob as a data URL.
func DataURL(b *event.Blob) string {
	return "data:" + b.MIMEType + ";base64," + base64.StdEncoding.EncodeToString(b.Data)
}

// ReadContent reads a content that is a text, or a list of parts, and adds its parts to
// into. read reads one part of the list; it may return nil. Empty texts are left out.
// ReadContent reads nothing and returns false if the content is anything else.
func ReadContent(r *wire.Reader, into *[]*event.Part, read func() (*event.Part, error)) (known bool, err error) {
	add := func(p *event.Part) {
		if p != nil && (p.Text != "" || !p.IsText()) {
			*into = append(*into, p)
		}
	}
	switch r.Kind() {
	case '"':
		p := &event.Part{}
		err = r.String(&p.Text)
		add(p)
		return true, err
	case '[':
		return true, r.Array(func() error {
			p, err := read()
			add(p)
			return err
		})
	}
	return false, nil
}
