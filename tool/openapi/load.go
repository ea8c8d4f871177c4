package openapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/parley-run/parley/internal/bounded"
)

// maxDocument limits the size of a document, and of a file that it refers to.
const maxDocument = 32 << 20

// document is a document with resolved references.
type document struct {
	*openapi3.T
	from *url.URL // the URL that it was fetched from; nil if it was not
}

func load(ctx context.Context, cfg Config, client *http.Client) (*document, error) {
	loader := openapi3.NewLoader()
	loader.Context = ctx
	loader.ReadFromURIFunc = refuseRefs
	text, doc := cfg.Spec, &document{}
	var err error
	switch {
	case cfg.File != "":
		return loadFile(loader, cfg.File)
	case cfg.URL != "":
		if text, doc.from, err = fetch(ctx, client, cfg.URL); err != nil {
			return nil, fmt.Errorf("fetch the document: %w", err)
		}
	case len(text) > maxDocument:
		return nil, fmt.Errorf("the document must not be larger than %s", bounded.Size(maxDocument))
	}
	doc.T, err = loader.LoadFromData(text)
	return doc, checked(ctx, text, doc.T, err)
}

// loadFile allows references to files in the directory of the document and below.
// Symbolic links cannot escape it.
func loadFile(loader *openapi3.Loader, file string) (*document, error) {
	abs, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	dir := filepath.Dir(abs)
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	loader.ReadFromURIFunc = func(_ *openapi3.Loader, at *url.URL) ([]byte, error) {
		if at.Scheme != "" || at.Host != "" {
			return refuseRefs(nil, at)
		}
		rel, err := filepath.Rel(dir, filepath.FromSlash(at.Path))
		if err != nil || !filepath.IsLocal(rel) {
			return nil, fmt.Errorf("the document refers to %s, which is not below its own directory", at.Path)
		}
		f, err := root.Open(rel)
		if err != nil {
			if pe, ok := errors.AsType[*fs.PathError](err); ok {
				err = pe.Err
			}
			return nil, fmt.Errorf("the document refers to %s: %w", rel, err)
		}
		return readLimited(f)
	}
	f, err := os.Open(abs) //nolint:gosec // which document it is, is the author's choice
	if err != nil {
		return nil, err
	}
	text, err := readLimited(f)
	if err != nil {
		return nil, err
	}
	doc, err := loader.LoadFromDataWithPath(text, &url.URL{Path: filepath.ToSlash(abs)})
	if err := checked(loader.Context, text, doc, err); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return &document{T: doc}, nil
}

func readLimited(r io.ReadCloser) ([]byte, error) {
	return bounded.ReadAll(r, maxDocument, "the document")
}

func refuseRefs(_ *openapi3.Loader, at *url.URL) ([]byte, error) {
	if at.Scheme != "" || at.Host != "" {
		return nil, fmt.Errorf("the document refers to %s: references to other hosts are not followed; bundle the document", at.Redacted())
	}
	return nil, fmt.Errorf("the document refers to the file %s: only a document that is given as File can do that; bundle the document", at.Path)
}

// fetch fetches a document, and returns its final URL.
func fetch(ctx context.Context, client *http.Client, address string) ([]byte, *url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || !isWeb(u) {
		return nil, nil, errors.New("URL should be an address that begins with https:// or http://")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, nil, err
	}
	req.Header.Set("Accept", "application/json, application/yaml, */*;q=0.8")
	resp, err := client.Do(req)
	if err != nil {
		return nil, nil, unaddressed(err)
	}
	if resp.StatusCode != http.StatusOK {
		_ = resp.Body.Close()
		return nil, nil, fmt.Errorf("the server answered %s", resp.Status)
	}
	text, err := readLimited(resp.Body)
	return text, resp.Request.URL, err
}

var swagger = regexp.MustCompile(`(?m)^[\s{]*["']?swagger["']?\s*:`)

// checked validates a document.
func checked(ctx context.Context, text []byte, doc *openapi3.T, err error) error {
	if (err != nil || doc.OpenAPI == "") && swagger.Match(text[:min(len(text), 4096)]) {
		return errors.New("the document is Swagger 2.0: convert it to OpenAPI 3.0 or 3.1")
	}
	if err != nil {
		return fmt.Errorf("read the document: %w", plainly(text, err))
	}
	if !strings.HasPrefix(doc.OpenAPI, "3.0.") && !strings.HasPrefix(doc.OpenAPI, "3.1.") {
		return fmt.Errorf("the document's openapi is %q: it should be 3.0.x or 3.1.x", doc.OpenAPI)
	}
	// Examples and defaults that do not match, and patterns that only JavaScript
	// supports, do not make an API unusable.
	err = doc.Validate(ctx, openapi3.DisableExamplesValidation(), openapi3.DisableSchemaDefaultsValidation(),
		openapi3.DisableSchemaPatternValidation(), openapi3.DisableSchemaFormatValidation())
	if err != nil {
		return fmt.Errorf("the document is not valid: %w", err)
	}
	return nil
}

// plainly shortens an error of reading JSON or YAML. The library tries both
// formats, and reports both errors.
func plainly(text []byte, err error) error {
	_, both, ok := strings.Cut(err.Error(), "failed to unmarshal data: json error: ")
	asJSON, asYAML, two := strings.Cut(both, ", yaml error: ")
	if !ok || !two {
		return err
	}
	if strings.HasPrefix(strings.TrimSpace(string(text[:min(len(text), 1000)])), "{") {
		asYAML = asJSON
	}
	return errors.New(strings.ReplaceAll(asYAML, "openapi3.", ""))
}
