package credential

import (
	"maps"
	"slices"
)

// Secrets are the texts in a credential that nobody may see, such as tokens.
func (c *Credential) Secrets() (list []string) {
	if c == nil {
		return nil
	}
	collect(c.table(), &list)
	return slices.DeleteFunc(list, func(s string) bool { return s == "" })
}

func collect(t table, list *[]string) {
	for _, m := range t.members {
		if h, ok := m.value.(holder); ok {
			if inner, ok := h.inner(); ok {
				collect(inner, list)
			}
			continue
		}
		if m.trait&secret == 0 {
			continue
		}
		switch v := m.value.(type) {
		case text:
			*list = append(*list, *v.at)
		case apiKey:
			*list = append(*list, *v.at)
		case headers:
			*list = append(*list, slices.Sorted(maps.Values(*v.at))...)
		case keyFile:
			if *v.at != nil {
				collect((*v.at).table(), list)
			}
		}
	}
}
