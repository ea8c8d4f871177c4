package session

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
)

// CorruptError means that a stored entry of a session is damaged.
type CorruptError struct {
	Key Key
	Seq int64
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("event %d of the session %s is damaged in the database; the operator can list all damaged events with: parley doctor", e.Seq, e.Key.ID)
}

var (
	errDamaged = errors.New("its bytes are not those that were written")
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

// Sum returns the checksum of the JSON of an entry. A store writes it beside the
// bytes, and passes both to Load when it reads them.
func Sum(bytes []byte) []byte {
	return binary.BigEndian.AppendUint32(nil, crc32.Checksum(bytes, castagnoli))
}

// Load returns the entry that a store has read: its sequence number, its bytes, and
// their Sum. The entry is Damaged if they do not match. A nil sum means that none
// was written; then the bytes must at least be JSON.
func Load(seq int64, text, sum []byte) *Entry {
	e := &Entry{Seq: seq, JSON: text}
	if sum == nil {
		e.damaged = !json.Valid(text)
	} else {
		e.damaged = !bytes.Equal(sum, Sum(text))
	}
	return e
}

// Damaged reports whether the entry is damaged. Such an entry cannot be decoded.
func (e *Entry) Damaged() bool { return e.damaged }

// Damage returns the error for the first damaged entry, or nil.
func (s *Session) Damage() error {
	if s.Damaged == 0 {
		return nil
	}
	return &CorruptError{Key: s.Key, Seq: s.Damaged}
}

// Add appends an entry that was read.
func (s *Session) Add(e *Entry) {
	s.Entries = append(s.Entries, e)
	if e.damaged && s.Damaged == 0 {
		s.Damaged = e.Seq
	}
}
