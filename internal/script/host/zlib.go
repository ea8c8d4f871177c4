package host

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
	"errors"
	"hash/crc32"
	"io"
	"strings"

	"github.com/andybalholm/brotli"
)

// maxInflated is how many bytes one call may decompress into. The engine needs
// several times as much for it.
const maxInflated = 32 << 20

// codec says how data is compressed.
type codec struct {
	Format     string `json:"format"` // gzip, deflate, deflate-raw, br; or unzip: gzip or deflate; or http: deflate or deflate-raw
	Level      int    `json:"level"`
	Dictionary string `json:"dictionary"` // base64
	Max        int64  `json:"max"`        // of bytes in the output; 0 for as many as allowed
	Partial    bool   `json:"partial"`    // data that is cut off is decompressed as far as possible
}

func (c codec) limit() int64 {
	if c.Max <= 0 || c.Max > maxInflated {
		return maxInflated
	}
	return c.Max
}

// dictionary returns nil if there is none: an empty one shows in what is compressed.
func (c codec) dictionary() ([]byte, error) {
	if c.Dictionary == "" {
		return nil, nil
	}
	return base64.StdEncoding.DecodeString(c.Dictionary)
}

// compressor is a writer of compressed data.
type compressor interface {
	io.WriteCloser
	Flush() error
}

func (c codec) writer(to io.Writer) (compressor, error) {
	dictionary, err := c.dictionary()
	if err != nil {
		return nil, err
	}
	level := c.Level
	if level < flate.HuffmanOnly || level > flate.BestCompression {
		level = flate.DefaultCompression
	}
	switch c.Format {
	case "gzip":
		w, err := gzip.NewWriterLevel(to, level)
		if err != nil {
			return nil, err
		}
		w.OS = 3 // Unix, as Node.js writes there
		return w, nil
	case "deflate":
		return zlib.NewWriterLevelDict(to, level, dictionary)
	case "deflate-raw":
		return flate.NewWriterDict(to, level, dictionary)
	}
	return nil, errFormat(c.Format)
}

func errFormat(format string) error {
	return coded("ERR_INVALID_ARG_VALUE", "the compression format %q is not available in this runtime", format)
}

// reader returns a reader of what is decompressed. Its errors are those of zlibError.
func (c codec) reader(from io.Reader) (io.Reader, error) {
	dictionary, err := c.dictionary()
	if err != nil {
		return nil, err
	}
	return &inflater{from: bufio.NewReader(from), codec: c, dictionary: dictionary}, nil
}

// inflater begins to read when it is read from: its input may come later.
type inflater struct {
	from       *bufio.Reader
	codec      codec
	dictionary []byte
	out        io.Reader
	members    *gzip.Reader // of gzip
	err        error
}

func (r *inflater) Read(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	if r.out == nil {
		if err := r.start(); err != nil {
			r.err = r.end(err)
			return 0, r.err
		}
	}
	n, err := r.out.Read(p)
	if errors.Is(err, io.EOF) && r.members != nil {
		err = r.nextMember()
	}
	if err != nil {
		r.err = r.end(err)
		if n > 0 {
			return n, nil
		}
		return n, r.err
	}
	return n, nil
}

func (r *inflater) start() (err error) {
	format := r.codec.Format
	if format == "unzip" {
		format = "deflate"
		if magic, err := r.from.Peek(2); err == nil && magic[0] == 0x1f && magic[1] == 0x8b {
			format = "gzip"
		}
	}
	if format == "http" { // some servers leave the header out
		format = "deflate"
		if first, err := r.from.Peek(1); err == nil && first[0]&0x0f != 8 {
			format = "deflate-raw"
		}
	}
	switch format {
	case "gzip":
		r.members = new(gzip.Reader)
		r.out = r.members
		err = r.startMember()
	case "deflate":
		r.out, err = zlib.NewReaderDict(r.from, r.dictionary)
	case "deflate-raw":
		r.out = flate.NewReaderDict(r.from, r.dictionary)
	case "br":
		r.out = brotli.NewReader(r.from)
	default:
		err = errFormat(format)
	}
	return noEOF(err)
}

