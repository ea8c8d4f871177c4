package server

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/parley-run/parley/artifact"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/document"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/tool"
)

// DefaultMaxArtifact is the default size limit of an uploaded file.
const DefaultMaxArtifact = 1 << 30

// files returns the artifacts of the session and the user that the path names.
func (s *Server) files(r *http.Request) (tool.Artifacts, error) {
	key, err := pathKey(r)
	if err == nil {
		err = s.reachable(r.Context(), key)
	}
	return s.Artifacts.In(artifact.Place{App: key.App, User: key.User, Session: key.ID}), err
}

// listArtifacts answers with the names of all files.
func (s *Server) listArtifacts(w http.ResponseWriter, r *http.Request) error {
	files, err := s.files(r)
	if err != nil {
		return err
	}
	names, err := files.List(r.Context())
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, document.Array(nil, names, wire.Quote))
	return nil
}

// target is what a path below …/artifacts/ refers to. Names may contain slashes, so the path is parsed from its end.
type target struct {
	name     string
	version  int64
	versions bool // list all versions
	metadata bool // the metadata instead of the content
}

func targetOf(r *http.Request) (t target, err error) {
	const before = 8 // segments: /apps/…/users/…/sessions/…/artifacts/
	parts := strings.Split(r.URL.EscapedPath(), "/")[before:]
	t.version = tool.LatestArtifact
	n := len(parts)
	switch {
	case n > 1 && parts[n-1] == "versions":
		t.versions, n = true, n-1
	case n > 2 && parts[n-2] == "versions" && parts[n-1] == "metadata":
		t.versions, t.metadata, n = true, true, n-2
	case n > 2 && parts[n-2] == "versions":
		t.version, err = versionOf(parts[n-1])
		n -= 2
	case n > 3 && parts[n-3] == "versions" && parts[n-1] == "metadata":
		t.version, err = versionOf(parts[n-2])
		t.metadata, n = true, n-3
	}
	if err != nil {
		return t, err
	}
	for i, part := range parts[:n] {
		if parts[i], err = url.PathUnescape(part); err != nil {
			return t, &artifact.NameError{Why: "is not percent-encoded correctly"}
		}
	}
	t.name = strings.Join(parts[:n], "/")
	return t, nil
}

// versionOf parses the number of a version.
func versionOf(text string) (int64, error) {
	if text == "latest" {
		return tool.LatestArtifact, nil
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return 0, &httpError{status: http.StatusUnprocessableEntity, message: "Invalid version ID"}
	}
	return int64(n), nil
}

// getArtifact answers with a file or its metadata.
func (s *Server) getArtifact(w http.ResponseWriter, r *http.Request) error {
	files, err := s.files(r)
	if err != nil {
		return err
	}
	t, err := targetOf(r)
	if err != nil {
		return err
	}
	query := r.URL.Query()
	if text := query.Get("version"); text != "" && t.version < 0 {
		if t.version, err = versionOf(text); err != nil {
			return err
		}
	}
	if t.versions {
		list, err := files.Versions(r.Context(), t.name)
		if err != nil {
			return err
		}
		show := appendArtifact
		if !t.metadata {
			show = func(dst []byte, a *tool.Artifact) []byte { return strconv.AppendInt(dst, a.Version, 10) }
		}
		writeJSON(w, http.StatusOK, document.Array(nil, list, show))
		return nil
	}
	a, content, err := files.Open(r.Context(), t.name, t.version)
	if errors.Is(err, tool.ErrNoArtifact) && t.metadata {
		return &httpError{status: http.StatusNotFound, message: "Artifact version not found"}
	}
	if err != nil {
		return err
	}
	defer content.Close()
	switch {
	case t.metadata:
		writeJSON(w, http.StatusOK, appendArtifact(nil, a))
		return nil
	case query.Get("alt") == "media" && a.FileURI == "":
		return download(w, r, a, content)
	}
	return writePart(w, a, content)
}

// appendArtifact appends the JSON of an ArtifactVersion.
func appendArtifact(dst []byte, a *tool.Artifact) []byte {
	dst = strconv.AppendInt(append(dst, `{"version":`...), a.Version, 10)
	dst = wire.Quote(append(dst, `,"canonicalUri":`...), a.URI)
	dst = document.State(append(dst, `,"customMetadata":`...), a.CustomMetadata)
	dst = wire.Number(append(dst, `,"createTime":`...), event.Seconds(a.Created))
	dst = wire.Quote(append(dst, `,"mimeType":`...), a.MIMEType)
	return append(dst, '}')
}

