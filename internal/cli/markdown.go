package cli

import (
	"strings"
	"unicode/utf8"
)

// The styles of text in a terminal.
const (
	styleBold  = "\x1b[1m"
	styleDim   = "\x1b[2m"
	styleCode  = "\x1b[36m"
	styleReset = "\x1b[0m"
)

// markdown shows Markdown in a terminal, in pieces as they arrive: headings and what
// is **strong** in bold, code in a color, lists with bullets, and lines broken between
// words. What it does not know stays as it is.
type markdown struct {
	width int // of the terminal; 0 if unknown, and nothing is broken

	out     strings.Builder
	begin   string // of a line, until it is clear what the line is
	body    bool   // the line has begun
	star    bool   // an asterisk, which may be one of two
	word    string // the last word with its styles, which may have to go to the next line
	letters int    // of the word
	column  int    // where the word begins
	indent  int    // of the lines that follow a break

	fence, heading, bold, code bool
	styled                     bool // the line has styles
}

// write adds a piece, and returns what can be shown of it.
func (m *markdown) write(text string) string {
	for _, r := range text {
		m.add(r)
	}
	return m.take()
}

// end returns the rest.
func (m *markdown) end() string {
	if !m.body {
		m.start()
	}
	m.endLine()
	width := m.width
	*m = markdown{width: width, out: m.out}
	return m.take()
}

func (m *markdown) take() string {
	text := m.out.String()
	m.out.Reset()
	return text
}

func (m *markdown) add(r rune) {
	switch {
	case r == '\n':
		if !m.body {
			m.start()
		}
		m.endLine()
		m.out.WriteByte('\n')
		m.body, m.column, m.indent = false, 0, 0
	case m.body:
		m.inline(r)
	default:
		m.begin += string(r)
		if !undecided(m.begin) {
			m.start()
		}
	}
}

// undecided reports whether more is needed to know what kind a line is.
func undecided(begin string) bool {
	text := strings.TrimLeft(begin, " ")
	switch {
	case len(begin) > 20:
		return false
	case text == "", text == "-", text == "*", text == "+", text == ">":
		return true
	case strings.Trim(text, "#") == "":
		return len(text) <= 6
	case strings.HasPrefix(text, "```"): // the language follows
		return true
	}
	return strings.Trim(text, "`") == ""
}

// start begins a line, whose kind is known.
func (m *markdown) start() {
	begin := m.begin
	m.begin, m.body = "", true
	text := strings.TrimLeft(begin, " ")
	space := begin[:len(begin)-len(text)]
	if strings.HasPrefix(text, "```") {
		m.fence = !m.fence
		m.style(styleDim)
		m.raw(begin)
		return
	}
	if m.fence {
		m.style(styleCode)
		m.raw(begin)
		return
	}
	mark, rest, found := strings.Cut(text, " ")
	switch {
	case found && mark != "" && strings.Trim(mark, "#") == "":
		m.heading = true
		m.style(styleBold)
		text = rest
	case found && (mark == "-" || mark == "*" || mark == "+"):
		m.raw(space + "• ")
		m.indent = len(space) + 2
		text = rest
	default:
		m.raw(space)
	}
	for _, r := range text {
		m.inline(r)
	}
}

// inline adds a letter of a line.
func (m *markdown) inline(r rune) {
	if m.fence {
		m.raw(string(r))
		return
	}
	if m.star {
		m.star = false
		if r == '*' {
			m.bold = !m.bold
			m.restyle()
			return
		}
		m.letter('*')
	}
	switch {
	case r == '`':
		m.code = !m.code
		m.restyle()
	case r == '*' && !m.code:
		m.star = true
	default:
		m.letter(r)
	}
}

// letter adds a letter to the word, or ends it.
func (m *markdown) letter(r rune) {
	if r != ' ' {
		m.word += string(r)
		m.letters++
		return
	}
	m.flush()
	if m.width == 0 || m.column < m.width {
		m.raw(" ")
	}
}

// flush shows the word, on the next line if there is no room for it.
func (m *markdown) flush() {
	if m.width > 0 && m.column > m.indent && m.column+m.letters > m.width {
		m.out.WriteString("\n" + strings.Repeat(" ", m.indent))
		m.column = m.indent
	}
	m.out.WriteString(m.word)
	m.column += m.letters
	m.word, m.letters = "", 0
}

// raw shows text as it is.
func (m *markdown) raw(text string) {
	m.flush()
	m.out.WriteString(text)
	m.column += utf8.RuneCountInString(text)
}

// endLine shows the rest of a line, and ends its styles.
func (m *markdown) endLine() {
	if m.star {
		m.star = false
		m.letter('*')
	}
	if m.styled {
		m.style(styleReset)
	}
	m.flush()
	m.heading, m.bold, m.code, m.styled = false, false, false, false
}

func (m *markdown) style(code string) {
	m.word += code
	m.styled = true
}

// restyle sets the styles again: one cannot be ended alone.
func (m *markdown) restyle() {
	m.style(styleReset)
	if m.heading || m.bold {
		m.style(styleBold)
	}
	if m.code {
		m.style(styleCode)
	}
}