// nextMember begins with another member of a gzip file, if there is one. Zeros
// that follow are padding.
func (r *inflater) nextMember() error {
	if next, err := r.from.Peek(1); err != nil {
		return err
	} else if next[0] == 0 {
		return io.EOF
	}
	return r.startMember()
}

// startMember looks at the first bytes itself: Go waits for a whole header.
func (r *inflater) startMember() error {
	for i, want := range []byte{0x1f, 0x8b} {
		if magic, err := r.from.Peek(i + 1); err != nil {
			return noEOF(err)
		} else if magic[i] != want {
			return gzip.ErrHeader
		}
	}
	if err := r.members.Reset(r.from); err != nil {
		return noEOF(err)
	}
	r.members.Multistream(false)
	return nil
}

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (r *inflater) end(err error) error {
	if errors.Is(err, io.EOF) || r.codec.Partial && errors.Is(err, io.ErrUnexpectedEOF) {
		return io.EOF
	}
	if err.Error() == brotliError+"excessive input" { // what follows is ignored, as with deflate
		return io.EOF
	}
	return zlibError(err, r.codec)
}

// zlibError gives an error the code and, as far as Go tells, the text that it has
// in Node.js.
func zlibError(err error, c codec) error {
	var corrupt flate.CorruptInputError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return coded("Z_BUF_ERROR", "unexpected end of file")
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, zlib.ErrHeader):
		return coded("Z_DATA_ERROR", "incorrect header check")
	case errors.Is(err, gzip.ErrChecksum), errors.Is(err, zlib.ErrChecksum):
		return coded("Z_DATA_ERROR", "incorrect data check")
	case errors.Is(err, zlib.ErrDictionary) && c.Dictionary == "":
		return coded("Z_NEED_DICT", "Missing dictionary")
	case errors.Is(err, zlib.ErrDictionary):
		return coded("Z_NEED_DICT", "Bad dictionary")
	case errors.As(err, &corrupt):
		return coded("Z_DATA_ERROR", "invalid compressed data at byte %d", int64(corrupt))
	}
	if name, ok := strings.CutPrefix(err.Error(), brotliError); ok {
		return coded("ERR__ERROR_FORMAT_"+name, "Decompression failed")
	}
	return err
}

// brotliError is how errors of the library for Brotli begin. It does not export
// their types.
const brotliError = "brotli: "

func errTooLarge(limit int64) error {
	return coded("ERR_BUFFER_TOO_LARGE", "Cannot create a Buffer larger than %d bytes", limit)
}

// deflate compresses data, all at once.
func deflate(m struct {
	codec
	Data string `json:"data"`
},
) (any, error) {
	data, err := base64.StdEncoding.DecodeString(m.Data)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w, err := m.writer(&out)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	if limit := m.limit(); int64(out.Len()) > limit {
		return nil, errTooLarge(limit)
	}
	return base64.StdEncoding.EncodeToString(out.Bytes()), nil
}

// inflate decompresses data, all at once.
func inflate(m struct {
	codec
	Data string `json:"data"`
},
) (any, error) {
	data, err := base64.StdEncoding.DecodeString(m.Data)
	if err != nil {
		return nil, err
	}
	r, err := m.reader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	limit := m.limit()
	out, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(out)) > limit {
		return nil, errTooLarge(limit)
	}
	return base64.StdEncoding.EncodeToString(out), nil
}

func checksum(m struct {
	Data  string `json:"data"`
	Value uint32 `json:"value"`
},
) (any, error) {
	data, err := base64.StdEncoding.DecodeString(m.Data)
	if err != nil {
		return nil, err
	}
	return crc32.Update(m.Value, crc32.IEEETable, data), nil
}
