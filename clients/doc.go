// Package clients tests the client libraries, on a real server. The tests
// themselves are beside the libraries; here is what they need.
package clients
