// Openapijson joins the files of the OpenAPI document in a directory into one document in
// JSON, with one member a line, so that programs need no parser of YAML to serve it.
//
// The files are parts of the document: one for the document itself (openapi.yaml) and one
// for each group of routes, with the schemas that only these use. A member is defined in
// one file.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/goccy/go-yaml"
)

func main() {
	err := errors.New("name the directory of the OpenAPI document")
	if len(os.Args) == 2 {
		err = convert(os.Args[1], os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "openapijson:", err)
		os.Exit(1)
	}
}

// mainFile is the first, so that the document begins as it should.
const mainFile = "openapi.yaml"

func convert(dir string, out io.Writer) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return err
	}
	doc, err := read(filepath.Join(dir, mainFile))
	if err != nil {
		return err
	}
	for _, file := range files {
		if filepath.Base(file) == mainFile {
			continue
		}
		part, err := read(file)
		if err == nil {
			doc, err = join(doc, part, "")
		}
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	text, err := yaml.MarshalWithOptions(doc, yaml.JSON())
	if err != nil {
		return err
	}
	var lines bytes.Buffer
	if err := json.Indent(&lines, text, "", " "); err != nil {
		return err
	}
	_, err = out.Write(append(bytes.TrimSpace(lines.Bytes()), '\n'))
	return err
}

func read(file string) (part yaml.MapSlice, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	err = yaml.UnmarshalWithOptions(text, &part, yaml.UseOrderedMap())
	return part, err
}

// sections are the members of the document that files share.
var sections = map[any]bool{
	"paths": true, "components": true, "schemas": true, "parameters": true, "headers": true, "requestBodies": true,
	"responses": true, "examples": true,
}

// join adds the members of part to doc. at is where they are in the document.
func join(doc, part yaml.MapSlice, at string) (yaml.MapSlice, error) {
	for _, item := range part {
		name := fmt.Sprint(at, "/", item.Key)
		i := indexOf(doc, item.Key)
		if i < 0 {
			doc = append(doc, item)
			continue
		}
		have, ok := doc[i].Value.(yaml.MapSlice)
		more, both := item.Value.(yaml.MapSlice)
		if !ok || !both || !sections[item.Key] {
			return nil, fmt.Errorf("%s is defined in another file, too", name)
		}
		var err error
		if doc[i].Value, err = join(have, more, name); err != nil {
			return nil, err
		}
	}
	return doc, nil
}

func indexOf(doc yaml.MapSlice, key any) int {
	for i, item := range doc {
		if item.Key == key {
			return i
		}
	}
	return -1
}
