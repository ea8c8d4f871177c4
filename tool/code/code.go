// Package code defines executors: what runs the code that a model writes, and
// the scripts of skills.
//
// An agent with an executor runs the code block in a response of its model,
// emits an event with the code and one with the result, and calls the model
// again, which continues with the result:
//
//	agent.LLMConfig{
//		Name: "calculator", Model: m, Code: &code.Config{Executor: javascript.New(javascript.Config{})},
//		Instruction: "To calculate, write JavaScript in a block ```javascript, and print the result.",
//	}
//
// The subpackages have executors: javascript runs JavaScript inside of the
// process, container runs Python and shell scripts in Docker or Podman. BuiltIn
// has the provider of the model run the code. Others are written by
// implementing Executor.
package code

import (
	"context"
	"errors"
	"time"

	"github.com/parley-run/parley/tool"
)

// Executor runs code. Implementations must be safe for concurrent use.
type Executor interface {
	// Execute runs the code of a request. The result may say that the code has
	// failed; an error says that it could not be run. The model sees both, and
	// the run continues.
	//
	// ctx.FunctionCallID stays the same when another process repeats the
	// execution; see EffectOf. Execute returns soon after ctx is done.
	Execute(ctx *tool.Context, req *Request) (*Result, error)
}

// Request is one execution.
type Request struct {
	Code string
	// Language is one of the constants, or another name in lower case; empty
	// if it is not known.
	Language string
	// Files are what the code can read, below its working directory.
	Files []File
	// Args are arguments of a script, for programs in the form of flags.
	Args []Arg
	// ID identifies the executions that share variables and files, which are
	// those of a session; empty if nothing is shared. See Config.Stateful.
	ID string
}

// Arg is an argument of a script. An argument without a name is positional.
type Arg struct{ Name, Value string }

// Languages of requests.
const (
	Python     = "python"
	JavaScript = "javascript"
	TypeScript = "typescript"
	Shell      = "shell"
)

// File is a file that code reads or has written.
type File struct {
	Name     string // a relative path with slashes
	MIMEType string
	Data     []byte
}

// Result is the result of an execution.
type Result struct {
	Stdout string
	// Stderr says why the code has failed; empty means that it has not.
	// Warnings of code that has not failed belong to Stdout.
	Stderr string
	// Files are what the code has written. They become artifacts.
	Files []File
}

// ErrTimeout means that an execution did not end in its time.
var ErrTimeout = errors.New("the execution did not end in its time")

// EffectOf returns the effect of an execution, which decides whether it is
// repeated when its process dies before the result is stored. An executor
// declares it with a method Effect() tool.Effect; without one it is tool.Once.
func EffectOf(e Executor) tool.Effect {
	if one, ok := e.(interface{ Effect() tool.Effect }); ok {
		return one.Effect()
	}
	return tool.Once
}

// Limits of executions. Code, files and results that exceed them are refused;
// of an output, the end is cut off.
const (
	MaxCode   = 256 << 10 // bytes of code
	MaxOutput = 64 << 10  // bytes of an output
	MaxFiles  = 100       // that go in or out
	MaxBytes  = 32 << 20  // of all files that go in or out
)

// DefaultTimeout ends an execution, unless a Config or an executor has another
// limit.
const DefaultTimeout = 5 * time.Minute

// Config is how an agent runs code.
type Config struct {
	Executor Executor
	// Blocks enclose code in a response; nil means DefaultBlocks. The first block
	// of a response is run, and what follows it is dropped: the model wrote it
	// without knowing the result.
	Blocks []Block
	// ResultBlock encloses a result in a request to the model. The zero value
	// means "```tool_output\n" and "\n```".
	ResultBlock Block
	// ErrorRetries is how many executions may fail in a row in a run of the
	// agent before code is not run any more; 0 means 2, and a negative number
	// means that no code is run.
	ErrorRetries int
	// DataFiles offers the CSV files of the user's messages to the code, and has
	// the executor describe each with Python code that uses pandas before the
	// model sees it.
	DataFiles bool
	// Stateful identifies the session to the executor, in Request.ID.
	Stateful bool
	// Timeout ends an execution; 0 means DefaultTimeout.
	Timeout time.Duration
}

// Block encloses code, or a result.
type Block struct {
	Open, Close string
	Language    string // of Request
}

// DefaultBlocks returns the blocks that are run if Config.Blocks is nil.
func DefaultBlocks() []Block {
	return []Block{
		{"```tool_code\n", "\n```", Python},
		{"```python\n", "\n```", Python},
		{"```javascript\n", "\n```", JavaScript},
		{"```typescript\n", "\n```", TypeScript},
		{"```bash\n", "\n```", Shell},
		{"```sh\n", "\n```", Shell},
	}
}

// BuiltIn has the provider of the model run the code, which only Gemini does:
// other models refuse the request. The response of the model has the code and
// the results. Settings of Config have no effect.
type BuiltIn struct{}

// Execute returns an error: nothing is executed here.
func (BuiltIn) Execute(*tool.Context, *Request) (*Result, error) {
	return nil, errors.New("only the model runs code with BuiltIn: scripts need another executor")
}

// WithTimeout returns ctx with a time limit whose cause is ErrTimeout, for
// executors.
func WithTimeout(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, limit, ErrTimeout)
}
