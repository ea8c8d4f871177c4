package session

import (
	"errors"
	"math"
	"strconv"
)

// Page requests a part of a list: at most Size items (0 for all) after the one that
// Token stands for. Token is a result of the previous page.
type Page struct {
	Size  int
	Token string
	Filter
	// Ends makes List also return the first and the last entries of each session, as
	// many of each, except those of more than MaxEnd bytes. A store may omit them.
	Ends int
}

// MaxEnd is the size limit of an entry that Page.Ends returns.
const MaxEnd = 64 << 10

// ErrBadToken rejects a Page.Token that no list has returned.
var ErrBadToken = errors.New("invalid page token")

// After returns the number that the token stands for, which is that of the last
// item of the previous page; 0 for the first page.
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

// Below is like After for a descending list: the items of the page have numbers
// below it. It is the largest number for the first page.
func (p *Page) Below() (int64, error) {
	n, err := p.After()
	if n == 0 {
		n = math.MaxInt64
	}
	return n, err
}

// Limit returns how many items to read: one more than the page size, to detect
// whether another page follows.
func (p *Page) Limit() int64 {
	if p.Size <= 0 {
		return math.MaxInt64
	}
	return int64(p.Size) + 1
}

// Cut returns a page and the token of the next page. items are what a store has
// read: the first Limit items after the number After, in order. number returns the
// number of an item.
func Cut[T any](p *Page, items []T, number func(T) int64) (page []T, next string) {
	if p.Size <= 0 || len(items) <= p.Size {
		return items, ""
	}
	return items[:p.Size], strconv.FormatInt(number(items[p.Size-1]), 10)
}
