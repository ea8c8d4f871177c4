package differential

// deliberate are the differences that stay, with the reason. docs/from-adk.md
// has the same table.
var deliberate = map[string]string{
	"confirmation":      "The question is an event of the model, and the response with `requestedToolConfirmations` follows it, as in Python: every call in a history has a response. The hint is written for users.",
	"empty answer":      "An answer without parts is an event, with its usage and its finish reason. `@google/adk` has none. Neither sets the `outputKey`.",
	"invalid arguments": "The error names each argument that is wrong in one line. `@google/adk` has zod's list of issues as JSON.",
	"late answer":       "The answer to a long-running call is shown to the model where it came. `@google/adk` leaves out what was said between the call and the answer.",
	"pending response":  "A long-running call without a result has the response `{\"status\": \"pending\"}` until it is answered: every call in a history has a response.",
	"skills":            "The instruction lists the skills and says how to use them. `@google/adk` 2.0.0 has such a text, and does not send it. Parley words it, and what is said about its tools and files, by itself.",
	"transfer targets":  "The declaration of `transfer_to_agent` lists the agents, and another name is an error that the model sees. In `@google/adk` it ends the agent with an error event.",
	"unknown tool":      "A call of a tool that does not exist is answered with the names of those that do, and the model goes on. In `@google/adk` it ends the agent with an error event.",
}

// everywhere are the differences of all agents, which the normalizer takes out.
var everywhere = map[string]string{
	"agent label":   "Requests have the labels that the author sets, which bills may be split by. `@google/adk` adds `adk_agent_name`.",
	"empty actions": "Over HTTP, members of `actions` that are empty may be left out, such as `requestedToolConfirmations`. In code they are always there.",
}
