package pgtest

// Tail is the end of the server's log.
func (s *Server) Tail() string { return s.tail() }
