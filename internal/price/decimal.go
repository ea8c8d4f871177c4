package price

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Rate is a price in millionths of a US dollar for a million tokens. Its JSON is a number
// of US dollars for a million tokens, with at most six decimal places.
type Rate int64

const (
	rateDigits = 6
	nanoDigits = 9
	// maxWhole is the number of digits before the point that fit in an int64.
	maxWhole = 9
)

// UnmarshalJSON implements json.Unmarshaler.
func (r *Rate) UnmarshalJSON(text []byte) error {
	n, err := decimal(string(text), rateDigits)
	if err != nil {
		return fmt.Errorf("%s is not a price: %w", text, err)
	}
	*r = Rate(n)
	return nil
}

// MarshalJSON implements json.Marshaler.
func (r Rate) MarshalJSON() ([]byte, error) { return []byte(format(int64(r), rateDigits)), nil }

// USD formats billionths of a US dollar as a number of US dollars, as in 0.25.
func USD(nanos int64) string { return format(nanos, nanoDigits) }

// decimal reads a number that is not negative, times 10 to the power of digits.
func decimal(text string, digits int) (int64, error) {
	whole, fraction, point := strings.Cut(text, ".")
	fraction, zeros := strings.TrimRight(fraction, "0"), fraction
	switch {
	case !isDigits(whole) || point && !isDigits(zeros):
		return 0, errors.New("it must be a number such as 0.25, which is not negative")
	case len(fraction) > digits:
		return 0, fmt.Errorf("it has more than %d decimal places", digits)
	}
	if whole = strings.TrimLeft(whole, "0"); len(whole) > maxWhole {
		return 0, errors.New("it is too large")
	}
	return strconv.ParseInt("0"+whole+fraction+strings.Repeat("0", digits-len(fraction)), 10, 64)
}

func isDigits(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}

func format(n int64, digits int) string {
	text := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, text = "-", text[1:]
	}
	if len(text) <= digits {
		text = strings.Repeat("0", digits-len(text)+1) + text
	}
	whole, fraction := text[:len(text)-digits], strings.TrimRight(text[len(text)-digits:], "0")
	if fraction == "" {
		return sign + whole
	}
	return sign + whole + "." + fraction
}
