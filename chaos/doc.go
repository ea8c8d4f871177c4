// Package chaos is the fault-injection suite: it starts servers, does to them
// what happens to servers, remembers what was acknowledged to clients, and looks
// afterwards whether that is what the database holds. See docs/durability.md.
//
// It consists of tests only. The server that they start is in fixture.
package chaos
