// Package webui serves the developer UI and the guide: bundles that are built from
// web/ and docs/ and embedded in the binary. A directory can replace the UI.
package webui

import (
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"os"
	"path"
	"strconv"
	"strings"
)

//go:embed all:dist all:guide
var bundles embed.FS

// Root is the path of the bundle's files. Every path below it is one of its screens.
const Root = "/ui/"

// DevUI is the path of the UI on other servers. Login providers have it as a redirect URI.
const DevUI = "/dev-ui/"

// Guide is the path of the documentation.
const Guide = "/docs/guide/"

// Handler serves the UI at the root path, below Root and at DevUI, and the documentation below Guide. With dir, DevUI
// serves the files in that directory instead, such as the stock bundle of adk-web.
func Handler(dir string) (http.Handler, error) {
	own, err := load(bundles, "dist")
	if err != nil {
		return nil, err
	}
	guide, err := load(bundles, "guide")
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", own.index)
	mux.HandleFunc("GET "+Root, own.serve)
	mux.HandleFunc("GET "+Guide, guide.page)
	mux.HandleFunc("GET "+DevUI+runtimeConfig, serveRuntimeConfig)
	if dir == "" {
		mux.HandleFunc("GET "+DevUI+"{$}", own.index)
		mux.HandleFunc("GET "+DevUI, func(w http.ResponseWriter, _ *http.Request) { notFound(w) })
		return mux, nil
	}
	other, err := open(dir)
	if err != nil {
		return nil, err
	}
	mux.Handle("GET "+DevUI, http.StripPrefix(strings.TrimSuffix(DevUI, "/"), other))
	return mux, nil
}

// runtimeConfig is the path of adk-web's settings: the backend is the origin of the page, and telemetry is off.
const runtimeConfig = "assets/config/runtime-config.json"

func serveRuntimeConfig(w http.ResponseWriter, _ *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-cache")
	_, _ = io.WriteString(w, `{"backendUrl":"","telemetry":false}`) // the client may have disconnected
}

// open serves the files of a directory, and nothing outside of it.
func open(dir string) (http.Handler, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	files := root.FS()
	if _, err := fs.Stat(files, "index.html"); err != nil {
		_ = root.Close()
		return nil, fmt.Errorf("%s has no index.html: give the directory with the built files of a UI", dir)
	}
	server := http.FileServerFS(files)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/")
		if info, err := fs.Stat(files, name); name != "" && (err != nil || info.IsDir()) { // directories are not listed
			notFound(w)
			return
		}
		h := w.Header()
		h.Set("Cache-Control", "no-cache") // it is unknown which names are hashed
		h.Set("X-Content-Type-Options", "nosniff")
		compress(server, w, r)
	}), nil
}

// compress serves a file, compressed if its kind, the client and the request allow it.
func compress(server http.Handler, w http.ResponseWriter, r *http.Request) {
	ext := path.Ext(r.URL.Path)
	switch kind := typeOf[ext]; {
	case ext == "" && strings.HasSuffix(r.URL.Path, "/"), ext == ".svg", ext == ".json", strings.HasPrefix(kind, "text/"):
	default:
		server.ServeHTTP(w, r)
		return
	}
	w.Header().Add("Vary", "Accept-Encoding")
	if !acceptsGzip(r) || r.Header.Get("Range") != "" || strings.HasSuffix(r.URL.Path, "/"+indexFile) { // which is a redirect
		server.ServeHTTP(w, r)
		return
	}
	w.Header().Set("Content-Encoding", "gzip") // the file server then sets no length
	compressed := &gzipWriter{ResponseWriter: w}
	server.ServeHTTP(compressed, r)
	if compressed.to != nil {
		_ = compressed.to.Close() // the client may have disconnected
	}
}

// gzipWriter compresses a body, if there is one and its header still says so: package http deletes Content-Encoding
// before it writes an error.
type gzipWriter struct {
	http.ResponseWriter
	to *gzip.Writer
}

func (w *gzipWriter) Write(p []byte) (int, error) {
	if w.Header().Get("Content-Encoding") != "gzip" {
		return w.ResponseWriter.Write(p)
	}
	if w.to == nil {
		w.to = gzip.NewWriter(w.ResponseWriter)
	}
	return w.to.Write(p)
}

// files maps paths to the files of the bundle.
type files map[string]*file

type file struct {
	kind, tag string
	content   []byte
	gzipped   bool // content is compressed
}

const (
	indexFile = "index.html"
	nonceMark = "{{nonce}}" // placeholder of the style nonce in the index

	// diagramFile is the page in which diagrams are drawn. It has no origin, even without the frame around it, and a
	// policy of its own in its text, which allows its script and styles, and loads nothing.
	diagramFile = "diagram.html"
)