// writePart answers with a file as a part of a message. It streams the bytes, because the file may be larger than
// memory.
func writePart(w http.ResponseWriter, a *tool.Artifact, content io.Reader) error {
	if a.Text || a.FileURI != "" {
		part, err := a.Part(content)
		if err != nil {
			return err
		}
		body, err := part.MarshalJSON()
		if err != nil {
			return err
		}
		writeJSON(w, http.StatusOK, body)
		return nil
	}
	head := append(wire.Quote([]byte(`{"inlineData":{"mimeType":`), a.MIMEType), `,"data":"`...)
	const tail = `"}}`
	h := w.Header()
	h["Content-Type"] = jsonType
	h.Set("Content-Length", strconv.FormatInt(int64(len(head)+len(tail))+(a.Size+2)/3*4, 10))
	w.WriteHeader(http.StatusOK)
	_, err := w.Write(head) //nolint:gosec // it is JSON, and says so
	encoder := base64.NewEncoder(base64.StdEncoding, w)
	if err == nil {
		_, err = io.Copy(encoder, content)
	}
	if err = errors.Join(err, encoder.Close()); err == nil {
		_, err = io.WriteString(w, tail)
	}
	return err // can only be logged now; the client notices the wrong length
}

// download answers with the bytes of a file, or with a range of them. The uploader chose the content type, so a browser
// must not render it as a page of this origin.
func download(w http.ResponseWriter, r *http.Request, a *tool.Artifact, content io.ReadSeeker) error {
	h := w.Header()
	h.Set("Content-Type", a.MIMEType)
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": path.Base(a.Name)}))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("ETag", fmt.Sprintf(`"%d-%d"`, a.Version, a.Created.UnixMicro()))
	out := &ranged{ResponseWriter: w}
	http.ServeContent(out, r, "", a.Created, content)
	if !out.refused {
		return nil
	}
	for _, name := range []string{"Content-Disposition", "Content-Security-Policy", "ETag", "Last-Modified", "Accept-Ranges", "Content-Length"} {
		h.Del(name)
	}
	return &httpError{status: http.StatusRequestedRangeNotSatisfiable, message: fmt.Sprintf("Range not satisfiable: the artifact has %d bytes", a.Size)}
}

// ranged captures a refused range, so that the error has the same shape as all others.
type ranged struct {
	http.ResponseWriter
	refused bool
}

func (w *ranged) WriteHeader(status int) {
	if w.refused = status == http.StatusRequestedRangeNotSatisfiable; !w.refused {
		w.ResponseWriter.WriteHeader(status)
	}
}

func (w *ranged) Write(b []byte) (int, error) {
	if w.refused {
		return len(b), nil
	}
	return w.ResponseWriter.Write(b)
}

// saveArtifact stores {"filename", "artifact", "customMetadata"} as the next version of a file.
func (s *Server) saveArtifact(w http.ResponseWriter, r *http.Request) error {
	doc, file, err := s.artifactBody(w, r)
	if err != nil {
		return err
	}
	if file != nil {
		defer file.Close()
	}
	var name string
	var part *event.Part
	var custom map[string]json.RawMessage
	err = wire.Decode(doc, func(in *wire.Reader) error {
		return in.Object(func(member string) error {
			switch member {
			case "filename":
				return in.ID(&name)
			case "artifact":
				part = &event.Part{}
				return in.Value(part)
			case "customMetadata":
				return in.RawMap(&custom)
			}
			return in.Skip()
		})
	})
	switch {
	case err != nil:
		return err
	case name == "":
		return invalid(wire.Missing("filename"))
	case part == nil:
		return invalid(wire.Missing("artifact"))
	}
	a, content, err := tool.NewArtifact(name, part)
	if err != nil {
		return &httpError{status: http.StatusBadRequest, message: "The artifact must have text, inlineData or fileData"}
	}
	a.CustomMetadata = custom
	if file != nil && part.InlineData != nil && file.data != nil {
		if _, err := file.data.Seek(0, io.SeekStart); err != nil {
			return err
		}
		content = file.data
	} else if part.InlineData != nil && int64(len(part.InlineData.Data)) > s.MaxArtifact || int64(len(part.Text)) > s.MaxArtifact {
		return &http.MaxBytesError{Limit: s.MaxArtifact}
	}
	return s.save(w, r, a, content)
}

// inMemory is the largest body that is read as a whole.
const inMemory = 1 << 20

