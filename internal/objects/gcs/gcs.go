// Package gcs keeps objects in a bucket of Google Cloud Storage.
package gcs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/parley-run/parley/internal/gcp"
	"github.com/parley-run/parley/internal/objects"
)

// Bucket is objects in a bucket of Google Cloud Storage. It speaks the JSON API,
// of which it needs four calls: the official client would make the whole server
// half as large again.
type Bucket struct {
	client *http.Client
	// Token is what calls are authorized with; empty for nothing.
	Token  gcp.TokenSource
	base   string // of all addresses
	bucket string
	prefix string
}

// smallSize is what is read into memory before it is sent.
const smallSize = 256 << 10

const scope = "https://www.googleapis.com/auth/devstorage.read_write"

// Open opens gs://bucket/prefix with the application's default credentials.
// With ?endpoint=http://host it is an emulator, which wants none.
func Open(at *url.URL) (*Bucket, error) {
	if err := objects.CheckBucket(at); err != nil {
		return nil, err
	}
	g := &Bucket{client: http.DefaultClient, base: "https://storage.googleapis.com", bucket: at.Host, prefix: objects.Prefix(at)}
	if endpoint := at.Query().Get("endpoint"); endpoint != "" {
		g.base = strings.TrimSuffix(endpoint, "/")
		g.Token = gcp.NoToken
		return g, nil
	}
	tokens, err := gcp.DefaultTokens(scope)
	if err != nil {
		return nil, err
	}
	g.Token = tokens
	return g, nil
}

// do makes a call. The caller closes the body of a good answer.
func (g *Bucket) do(ctx context.Context, method, path string, query url.Values, header http.Header, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, g.base+path+"?"+query.Encode(), body)
	if err != nil {
		return nil, err
	}
	maps.Copy(req.Header, header)
	token, err := g.Token(ctx)
	if err != nil {
		return nil, err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := g.client.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode/100 == 2 {
		return resp, nil
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusNotFound:
		return nil, objects.ErrMissing
	case http.StatusPreconditionFailed:
		return nil, objects.ErrExists
	}
	var said struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	_ = json.Unmarshal(text, &said) // it may be no JSON
	return nil, fmt.Errorf("the object store answers %s: %s", resp.Status, said.Error.Message)
}

// finish closes the body of an answer of which only the status counts.
func finish(resp *http.Response, err error) error {
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // so that the connection can be used again
	return resp.Body.Close()
}

func (g *Bucket) object(key string) string {
	return "/storage/v1/b/" + url.PathEscape(g.bucket) + "/o/" + url.PathEscape(g.prefix+key)
}

// Put writes an object; see objects.Objects.
func (g *Bucket) Put(ctx context.Context, key string, content io.Reader, fresh bool) error {
	query := url.Values{"uploadType": {"media"}, "name": {g.prefix + key}}
	if fresh {
		query.Set("ifGenerationMatch", "0")
	}
	// What is small has a length, and can be sent again if the connection turns
	// out to be dead.
	head, err := io.ReadAll(io.LimitReader(content, smallSize))
	if err != nil {
		return err
	}
	var body io.Reader = bytes.NewReader(head)
	if len(head) == smallSize {
		body = io.MultiReader(body, content)
	}
	header := http.Header{"Content-Type": {"application/octet-stream"}}
	return finish(g.do(ctx, http.MethodPost, "/upload/storage/v1/b/"+url.PathEscape(g.bucket)+"/o", query, header, body))
}

// Get opens an object; see objects.Objects.
func (g *Bucket) Get(ctx context.Context, key string) (io.ReadSeekCloser, error) {
	r := &remote{read: func(from int64) (*http.Response, error) {
		header := http.Header{}
		if from > 0 {
			header.Set("Range", "bytes="+strconv.FormatInt(from, 10)+"-")
		}
		return g.do(ctx, http.MethodGet, g.object(key), url.Values{"alt": {"media"}}, header, nil)
	}}
	resp, err := r.read(0)
	if err != nil {
		return nil, err
	}
	if r.size = resp.ContentLength; r.size < 0 {
		return nil, errors.Join(errors.New("the object store does not say how long an object is"), resp.Body.Close())
	}
	r.body = resp.Body
	return r, nil
}

// List lists the keys with a prefix; see objects.Objects.
func (g *Bucket) List(ctx context.Context, prefix string) ([]string, error) {
	var keys []string
	query := url.Values{"prefix": {g.prefix + prefix}, "fields": {"items(name),nextPageToken"}}
	for {
		resp, err := g.do(ctx, http.MethodGet, "/storage/v1/b/"+url.PathEscape(g.bucket)+"/o", query, nil, nil)
		if errors.Is(err, objects.ErrMissing) {
			return nil, errors.New("the bucket does not exist")
		}
		if err != nil {
			return nil, err
		}
		var page struct {
			Items []struct {
				Name string `json:"name"`
			} `json:"items"`
			Next string `json:"nextPageToken"`
		}
		err = json.NewDecoder(resp.Body).Decode(&page)
		if err = errors.Join(err, resp.Body.Close()); err != nil {
			return nil, fmt.Errorf("read the list of objects: %w", err)
		}
		for _, item := range page.Items {
			keys = append(keys, strings.TrimPrefix(item.Name, g.prefix))
		}
		if page.Next == "" {
			return keys, nil
		}
		query.Set("pageToken", page.Next)
	}
}

// Remove deletes an object; see objects.Objects.
func (g *Bucket) Remove(ctx context.Context, key string) error {
	err := finish(g.do(ctx, http.MethodDelete, g.object(key), url.Values{}, nil, nil))
	if errors.Is(err, objects.ErrMissing) {
		return nil
	}
	return err
}

// remote reads an object from where it is. Seeking costs nothing until it is
// read again.
type remote struct {
	read func(from int64) (*http.Response, error)
	size int64
	at   int64
	body io.ReadCloser // from at on; nil after a seek
}

func (r *remote) Read(p []byte) (int, error) {
	if r.at >= r.size {
		return 0, io.EOF
	}
	if r.body == nil {
		resp, err := r.read(r.at) //nolint:bodyclose // Close does it
		if err != nil {
			return 0, err
		}
		r.body = resp.Body
	}
	n, err := r.body.Read(p)
	r.at += int64(n)
	return n, err
}

func (r *remote) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.at
	case io.SeekEnd:
		offset += r.size
	}
	if offset < 0 {
		return 0, errors.New("seek before the start")
	}
	if offset != r.at {
		_ = r.Close()
	}
	r.at = offset
	return offset, nil
}

func (r *remote) Close() error {
	if r.body == nil {
		return nil
	}
	err := r.body.Close()
	r.body = nil
	return err
}
