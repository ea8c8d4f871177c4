package host

import (
	"bytes"
	"encoding/base64"
	"errors"
	"strings"

	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/transform"
)

// maxLabel is the length of the longest label of an encoding, and some more.
const maxLabel = 64

// encodingName returns the name of an encoding in the Encoding Standard; "" if a
// TextDecoder of Node.js does not know the label.
func encodingName(label string) (any, error) {
	if len(label) > maxLabel {
		return "", nil
	}
	e, err := htmlindex.Get(label)
	if err != nil {
		return "", nil //nolint:nilerr // it is the answer
	}
	name, err := htmlindex.Name(e)
	if err != nil {
		return "", nil //nolint:nilerr // as above
	}
	switch name {
	case "replacement", "x-user-defined", "iso-8859-16":
		return "", nil
	}
	return name, nil
}

// decodeText decodes text in an encoding other than UTF-8 and UTF-16. Go keeps
// nothing between calls: what is left of the data, if more is to come, is what the
// next call has to begin with.
func decodeText(m struct {
	Encoding string `json:"encoding"`
	Data     string `json:"data"`
	Fatal    bool   `json:"fatal"`
	More     bool   `json:"more"`
},
) (any, error) {
	data, err := base64.StdEncoding.DecodeString(m.Data)
	if err != nil {
		return nil, err
	}
	e, err := htmlindex.Get(m.Encoding)
	if err != nil {
		return nil, err
	}
	if m.Encoding == "gbk" { // the Encoding Standard decodes them alike
		e = simplifiedchinese.GB18030
	}
	out := make([]byte, 3*len(data)+16)
	written, read, err := e.NewDecoder().Transform(out, data, !m.More)
	if err != nil && (!m.More || !errors.Is(err, transform.ErrShortSrc)) {
		return nil, err
	}
	text := string(out[:written])
	if m.Fatal && strings.Count(text, "\ufffd") > bytes.Count(data, encodedReplacement) {
		return nil, coded("ERR_ENCODING_INVALID_ENCODED_DATA", "The encoded data was not valid for encoding %s", m.Encoding)
	}
	rest := data[read:]
	if m.Encoding == "iso-2022-jp" && m.More {
		rest = append(lastEscape(data[:read]), rest...)
	}
	return map[string]string{"text": text, "rest": base64.StdEncoding.EncodeToString(rest)}, nil
}

// encodedReplacement is U+FFFD in gb18030, the one encoding here that has it.
var encodedReplacement = []byte{0x84, 0x31, 0xa4, 0x37}

// lastEscape returns a copy of the last escape sequence, which says what the
// bytes after it mean.
func lastEscape(data []byte) []byte {
	i := bytes.LastIndexByte(data, 0x1b)
	if i < 0 {
		return nil
	}
	return bytes.Clone(data[i:min(i+3, len(data))])
}
