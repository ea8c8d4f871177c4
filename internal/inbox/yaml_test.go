package inbox

import (
	"github.com/goccy/go-yaml"

	parts "github.com/parley-run/parley/internal/link"
	"github.com/parley-run/parley/internal/registry"
)

func init() { registry.Register[parts.YAML]("", yaml.YAMLToJSON) }
