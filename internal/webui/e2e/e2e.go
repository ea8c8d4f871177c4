// Package e2e tests the developer UI in a real browser, on a real server. The
// tests themselves are in web/e2e; here is what they need.
package e2e
