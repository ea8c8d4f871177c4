package host

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"
)

// maxZlibStreams is how many streams of an application may be open at once: each
// has up to a megabyte of tables.
const maxZlibStreams = 64

// zlibStreams are the streams that are open, by their numbers.
type zlibStreams struct {
	mu   sync.Mutex
	last int
	open map[int]*zlibInput
}

// zlibInput is what JavaScript has written into a stream: one piece at a time.
type zlibInput struct {
	pieces chan zlibPiece
	yield  func(any) error
	ctx    context.Context //nolint:containedctx // of the operation, whose reader has no other way to get it
	begun  bool
	rest   []byte
	ended  bool
}

type zlibPiece struct {
	data       []byte
	flush, end bool
}

func (s *zlibStreams) add(in *zlibInput) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open) >= maxZlibStreams {
		return 0, coded("ERR_OUT_OF_RANGE", "%d streams of compressed data are open, and more are not allowed: end or destroy those that are not needed", maxZlibStreams)
	}
	if s.open == nil {
		s.open = map[int]*zlibInput{}
	}
	s.last++
	s.open[s.last] = in
	return s.last, nil
}

func (s *zlibStreams) remove(id int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, id)
}

// write takes a piece of input: the number of the stream, w, f for one that is to be
// flushed or e for the last one, and the data in base64.
func (s *zlibStreams) write(payload string) (string, error) {
	id, rest, _ := strings.Cut(payload, " ")
	kind, data, _ := strings.Cut(rest, " ")
	n, err := strconv.Atoi(id)
	if err != nil {
		return "", err
	}
	piece := zlibPiece{flush: kind == "f", end: kind == "e"}
	if piece.data, err = base64.StdEncoding.DecodeString(data); err != nil {
		return "", err
	}
	s.mu.Lock()
	in := s.open[n]
	s.mu.Unlock()
	if in == nil {
		return "", nil // it has ended, which its items say
	}
	select {
	case in.pieces <- piece:
		return "", nil
	default:
		return "", errors.New("the stream has not taken the piece before")
	}
}

// next returns the next piece. JavaScript asks for an item after it has written a
// piece; the empty item asks for another one.
func (in *zlibInput) next() (zlibPiece, error) {
	if in.begun {
		if err := in.yield(""); err != nil {
			return zlibPiece{}, err
		}
	}
	in.begun = true
	idle := time.NewTimer(maxPause)
	defer idle.Stop()
	select {
	case p := <-in.pieces:
		return p, nil
	case <-in.ctx.Done():
		return zlibPiece{}, context.Cause(in.ctx)
	case <-idle.C:
		return zlibPiece{}, errUnused
	}
}

var errUnused = errors.New("the stream was not used for too long, and was dropped")

func (in *zlibInput) Read(p []byte) (int, error) {
	for len(in.rest) == 0 {
		if in.ended {
			return 0, io.EOF
		}
		piece, err := in.next()
		if err != nil {
			return 0, err
		}
		in.rest, in.ended = piece.data, piece.end
	}
	n := copy(p, in.rest)
	in.rest = in.rest[n:]
	return n, nil
}

// zlibStream is a stream that compresses or decompresses. Its first item is its
// number; then come pieces of output, in base64, and empty ones, which ask for input.
func (h *Host) zlibStream(ctx context.Context, params json.RawMessage, yield func(any) error) error {
	var m struct {
		codec
		Compress bool `json:"compress"`
	}
	if err := json.Unmarshal(params, &m); err != nil {
		return fmt.Errorf("read the request: %w", err)
	}
	in := &zlibInput{pieces: make(chan zlibPiece, 1), yield: yield, ctx: ctx}
	id, err := h.zlib.add(in)
	if err != nil {
		return err
	}
	defer h.zlib.remove(id)
	if err := yield(id); err != nil {
		return err
	}
	if m.Compress {
		return m.compress(in)
	}
	r, err := m.reader(in)
	if err != nil {
		return err
	}
	for buf := make([]byte, chunkSize); ; {
		n, err := r.Read(buf)
		if n > 0 {
			if err := yield(base64.StdEncoding.EncodeToString(buf[:n])); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (c codec) compress(in *zlibInput) error {
	var out bytes.Buffer
	w, err := c.writer(&out)
	if err != nil {
		return err
	}
	for {
		piece, err := in.next()
		if err != nil {
			return err
		}
		if _, err := w.Write(piece.data); err != nil {
			return err
		}
		switch {
		case piece.end:
			err = w.Close()
		case piece.flush:
			err = w.Flush()
		}
		if err != nil {
			return err
		}
		for out.Len() > 0 {
			if err := in.yield(base64.StdEncoding.EncodeToString(out.Next(chunkSize))); err != nil {
				return err
			}
		}
		if piece.end {
			return nil
		}
	}
}
