package session

import (
	"errors"
	"math"
	"strconv"
)

// Page asks for a part of a list: at most Size items (0 for all) after the one
// that Token, the answer of the page before, stands for.
type Page struct {
	Size  int
	Token string
	Filter
}

// ErrBadToken refuses a Page.Token that no list has given out.
var ErrBadToken = errors.New("invalid page token")

// After is the number that the token stands for, which is that of the last item
// of the page before; 0 for the first page.
func (p *Page) After() (int64, error) {
	if p.Token == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(p.Token, 10, 64)
	if err != nil || n < 1 {
		return 0, ErrBadToken
	}
	return n, nil
}

// Below is After for a list that counts down: all numbers are below that of the
// first page.
func (p *Page) Below() (int64, error) {
	n, err := p.After()
	if n == 0 {
		n = math.MaxInt64
	}
	return n, err
}

// Limit is how many items have to be read: one more than there are to be on the
// page, to know whether another page follows.
func (p *Page) Limit() int64 {
	if p.Size <= 0 {
		return math.MaxInt64
	}
	return int64(p.Size) + 1
}

// Cut is the page of what was read up to its Limit, and the token of the next
// one. number is what the items are numbered by.
func Cut[T any](p *Page, items []T, number func(T) int64) (page []T, next string) {
	if p.Size <= 0 || len(items) <= p.Size {
		return items, ""
	}
	return items[:p.Size], strconv.FormatInt(number(items[p.Size-1]), 10)
}
