// Package s3 keeps objects in a bucket of Amazon S3, or of a store that speaks the same protocol.
package s3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/parley-run/parley/internal/objects"
)

// Bucket is objects in a bucket of Amazon S3, or of one of the many stores that
// speak the same protocol and know If-None-Match.
type Bucket struct {
	client *minio.Client
	bucket string
	prefix string
}

// Open opens s3://bucket/prefix, with ?region= and, for other stores than
// Amazon's, ?endpoint=https://host. Credentials come from where the tools of AWS
// look for them.
func Open(at *url.URL) (*Bucket, error) {
	if err := objects.CheckBucket(at); err != nil {
		return nil, err
	}
	query := at.Query()
	host, secure := "s3.amazonaws.com", true
	if endpoint := query.Get("endpoint"); endpoint != "" {
		to, err := url.Parse(endpoint)
		if err != nil || to.Host == "" || to.Scheme != "https" && to.Scheme != "http" {
			return nil, errors.New("the endpoint must be like https://host or http://host:port")
		}
		host, secure = to.Host, to.Scheme == "https"
	}
	client, err := minio.New(host, &minio.Options{
		Secure: secure, Region: query.Get("region"),
		Creds: credentials.NewChainCredentials([]credentials.Provider{
			&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, &credentials.IAM{},
		}),
	})
	if err != nil {
		return nil, err
	}
	return &Bucket{client, at.Host, objects.Prefix(at)}, nil
}

// PartSize is how much of a large object is in memory on its way.
const PartSize = 8 << 20

// Put writes an object; see objects.Objects.
func (s *Bucket) Put(ctx context.Context, key string, content io.Reader, fresh bool) error {
	// An object that is small is sent at once, and the length of larger ones is
	// not known.
	size := int64(-1)
	head, err := io.ReadAll(io.LimitReader(content, smallSize))
	if err != nil {
		return err
	}
	if len(head) < smallSize {
		size = int64(len(head))
	}
	options := minio.PutObjectOptions{PartSize: PartSize, NumThreads: 1}
	if fresh {
		options.SetMatchETagExcept("*")
	}
	_, err = s.client.PutObject(ctx, s.bucket, s.prefix+key, io.MultiReader(bytes.NewReader(head), content), size, options)
	return s.explain(err)
}

const smallSize = 256 << 10

// explain makes our errors of the store's.
func (s *Bucket) explain(err error) error {
	if err == nil {
		return nil
	}
	switch answer := minio.ToErrorResponse(err); {
	case answer.StatusCode == http.StatusPreconditionFailed,
		answer.StatusCode == http.StatusConflict: // two at once
		return objects.ErrExists
	case answer.Code == minio.NoSuchKey:
		return objects.ErrMissing
	case answer.Code != "":
		return fmt.Errorf("the object store says: %s (%s)", strings.TrimSuffix(answer.Message, "."), answer.Code)
	}
	return err
}

// Get opens an object; see objects.Objects.
func (s *Bucket) Get(ctx context.Context, key string) (io.ReadSeekCloser, error) {
	object, err := s.client.GetObject(ctx, s.bucket, s.prefix+key, minio.GetObjectOptions{})
	if err != nil {
		return nil, s.explain(err)
	}
	if _, err := object.Stat(); err != nil { // nothing has been asked until now
		return nil, errors.Join(s.explain(err), object.Close())
	}
	return &reading{object, s}, nil
}

// reading is an object that may go while it is read.
type reading struct {
	*minio.Object
	store *Bucket
}

func (o *reading) Read(p []byte) (int, error) {
	n, err := o.Object.Read(p)
	return n, o.store.explain(err)
}

// List lists the keys with a prefix; see objects.Objects.
func (s *Bucket) List(ctx context.Context, prefix string) ([]string, error) {
	var keys []string
	for object := range s.client.ListObjectsIter(ctx, s.bucket, minio.ListObjectsOptions{Prefix: s.prefix + prefix, Recursive: true}) {
		if object.Err != nil {
			return nil, s.explain(object.Err)
		}
		keys = append(keys, strings.TrimPrefix(object.Key, s.prefix))
	}
	return keys, nil
}

// Remove deletes an object; see objects.Objects.
func (s *Bucket) Remove(ctx context.Context, key string) error {
	err := s.explain(s.client.RemoveObject(ctx, s.bucket, s.prefix+key, minio.RemoveObjectOptions{}))
	if errors.Is(err, objects.ErrMissing) {
		return nil
	}
	return err
}
