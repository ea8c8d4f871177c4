package server

// MostSpools exports limits for external tests.
const (
	MostSpools = mostSpools
	MostOfOne  = mostOfOne
)