// artifactBody reads the JSON of a file. The bytes of a large file are spooled to disk instead of being part of it.
func (s *Server) artifactBody(w http.ResponseWriter, r *http.Request) ([]byte, *spool, error) {
	if err := accepts(r); err != nil {
		return nil, nil, err
	}
	if r.ContentLength >= 0 && r.ContentLength < min(inMemory, s.MaxBody) && header(r, encodingHeader) == "" {
		doc, err := s.body(w, r)
		return doc, nil, err
	}
	// Write nothing to disk for a session that does not exist.
	if _, err := s.sessionFiles(r); err != nil {
		return nil, nil, err
	}
	who := ""
	if c := callerOf(r); c != nil {
		who = c.ID
	}
	leave := s.spools.enter(who)
	if leave == nil {
		return nil, nil, &httpError{status: http.StatusTooManyRequests, message: "Too many large artifacts are being saved as JSON; try again, or send them with PUT", after: time.Second}
	}
	// Base64 encodes three bytes as four characters.
	body, err := contentOf(w, r, s.MaxBody+(s.MaxArtifact/3+1)*4)
	if err != nil {
		leave()
		return nil, nil, err
	}
	control := http.NewResponseController(w)
	defer func() { _ = control.SetReadDeadline(time.Time{}) }()
	file := &spool{in: bufio.NewReaderSize(newDeadlineReader(body, control), 64<<10), maxRest: s.MaxBody, maxData: s.MaxArtifact, leave: leave}
	if err := file.read(); err != nil {
		file.Close()
		return nil, nil, err
	}
	return file.rest.Bytes(), file, nil
}

// putArtifact stores the body, of any size, as the next version of a file.
func (s *Server) putArtifact(w http.ResponseWriter, r *http.Request) error {
	t, err := targetOf(r)
	if err != nil {
		return err
	}
	if t.versions || t.metadata || t.version >= 0 {
		return &httpError{status: http.StatusMethodNotAllowed, message: "Versions do not change: save the next one"}
	}
	a := tool.Artifact{Name: t.name, MIMEType: r.Header.Get("Content-Type")}
	if a.MIMEType != "" {
		if _, _, err := mime.ParseMediaType(a.MIMEType); err != nil {
			return &httpError{status: http.StatusUnsupportedMediaType, message: "The content type is not valid"}
		}
	}
	content, err := contentOf(w, r, s.MaxArtifact)
	if err != nil {
		return err
	}
	control := http.NewResponseController(w)
	defer func() { _ = control.SetReadDeadline(time.Time{}) }()
	return s.save(w, r, a, newDeadlineReader(content, control))
}

// deadlineReader reads a body that may take long. It fails when the body stalls or is slower than readSpeed, because a
// slow upload blocks space that others wait for.
type deadlineReader struct {
	io.Reader
	control *http.ResponseController
	until   time.Time // the deadline if nothing more arrives
}

const (
	readPause = time.Minute
	readSpeed = 4 << 10 // bytes per second, on average
)

func newDeadlineReader(body io.Reader, control *http.ResponseController) *deadlineReader {
	return &deadlineReader{Reader: body, control: control, until: time.Now().Add(readPause)}
}

func (p *deadlineReader) Read(b []byte) (int, error) {
	until := time.Now().Add(readPause)
	if p.until.Before(until) {
		until = p.until
	}
	_ = p.control.SetReadDeadline(until) // a connection without deadlines has no limit
	n, err := p.Reader.Read(b)
	p.until = p.until.Add(time.Duration(n) * time.Second / readSpeed)
	if err != nil && !errors.Is(err, io.EOF) {
		err = bodyError(err)
	}
	return n, err
}

// sessionFiles returns the artifacts of the session that the path names. The session must exist.
func (s *Server) sessionFiles(r *http.Request) (tool.Artifacts, error) {
	key, err := pathKey(r)
	if err != nil {
		return nil, err
	}
	if _, err := s.Store.Get(r.Context(), key, session.Read{NoEvents: true}); err != nil {
		return nil, err
	}
	return s.files(r)
}

// save stores a file in an existing session.
func (s *Server) save(w http.ResponseWriter, r *http.Request, a tool.Artifact, content io.Reader) error {
	files, err := s.sessionFiles(r)
	if err != nil {
		return err
	}
	saved, err := files.Save(r.Context(), a, content)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, appendArtifact(nil, saved))
	return nil
}

// deleteArtifact deletes all versions of a file.
func (s *Server) deleteArtifact(w http.ResponseWriter, r *http.Request) error {
	files, err := s.files(r)
	if err != nil {
		return err
	}
	t, err := targetOf(r)
	if err != nil {
		return err
	}
	if t.versions || t.metadata || t.version >= 0 {
		return &httpError{status: http.StatusMethodNotAllowed, message: "Versions are deleted with their artifact only"}
	}
	if err := files.Delete(r.Context(), t.name); err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, []byte("null"))
	return nil
}
