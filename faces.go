package parley

import (
	"net/url"
	"slices"
	"strings"

	"github.com/parley-run/parley/internal/face"
	"github.com/parley-run/parley/internal/registry"
)

// knownFaces are the faces that a program can have.
var knownFaces = []Face{FaceA2A, FaceAGUI, FaceAISDK, FaceMCP, FaceOpenAI}

// faces returns what creates the faces that are served.
func (c *NetworkConfig) faces() []face.New {
	var list []face.New
	for _, name := range registry.Names[face.New]() {
		if c.Faces != nil && !slices.Contains(c.Faces, Face(name)) {
			continue
		}
		if create, ok := registry.Find[face.New](name); ok {
			list = append(list, create)
		}
	}
	return list
}

// platforms returns what creates the faces of the platforms.
func (c *NetworkConfig) platforms() []face.Platform {
	var list []face.Platform
	for _, name := range c.Platforms {
		if create, ok := registry.Find[face.Platform](string(name)); ok {
			list = append(list, create)
		}
	}
	return list
}

// checkPlatforms refuses platforms that are unknown, named twice, or not linked.
func (c *NetworkConfig) checkPlatforms() error {
	if u, err := url.Parse(c.A2AURL); c.A2AURL != "" && (err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http") {
		return wrong("Network.A2AURL", "%q is not an address such as https://agents.example.com/weather", c.A2AURL)
	}
	for i, name := range c.Platforms {
		if name != PlatformAgentCore && name != PlatformFoundry || slices.Contains(c.Platforms[:i], name) {
			return wrong("Network.Platforms", "%q is unknown, or named twice: the platforms are %s and %s", string(name), PlatformAgentCore, PlatformFoundry)
		}
		if _, ok := registry.Find[face.Platform](string(name)); !ok {
			return inField("Network.Platforms", registry.Missing("the platform "+string(name), "faces"))
		}
	}
	return nil
}

// checkFaces refuses faces that are unknown, or not linked.
func (c *NetworkConfig) checkFaces() error {
	for _, name := range c.Faces {
		if !slices.Contains(knownFaces, name) {
			names := make([]string, len(knownFaces))
			for i, known := range knownFaces {
				names[i] = string(known)
			}
			return wrong("Network.Faces", "there is no face %q: the faces are %s", string(name), strings.Join(names, ", "))
		}
		if _, ok := registry.Find[face.New](string(name)); !ok {
			return inField("Network.Faces", registry.Missing("the face "+string(name), "faces"))
		}
	}
	return nil
}
