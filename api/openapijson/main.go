// Openapijson converts the OpenAPI document in its input from YAML to JSON, with one
// member a line, so that programs need no parser of YAML to serve it.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/goccy/go-yaml"
)

func main() {
	if err := convert(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "openapijson:", err)
		os.Exit(1)
	}
}

func convert(in io.Reader, out io.Writer) error {
	text, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	doc, err := yaml.YAMLToJSON(text)
	if err != nil {
		return err
	}
	var lines bytes.Buffer
	if err := json.Indent(&lines, doc, "", " "); err != nil {
		return err
	}
	_, err = out.Write(append(bytes.TrimSpace(lines.Bytes()), '\n'))
	return err
}
