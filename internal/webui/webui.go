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
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"
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
		server.ServeHTTP(w, r)
	}), nil
}

// files maps paths to the files of the bundle.
type files map[string]*file

type file struct {
	kind, tag string
	plain     []byte
	gzipped   func() []byte // nil if compression does not help
}

const (
	indexFile = "index.html"
	nonceMark = "{{nonce}}" // placeholder of the style nonce in the index
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
		sum := sha256.Sum256(content)
		one := &file{
			kind: mime.TypeByExtension(path.Ext(name)), plain: content,
			tag: strconv.Quote(base64.RawURLEncoding.EncodeToString(sum[:12])),
		}
		if kind := typeOf[path.Ext(name)]; kind != "" { // independent of the machine's configuration
			one.kind = kind
		}
		if path.Ext(name) != ".woff2" && len(content) > 1024 {
			one.gzipped = sync.OnceValue(func() []byte { return compress(content) })
		}
		all[strings.TrimPrefix(name, dir+"/")] = one
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

func compress(content []byte) []byte {
	var out bytes.Buffer
	zip, _ := gzip.NewWriterLevel(&out, gzip.BestCompression) // the level is valid
	_, _ = zip.Write(content)                                 // writing to a buffer cannot fail
	_ = zip.Close()
	return out.Bytes()
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
	h.Set("ETag", f.tag)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-cache")
	if strings.HasPrefix(name, "assets/") { // their names change with their content
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	if r.Header.Get("If-None-Match") == f.tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	f.write(w, r, f.plain, f.gzipped)
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
		"img-src 'self' data: blob:; media-src data: blob:; font-src 'self'; connect-src 'self'; "+
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	all[indexFile].write(w, r, bytes.ReplaceAll(all[indexFile].plain, []byte(nonceMark), []byte(nonce)), nil)
}

// notFound answers with the server's common error shape.
func notFound(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusNotFound)
	_, _ = io.WriteString(w, `{"error":"Not Found","detail":"Not Found"}`) // the client may have disconnected
}

func (f *file) write(w http.ResponseWriter, r *http.Request, content []byte, gzipped func() []byte) {
	h := w.Header()
	if gzipped != nil {
		h.Add("Vary", "Accept-Encoding")
		if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			h.Set("Content-Encoding", "gzip")
			content = gzipped()
		}
	}
	h.Set("Content-Length", strconv.Itoa(len(content)))
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_, _ = w.Write(content) // the client may have disconnected
	}
}
