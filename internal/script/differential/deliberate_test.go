package differential

// deliberate are the differences that stay, with the reason. docs/from-adk.md
// has the same table.
var deliberate = map[string]string{
	"code execution":       "An agent with a `codeExecutor` runs the code of its model. `@google/adk` 2.0.0 has the processor that does, and gives it to no agent; the comparison adds it. The output is in `codeExecutionResult.output`, and the model gets it: 2.0.0 sends `undefined`. The language is that of the block, and `outputKey` and `_code_execution_context` are not set for code.",
	"code executor fails":  "An error of an executor is a result with `OUTCOME_FAILED`, and the model goes on. In `@google/adk` it ends the agent with an error event.",
	"script output":        "Files that scripts of skills write become artifacts. `@google/adk` writes them to a directory of the machine, which `outputDirectory` names.",
	"confirmation":         "The question is an event of the model, and the response with `requestedToolConfirmations` follows it, as in Python: every call in a history has a response. The hint is written for users.",
	"empty answer":         "An answer without parts is an event, with its usage and its finish reason. `@google/adk` has none. Neither sets the `outputKey`.",
	"invalid arguments":    "The error names each argument that is wrong in one line. `@google/adk` has zod's list of issues as JSON.",
	"late answer":          "The answer to a long-running call is shown to the model where it came. `@google/adk` leaves out what was said between the call and the answer.",
	"mcp resources":        "What the model is told about `load_mcp_resource` and about the resources is worded by Parley.",
	"node failure":         "A node that fails ends with an event that has the node, `errorCode` and `errorMessage`, and the error of the run names the node. `errorType`, `attemptCount` and `isNodeError` are not sent. The code of a time-out is `NODE_TIMEOUT`.",
	"node hooks":           "What a plugin returns in place of the output of a node is in the event that ends the node: another server continues with it.",
	"node input":           "The input of a node is not an event. An agent sees its own, and not those of earlier turns.",
	"node login":           "A login is asked for as in tools: without the secrets of the `authConfig`, in both spellings, with an id that is unique in the session, and without a `message`. The credential is sealed, and later runs use it. In `@google/adk` it lasts for the run, and without `rerunOnResume` the answer is the output of the node.",
	"node output":          "An output belongs to a node: an event with the output of a workflow has `nodeInfo`, and a node that hands on the output of another one (`useAsOutput`) ends with an event that has the output and no text. Another server continues with it.",
	"node route":           "The event that ends a node has the route, also one that was chosen with `ctx.route`: another server continues with it.",
	"node tool":            "A node that is a tool runs as an agent does that is one: in a conversation of its own. Its events are not in the session, and what it asks the user is asked by the agent that has called it.",
	"output and transfer":  "An agent with an `outputSchema` and sub-agents answers with `set_model_response` if its model cannot have a schema and functions in one request. `@google/adk` sends both, which such models refuse.",
	"pending response":     "A long-running call without a result has the response `{\"status\": \"pending\"}` until it is answered: every call in a history has a response.",
	"request for input":    "A question is one event. `@google/adk` has a second one for each workflow around the node, and keeps the input in `agentState`; the server finds it in the log.",
	"skills":               "The instruction lists the skills and says how to use them. `@google/adk` 2.0.0 has such a text, and does not send it. Parley words it, and what is said about its tools and files, by itself.",
	"state of a generator": "What a generator writes to the state after an event stays. In `@google/adk` the next event may set an older value again.",
	"tool node":            "The id of the call of a `ToolNode` has the run in it, so that it is unique in the session.",
	"transfer targets":     "The declaration of `transfer_to_agent` lists the agents, and another name is an error that the model sees. In `@google/adk` it ends the agent with an error event.",
	"unknown tool":         "A call of a tool that does not exist is answered with the names of those that do, and the model goes on. In `@google/adk` it ends the agent with an error event.",
}

// everywhere are the differences of all agents, which the normalizer takes out.
var everywhere = map[string]string{
	"agent label":   "Requests have the labels that the author sets, which bills may be split by. `@google/adk` adds `adk_agent_name`.",
	"remote agents": "Events have the ids of the task and the conversation, and not the messages of the protocol (`a2a:request`, `a2a:response`). Members that are false are left out.",
	"empty actions": "Over HTTP, members of `actions` that are empty may be left out, such as `requestedToolConfirmations`. In code they are always there.",
}
