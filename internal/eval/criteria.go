package eval

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/parley-run/parley/internal/wire"
)

// CriteriaFile is the file in an application's directory with what its evaluations measure
// unless they say otherwise. Other tools give it the same name.
const CriteriaFile = "test_config.json"

// Criteria returns what the evaluations of an application measure unless they say
// otherwise, and whether a file says so.
func (s *Service) Criteria(app string) (metrics []Metric, stored bool, err error) {
	f, ok := s.files(app)
	if !ok {
		return DefaultMetrics(), false, nil
	}
	doc, err := f.read(CriteriaFile, "File", CriteriaFile)
	if problem, ok := errors.AsType[*Error](err); ok && problem.Kind == NotFound {
		return DefaultMetrics(), false, nil
	}
	if err != nil {
		return nil, false, err
	}
	if metrics, err = ReadConfig(doc); err != nil {
		return nil, false, invalid("The criteria in %s cannot be read: %v", CriteriaFile, err)
	}
	return metrics, true, nil
}

// SetCriteria stores what the evaluations of an application measure. Other members of the
// file stay.
func (s *Service) SetCriteria(app string, metrics []Metric) error {
	f, err := s.writable(app)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]json.RawMessage{}
	doc, err := f.read(CriteriaFile, "File", CriteriaFile)
	if problem, ok := errors.AsType[*Error](err); ok && problem.Kind == NotFound {
		doc = nil
	} else if err != nil {
		return err
	}
	if doc != nil && (json.Unmarshal(doc, &all) != nil || all == nil) {
		return invalid("The file %s is not a JSON object: correct it or delete it", CriteriaFile)
	}
	criteria := []byte{'{'}
	for i := range metrics {
		m := &metrics[i]
		if slices.ContainsFunc(metrics[:i], func(other Metric) bool { return other.Name == m.Name }) {
			return invalid("The metric %s is there twice", m.Name)
		}
		if i > 0 {
			criteria = append(criteria, ',')
		}
		var value any = m.Threshold
		if m.Criterion != nil {
			value = m.Criterion
		}
		one, err := json.Marshal(value)
		if err != nil {
			return err
		}
		criteria = append(append(wire.Quote(criteria, m.Name), ':'), one...)
	}
	all["criteria"] = append(criteria, '}')
	text, err := json.Marshal(all)
	if err != nil {
		return err
	}
	if _, err := ReadConfig(text); err != nil {
		return fmt.Errorf("check the criteria before they are stored: %w", err)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", "  "); err != nil {
		return err
	}
	out.WriteByte('\n')
	return f.write(CriteriaFile, out.Bytes())
}
