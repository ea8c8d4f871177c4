package artifact

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-run/parley/internal/objects/gcs"
	"github.com/parley-run/parley/internal/objects/s3"
)

// newS3 is a bucket of a server that speaks as much of the protocol of S3 as the
// client needs.
func newS3(t *testing.T) Objects {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	fake := &fakeS3{memory: memory{data: map[string][]byte{}}, parts: map[string][]byte{}}
	web := httptest.NewServer(fake)
	t.Cleanup(web.Close)
	s, err := s3.Open(parse(t, "s3://bucket/some/prefix?region=eu-central-1&endpoint="+url.QueryEscape(web.URL)))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func parse(t *testing.T, text string) *url.URL {
	t.Helper()
	at, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

type fakeS3 struct {
	memory

	partsMu sync.Mutex
	parts   map[string][]byte // of uploads, by upload and number
	uploads int
}

func (f *fakeS3) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key, query := strings.TrimPrefix(r.URL.Path, "/bucket/"), r.URL.Query()
	if !strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential=id/") {
		http.Error(w, "who are you?", http.StatusForbidden)
		return
	}
	body := r.Body
	if strings.HasPrefix(r.Header.Get("X-Amz-Content-Sha256"), "STREAMING-") {
		body = io.NopCloser(unchunk(r.Body))
	}
	f.partsMu.Lock()
	defer f.partsMu.Unlock()
	upload := query.Get("uploadId")
	switch {
	case r.Method == http.MethodPost && query.Has("uploads"):
		f.uploads++
		fmt.Fprintf(w, "<InitiateMultipartUploadResult><UploadId>up%d</UploadId></InitiateMultipartUploadResult>", f.uploads)
	case r.Method == http.MethodPut && upload != "":
		number, _ := strconv.Atoi(query.Get("partNumber"))
		data, err := io.ReadAll(body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		f.parts[fmt.Sprintf("%s/%04d", upload, number)] = data
		w.Header().Set("ETag", `"part"`)
	case r.Method == http.MethodPost && upload != "":
		var all [][]byte
		var names []string
		for name := range f.parts {
			if strings.HasPrefix(name, upload+"/") {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		for _, name := range names {
			all = append(all, f.parts[name])
		}
		_ = f.Put(r.Context(), key, bytes.NewReader(bytes.Join(all, nil)), false)
		fmt.Fprint(w, `<CompleteMultipartUploadResult><Bucket>bucket</Bucket><ETag>"whole"</ETag></CompleteMultipartUploadResult>`)
	case r.Method == http.MethodPut:
		if f.Put(r.Context(), key, body, r.Header.Get("If-None-Match") == "*") != nil {
			fault(w, http.StatusPreconditionFailed, "PreconditionFailed")
			return
		}
		w.Header().Set("ETag", `"whole"`)
	case r.Method == http.MethodDelete && upload != "":
	case r.Method == http.MethodDelete:
		_ = f.Remove(r.Context(), key)
		w.WriteHeader(http.StatusNoContent)
	case query.Get("list-type") == "2":
		f.listTo(w, r, query)
	default:
		content, err := f.Get(r.Context(), key)
		if err != nil {
			fault(w, http.StatusNotFound, "NoSuchKey")
			return
		}
		w.Header().Set("ETag", `"whole"`)
		http.ServeContent(w, r, "", time.Unix(1e9, 0), content)
	}
}

// listTo answers in pages of three.
func (f *fakeS3) listTo(w http.ResponseWriter, r *http.Request, query url.Values) {
	type object struct{ Key string }
	var page struct {
		XMLName               xml.Name `xml:"ListBucketResult"`
		IsTruncated           bool
		NextContinuationToken string
		Contents              []object
	}
	keys, _ := f.List(r.Context(), query.Get("prefix"))
	for _, key := range keys {
		if key <= query.Get("continuation-token") {
			continue
		}
		if len(page.Contents) == 3 {
			page.IsTruncated, page.NextContinuationToken = true, page.Contents[2].Key
			break
		}
		page.Contents = append(page.Contents, object{key})
	}
	_ = xml.NewEncoder(w).Encode(page)
}

func fault(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code><Message>no</Message></Error>", code)
}

// unchunk reads what is signed piece by piece.
func unchunk(r io.Reader) io.Reader {
	in := bufio.NewReader(r)
	var out bytes.Buffer
	for {
		line, err := in.ReadString('\n')
		size, bad := strconv.ParseInt(strings.SplitN(line, ";", 2)[0], 16, 64)
		if err != nil || bad != nil || size == 0 {
			return &out
		}
		_, _ = io.CopyN(&out, in, size)
		_, _ = in.ReadString('\n')
	}
}

// newGCS is the same for Google Cloud Storage.
func newGCS(t *testing.T) Objects {
	t.Helper()
	fake := &fakeGCS{memory{data: map[string][]byte{}}}
	web := httptest.NewServer(fake)
	t.Cleanup(web.Close)
	g, err := gcs.Open(parse(t, "gs://bucket/some/prefix?endpoint="+url.QueryEscape(web.URL)))
	if err != nil {
		t.Fatal(err)
	}
	g.Token = func(context.Context) (string, error) { return "token", nil }
	return g
}

type fakeGCS struct{ memory }

func (f *fakeGCS) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	if r.Header.Get("Authorization") != "Bearer token" {
		http.Error(w, `{"error":{"message":"who are you?"}}`, http.StatusUnauthorized)
		return
	}
	rest, _ := strings.CutPrefix(r.URL.Path, "/storage/v1/b/bucket/o")
	key := strings.TrimPrefix(rest, "/")
	switch {
	case r.Method == http.MethodPost && r.URL.Path == "/upload/storage/v1/b/bucket/o":
		if f.Put(r.Context(), query.Get("name"), r.Body, query.Get("ifGenerationMatch") == "0") != nil {
			http.Error(w, "{}", http.StatusPreconditionFailed)
			return
		}
		fmt.Fprint(w, "{}")
	case r.Method == http.MethodDelete:
		if _, err := f.Get(r.Context(), key); err != nil {
			http.Error(w, "{}", http.StatusNotFound)
			return
		}
		_ = f.Remove(r.Context(), key)
		w.WriteHeader(http.StatusNoContent)
	case key == "":
		type item struct {
			Name string `json:"name"`
		}
		var page struct {
			Items []item `json:"items,omitempty"`
			Next  string `json:"nextPageToken,omitempty"`
		}
		keys, _ := f.List(r.Context(), query.Get("prefix"))
		for _, key := range keys {
			if key <= query.Get("pageToken") {
				continue
			}
			if len(page.Items) == 3 {
				page.Next = page.Items[2].Name
				break
			}
			page.Items = append(page.Items, item{key})
		}
		_ = json.NewEncoder(w).Encode(page)
	default:
		content, err := f.Get(r.Context(), key)
		if err != nil {
			http.Error(w, "{}", http.StatusNotFound)
			return
		}
		http.ServeContent(w, r, "", time.Time{}, content)
	}
}