// load reads the bundle in dir once, so that a request only has to select a file.
func load(from fs.FS, dir string) (files, error) {
	all := files{}
	err := fs.WalkDir(from, dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		name, gzipped := strings.CutSuffix(strings.TrimPrefix(name, dir+"/"), ".gz")
		sum := sha256.Sum256(content)
		one := &file{
			kind: mime.TypeByExtension(path.Ext(name)), content: content, gzipped: gzipped,
			tag: base64.RawURLEncoding.EncodeToString(sum[:12]),
		}
		if kind := typeOf[path.Ext(name)]; kind != "" { // independent of the machine's configuration
			one.kind = kind
		}
		all[name] = one
		return nil
	})
	if err == nil && all[indexFile] == nil {
		err = fmt.Errorf("the bundle in %s has no %s", dir, indexFile)
	}
	return all, err
}

var typeOf = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
	".svg": "image/svg+xml", ".woff2": "font/woff2", ".txt": "text/plain; charset=utf-8", ".json": "application/json", ".png": "image/png",
}

// serve answers with a file or, if there is none, with the index: the path is one of its screens.
func (all files) serve(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, Root)
	one := all[name]
	switch {
	case one == nil && strings.HasPrefix(name, "assets/"):
		notFound(w) // a screen in place of a script would be misleading
		return
	case one == nil || name == indexFile:
		all.index(w, r)
		return
	case name == diagramFile:
		w.Header().Set("Content-Security-Policy", "sandbox allow-scripts; base-uri 'none'; form-action 'none'; frame-ancestors 'self'")
	}
	one.serve(w, r, name)
}

// page serves a file of the guide. All of its scripts and styles are files.
func (all files) page(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, Guide)
	if name == "" {
		name = indexFile
	}
	one := all[name]
	if one == nil {
		notFound(w)
		return
	}
	w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "+
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	one.serve(w, r, name)
}

// serve answers with a file, unless the client has cached it.
func (f *file) serve(w http.ResponseWriter, r *http.Request, name string) {
	h := w.Header()
	h.Set("Content-Type", f.kind)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-cache")
	if strings.HasPrefix(name, "assets/") { // their names change with their content
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	tag, plain := f.tag, f.gzipped && !acceptsGzip(r)
	if f.gzipped {
		h.Add("Vary", "Accept-Encoding")
	}
	if plain {
		tag += "-plain" // other bytes need another tag
	}
	tag = strconv.Quote(tag)
	h.Set("ETag", tag)
	if strings.Contains(r.Header.Get("If-None-Match"), tag) { // one of several, or weakened by a proxy
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if plain {
		f.writePlain(w, r)
		return
	}
	if f.gzipped {
		h.Set("Content-Encoding", "gzip")
	}
	write(w, r, f.content)
}

// index answers with the page. Styles that its libraries create at run time need the nonce; scripts and all other
// styles are files.
func (all files) index(w http.ResponseWriter, r *http.Request) {
	nonce := rand.Text()
	h := w.Header()
	h.Set("Content-Type", all[indexFile].kind)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer") // the URL contains the code after a login
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-"+nonce+"'; "+
		"img-src 'self' data: blob:; media-src 'self' data: blob:; font-src 'self'; connect-src 'self'; frame-src 'self'; "+
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	write(w, r, bytes.ReplaceAll(all[indexFile].content, []byte(nonceMark), []byte(nonce)))
}

// notFound answers with the server's common error shape.
func notFound(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusNotFound)
	_, _ = io.WriteString(w, `{"error":"Not Found","detail":"Not Found"}`) // the client may have disconnected
}

func write(w http.ResponseWriter, r *http.Request, content []byte) {
	w.Header().Set("Content-Length", strconv.Itoa(len(content)))
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_, _ = w.Write(content) // the client may have disconnected
	}
}

// writePlain decompresses the file for a client that cannot, such as curl without --compressed.
func (f *file) writePlain(w http.ResponseWriter, r *http.Request) {
	size := binary.LittleEndian.Uint32(f.content[len(f.content)-4:]) // where the format has it
	w.Header().Set("Content-Length", strconv.FormatUint(uint64(size), 10))
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return
	}
	if content, err := gzip.NewReader(bytes.NewReader(f.content)); err == nil { // a test reads all files
		_, _ = io.Copy(w, content) //nolint:gosec // our own files; the client may have disconnected
	}
}

// acceptsGzip reports whether the client takes compressed answers.
func acceptsGzip(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		coding, weight, _ := strings.Cut(part, ";")
		if strings.EqualFold(strings.TrimSpace(coding), "gzip") {
			_, q, ok := strings.Cut(weight, "=")
			return !ok || strings.Trim(q, " 0.") != ""
		}
	}
	return false
}
