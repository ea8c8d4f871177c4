package node

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"sync"

	"github.com/parley-run/parley/internal/script/engine"
	"github.com/parley-run/parley/internal/wire"
)

// maxLine is how many bytes of a line of the output go to the log at once.
const maxLine = 16 << 10

// output is what the process has printed last.
type output struct {
	mu   sync.Mutex
	text string
}

// maxOutput is how many bytes output keeps.
const maxOutput = 8 << 10

func (o *output) add(line string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text += line + "\n"
	o.text = o.text[max(0, len(o.text)-maxOutput):]
}

func (o *output) last() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text
}

// forward logs what the process prints without console, as native code and
// processes do, line by line.
func (p *process) forward(from io.Reader, level string) {
	in := bufio.NewReaderSize(from, maxLine)
	for {
		line, err := in.ReadSlice('\n')
		if text := strings.TrimRight(string(line), "\r\n"); text != "" {
			if level == "error" {
				p.output.add(text)
			}
			payload := `{"level":` + string(wire.Quote(nil, level)) + `,"text":` + string(wire.Quote(nil, strings.ToValidUTF8(text, "\ufffd"))) + `}`
			_, _ = engine.Dispatch(p.functions, "console", payload) // if it cannot be logged, there is nowhere to say so
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}
