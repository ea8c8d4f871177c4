package server

// MostSpools is for tests from outside.
const (
	MostSpools = mostSpools
	MostOfOne  = mostOfOne
)
