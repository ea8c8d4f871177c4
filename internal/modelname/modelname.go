// Package modelname lets contexts resolve the names of models.
package modelname

// Key is the context key of the function that resolves the names of model.Named
// models. The type of the value is func(name string) (model.Model, error).
type Key struct{}
