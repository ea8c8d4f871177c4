package parley

import (
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
