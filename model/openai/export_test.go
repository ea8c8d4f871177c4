package openai

// Match is match, for tests.
var Match = match
