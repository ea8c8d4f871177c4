package script_test

// talks are about what agents, tools, callbacks and models can do.
var talks = []talk{
	{dir: "ready_tools", models: says{flash: `
		tell instruction
		call load_web_page{"url":"/page"} & load_web_page{"url":"/none"}
		Read.`}, story: `
> Hello
reader: Read.↵↵These examples show how such questions are answered well.↵↵Example 1↵[user] Roll a die↵[model] calls roll({"sides":6})↵[model] A four. (end)
> Read it
reader: call load_web_page{"url":"/page"} call load_web_page{"url":"/none"}
reader: load_web_page returned {"result":"Failed to fetch url: it is not in the public internet; a tool of your own can fetch it"} load_web_page returned {"result":"Failed to fetch url: it is not in the public internet; a tool of your own can fetch it"}
reader: Read. (end)`},
	{dir: "planners", models: says{"react": "/*PLANNING*/ 1. say x /*FINAL_ANSWER*/ x", "loud": "tell instruction"}, story: `
> Hello
react: /*PLANNING*/ 1. say x  x state{"answer":"x"}
loud: SHOUT.↵↵THINK, LOUD, OF 2. state{"parts":1} (end)`},
	{dir: "compaction", models: says{
		"byModel":    "Something that is long enough to be made shorter.\ntell contents",
		"byFunction": "Something else.\ntell contents",
		"byCount":    "Enough.\ntell contents", "summary-model": "tell instruction",
	}, story: `
> Hello, you all there
byModel: Something that is long enough to be made shorter.
byFunction: Something else.
byCount: Enough. (end)
> Again
byModel: metadata{"compaction":{"firstEventId":"…","lastEventId":"…"}}
byModel: user What was said before, in short: Shorten it. | user Again
byFunction: metadata{"compaction":{"firstEventId":"…","lastEventId":"…"}}
byFunction: user What was said before, in short: 4 events, first of user | user Again | user For context: [byModel] said: user What was said before, in short: Shorten it. | user Again
byCount: metadata{"compaction":{"firstEventId":"…","lastEventId":"…"}}
byCount: user Hello, you all there | model Enough. | user Again | user For context: [byModel] said: user What was said before, in short: Shorten it. | user Again | user For context: [byFunction] said: user What was said before, in short: 4 events, first of user | user Again | user For context: [byModel] said: user What was said before, in short: Shorten it. | user Again (end)`},
	{dir: "compactors", models: says{
		"anchored":      "Something that is long enough to be made shorter.\ntell contents\ntell contents",
		"controlled":    "Hi.\ncall consolidate_context{\"detail\":\"the greeting\"}\ntell contents\nBye.",
		"summary-model": "We greeted each other.",
	}, story: `
> Hello, you all there
anchored: Something that is long enough to be made shorter.
controlled: Hi.
thinker: 1.  sent 0 thoughts (end)
> Again
anchored: metadata{"compaction":{"firstEventId":"…","lastEventId":"…","anchored":true}}
anchored: user What was said before, in short: 4 events | user Again
controlled: call consolidate_context{"detail":"the greeting"}
controlled: consolidate_context returned {"status":"success","message":"The conversation will be summed up."}
controlled: metadata{"compaction":{"firstEventId":"…","lastEventId":"…"}}
controlled: user What was said before, in short: We greeted each other. | model call consolidate_context{"detail":"the greeting"} | user consolidate_context returned {"status":"success","message":"The conversation will be summed up."}
thinker: 2.  sent 1 thoughts (end)
> More
anchored: metadata{"compaction":{"firstEventId":"…","lastEventId":"…","anchored":true}}
anchored: user What was said before, in short: 4 events, 7 events | user More
controlled: Bye.
thinker: 2.  sent 1 thoughts (end)`, log: []string{"trigger Auto", "trigger AgentControlled", "pruned true false 1"}},
	{dir: "compaction_hooks", models: says{"root": "tell instruction\ntell instruction"}, story: `
> One
root: nothing (end)
> Two
root: metadata{"compaction":{"firstEventId":"…","lastEventId":"…"}}
root: before in root: true, after in root (end)`},
	{dir: "routed", models: says{"small": `
		Hi.
		fail
		fail`, "large": `
		It depends.
		Instead.
		fail`}, story: `
> Hello
brief: Hi. (end)
> What do you think of it?
thorough: It depends. (end)
> Again
thorough: Instead. (end)
> And now?
failed: parley: model scripted: no route to the model
> odd
failed: parley: route of agent desk: it returned "middle"; the keys are: short, long`},
	{dir: "plugins", models: says{flash: `
		tell contents
		tell instruction
		tell tools
		Shout.
		call look{"of":"x"} & destroy{"of":"all"} & breaks{}
		Done.
		fail`}, story: `
> psst
clerk:
clerk: user something secret (end)
clerk: state{"runs":1}
> Hello
clerk:
clerk: You are at Hello. clerk clerk↵↵You are an agent. Your internal name is "clerk".↵↵Serve. (end)
clerk: state{"runs":2}
> What can you do?
clerk:
clerk: look (Looks.) {"type":"object","properties":{"of":{"type":"string"}},"required":["of"]}; destroy (Destroys.) {"type":"object","properties":{"of":{"type":"string"}},"required":["of"]}; breaks (Breaks.) {"type":"object","properties":{}} (end)
clerk: state{"runs":3}
> Loud
clerk:
clerk: SHOUT! (end)
clerk: state{"runs":4}
> Work
clerk:
clerk: call look{"of":"x"} call destroy{"of":"all"} call breaks{}
clerk: look returned {"found":"X","checked":true} destroy returned {"error":"This tool call is rejected by policy. Reason: ALL is needed"} breaks returned {"failed":"breaks","why":"Error in tool 'breaks': ouch"}
clerk: Done. (end)
clerk: state{"runs":5}
> Again
clerk:
clerk: gemini-2.5-flash is unavailable: model scripted: no route to the model (end)
clerk: state{"runs":6}
> closed
clerk: The desk is closed. (end)
> refuse
failed: parley: plugin desk: not at this desk`, log: []string{"[logging_plugin] model is asked agent=clerk", "tool=destroy", "no something secret"}},
	{dir: "policy", models: says{flash: `
		call pay{"amount":5}
		Paid.
		call pay{"amount":200}
		Paid after all.
		call pay{"amount":300}
		Kept.
		tell contents`}, story: `
> 5
clerk: call pay{"amount":5}
clerk: pay returned {"total":5} state{"paid":5}
clerk: Paid. (end)
> 200
clerk: call pay{"amount":200}
clerk: call adk_request_confirmation{"originalFunctionCall":{"id":"ID","name":"pay","args":{"amount":200}},"toolConfirmation":{"hint":"The policy requires a confirmation before pay is called. Reason: 200 is much","confirmed":false}} waits
clerk: pay returned {"partial":"This tool call needs a confirmation before it is made."}
> adk_request_confirmation returned {"confirmed":true}
clerk: pay returned {"total":205} state{"paid":205}
clerk: Paid after all. (end)
> 300
clerk: call pay{"amount":300}
clerk: call adk_request_confirmation{"originalFunctionCall":{"id":"ID","name":"pay","args":{"amount":300}},"toolConfirmation":{"hint":"The policy requires a confirmation before pay is called. Reason: 300 is much","confirmed":false}} waits
clerk: pay returned {"partial":"This tool call needs a confirmation before it is made."}
> adk_request_confirmation returned {"confirmed":false}
clerk: pay returned {"error":"This tool call is rejected."}
clerk: Kept. (end)
> What was that?
clerk: user 5 | model call pay{"amount":5} | user pay returned {"total":5} | model Paid. | user 200 | model call pay{"amount":200} | user pay returned {"total":205} | model Paid after all. | user 300 | model call pay{"amount":300} | user pay returned {"error":"This tool call is rejected."} | model Kept. | user What was that? (end)`},
	{dir: "files", models: says{flash: `
		call work{"on":"dir/a.txt"}
		call load_artifacts{"artifact_names":["dir/a.txt"]}
		It says two.
		tell instruction`, "memory-model": `
		Noted.
		call load_memory{"query":"zebra"}
		Noted again.`}, story: `
> Please work
worker: call work{"on":"dir/a.txt"}
worker: work returned {"versions":[0,1,0],"names":["dir/a.txt","user:bytes"],"latest":{"inlineData":{"mimeType":"text/plain","data":"dHdv"}},"first":{"text":"one"},"bytes":{"inlineData":{"mimeType":"image/png","data":"AP8="}},"missing":true,"all":[0,1],"type":"text/plain"}
worker: call load_artifacts{"artifact_names":["dir/a.txt"]}
worker: load_artifacts returned {"artifact_names":["dir/a.txt"],"status":"artifact contents temporarily inserted and removed. to access these artifacts, call load_artifacts tool again."}
worker: It says two.
clerk: 0 by the clerk dir/a.txt,noted,user:bytes
rememberer: Noted. (end)
rememberer: 1: user said Please work (end)
> Again
worker: File: two↵↵You have these artifacts: ["dir/a.txt", "noted", "user:bytes"].↵When the user asks about one of them, call load_artifacts before you answer. Do not speak of an artifact's content without having loaded it.
clerk: 0 by the clerk dir/a.txt,noted,user:bytes
rememberer: call load_memory{"query":"zebra"}
rememberer: load_memory returned {"memories":[]}
rememberer: Noted again. (end)
rememberer: 2: rememberer said 1: user said Please work (end)`},
	{dir: "files_classic", models: says{flash: `
		call keepNote{"note":"buy milk"}
		tell instruction
		call find{"query":"x"} & load_memory{"query":"milk"}
		Nothing.`}, story: `
> Note this
classic: call keepNote{"note":"buy milk"}
classic: keepNote returned {"version":0,"names":["note.txt"],"back":"buy milk"}
classic: Global.↵↵Note: buy milk.↵↵You have these artifacts: ["note.txt"].↵When the user asks about one of them, call load_artifacts before you answer. Do not speak of an artifact's content without having loaded it.↵↵You have a memory of earlier conversations. To answer a question that needs something from there, call load_memory with a query. (end)
> Find it
classic: call find{"query":"x"} call load_memory{"query":"milk"}
classic: find returned {"memories":[]} load_memory returned {"memories":[]}
classic: Nothing. (end)`},
	{dir: "weather", models: says{flash: `
		tell tools
		call get_weather{"city":"New York","days":"3"} & get_current_time{"moment":"2026-01-15T17:30:00Z"}
		It is sunny.
		call get_weather{"town":"Rome"}
		Which city?`}, story: `
> Hello
weather_time_agent: get_weather (Retrieves the current weather report for a city.) {"type":"object","properties":{"city":{"type":"string","description":"The name of the city."},"unit":{"default":"celsius","type":"string","enum":["celsius","fahrenheit"]},"days":{"type":"integer","minimum":1,"maximum":7}},"required":["city"]}; get_current_time (Returns the time in New York at a given moment.) {"type":"object","properties":{"moment":{"type":"string"}},"required":["moment"]} (end)
> How is New York?
weather_time_agent: call get_weather{"city":"New York","days":"3"} call get_current_time{"moment":"2026-01-15T17:30:00Z"}
weather_time_agent: get_weather returned {"status":"success","report":"Sunny, 25 degrees celsius","days":3} get_current_time returned {"result":"1/15/2026, 12:30:00 PM"}
weather_time_agent: It is sunny. (end)
> And Rome?
weather_time_agent: call get_weather{"town":"Rome"}
weather_time_agent: get_weather returned {"error":"Error in tool 'get_weather': invalid arguments: city: Invalid input: expected string, received undefined"}
weather_time_agent: Which city? (end)`},
	{dir: "schemas", models: says{flash: `
		tell instruction
		tell tools
		call create_ticket{"title":"It is broken","due":null} & search_tickets{"query":"broken"} & countTickets{} & close_ticket{"id":7}
		Done.
		call create_ticket{"title":"It"} & close_ticket{"id":true}
		Sorry.`}, story: `
> How do I close one?
tickets: Closing a ticket takes {"type":"STRING","maxLength":"20","nullable":true} (end)
> What can you do?
tickets: create_ticket (Creates a ticket.) {"type":"object","properties":{"title":{"type":"string","minLength":3,"description":"What it is about"},"priority":{"type":"string","enum":["low","high"],"default":"low"},"labels":{"type":"array","items":{"type":"string"}},"due":{"anyOf":[{"type":"string"},{"type":"null"}]}},"required":["title","due"]}; search_tickets (Finds tickets.) {"type":"object","properties":{"query":{"type":"string","description":"Words to look for"},"limit":{"type":"integer","minimum":1},"tags":{"type":["array","null"],"items":{"type":"string"},"minItems":1}},"required":["query"]}; countTickets (Counts tickets.) {"type":"object","properties":{}}; close_ticket (Closes a ticket.) {"type":"object","properties":{"id":{"type":["string","number"]},"note":{"anyOf":[{"type":"string","maxLength":20},{"type":"null"}]}},"required":["id"]} (end)
> Do it
tickets: call create_ticket{"title":"It is broken","due":null} call search_tickets{"query":"broken"} call countTickets{} call close_ticket{"id":7}
tickets: create_ticket returned {"title":"It is broken","priority":"low","labels":0,"due":null} search_tickets returned {"results":["broken",10]} countTickets returned {"result":7} close_ticket returned {"result":"number no note"}
tickets: Done. (end)
> And that?
tickets: call create_ticket{"title":"It"} call close_ticket{"id":true}
tickets: create_ticket returned {"error":"Error in tool 'create_ticket': invalid arguments: title: String must contain at least 3 character(s); due: Required"} close_ticket returned {"error":"Error in tool 'close_ticket': invalid arguments: id: Invalid input"}
tickets: Sorry. (end)`},
	{dir: "story_flow", models: says{"writer-model": `
		Once.
		Twice.`, flash: `
		Too short.
		Once upon.
		tell instruction
		Once upon a time.
		No mistakes.
		negative`}, story: `
> Write
writer: Once. state{"draft":"Once."}
critic: Too short. state{"criticism":"Too short."}
reviser: Once upon. state{"draft":"Once upon."}
critic: Criticise: Once upon. state{"criticism":"Criticise: Once upon."}
reviser: Once upon a time. state{"draft":"Once upon a time."}
grammar: No mistakes. state{"grammar":"No mistakes."}
tone: negative state{"tone":"negative"}
writer: Twice. state{"draft":"Twice.","retries":1}
story_flow: 1 final, 9 events, 1 retry: Twice.`},
	{dir: "pipeline", models: says{flash: `
		tell instruction
		tell instruction
		never said`}, story: `
> Sort a list
CodeWriter: Write code. Answer like {"code": "..."}. The user is . state{"generated_code":"Write code. Answer like {\"code\": \"...\"}. The user is ."}
CodeReviewer: Review this code:↵Write code. Answer like {"code": "..."}. The user is . state{"review":"Review this code:\nWrite code. Answer like {\"code\": \"...\"}. The user is ."}
failed: parley: instruction of agent CodeRefactorer: context variable not found: ` + "`style_guide`" + `; set it in the session's state, or write {style_guide?} if it may be missing`},
	{dir: "research", models: says{flash: "Sun and wind.", "gemini-2.5-pro": "tell instruction"}, story: `
> Go
energy@researchers.energy: Sun and wind. state{"energy_result":"Sun and wind."}
cars@researchers.cars: Cars, in researchers.cars. state{"cars_result":"Batteries got better."}
merger: Merge "Sun and wind." and "Batteries got better.". (end)`},
	{dir: "refine", models: says{flash: `
		Weak.
		Good.`, "gemini-2.5-pro": `
		Better.
		call exit_loop{}`}, story: `
> Go
critic: Weak. state{"criticism":"Weak."}
refiner: Better.
critic: Good. state{"criticism":"Good."}
refiner: call exit_loop{}
refiner: exit_loop returned {"result":""} escalates as it is
checker: state{"rounds":1}
checker: state{"rounds":2} escalates`},
	{dir: "approvals", models: says{flash: `
		call ask_for_approval{"amount":200}
		I asked.
		Approved.
		call order{"item":"chair"}
		tell contents
		call get_user_choice{"options":["red","blue"]}
		Blue it is.`}, story: `
> 200 please
reimbursement: call ask_for_approval{"amount":200} waits
reimbursement: ask_for_approval returned {"status":"pending","ticketId":"approval-1","amount":200}
reimbursement: I asked. (end)
> ask_for_approval returned {"status":"approved"}
reimbursement: Approved. (end)
> A chair
reimbursement: call order{"item":"chair"} waits
reimbursement: order returned {"status":"pending"}
> order returned {"status":"shipped"}
reimbursement: user 200 please | model call ask_for_approval{"amount":200} | user ask_for_approval returned {"status":"pending","ticketId":"approval-1","amount":200} | model I asked. | model call ask_for_approval{"amount":200} | user ask_for_approval returned {"status":"approved"} | model Approved. | user A chair | model call order{"item":"chair"} | user order returned {"status":"shipped"} (end)
> Which colour?
reimbursement: call get_user_choice{"options":["red","blue"]} waits
reimbursement: get_user_choice returned {"status":"pending"} as it is
> get_user_choice returned {"choice":"blue"}
reimbursement: Blue it is. (end)`},
	{dir: "confirmations", models: says{flash: `
		call pay{"amount":7}
		Paid.
		call pay{"amount":0} & transfer{"amount":"50"} & transfer{"amount":"500"}
		Two are over.
		call leave{"days":3}
		Granted.
		call remove{"path":"/tmp/x"}
		Kept.
		call adk_request_input{"message":"How many?","responseSchema":{"type":"OBJECT","properties":{"n":{"type":"INTEGER"}},"required":["n"]}}
		tell contents`}, story: `
> Pay 7
clerk: call pay{"amount":7}
clerk: call adk_request_confirmation{"originalFunctionCall":{"id":"ID","name":"pay","args":{"amount":7}},"toolConfirmation":{"hint":"Please approve or reject the call of pay.","confirmed":false}} waits
clerk: pay returned {"error":"This tool call requires confirmation, please approve or reject."}
> adk_request_confirmation returned {"confirmed":true}
clerk: pay returned {"paid":7}
clerk: Paid. (end)
> Several
clerk: call pay{"amount":0} call transfer{"amount":"50"} call transfer{"amount":"500"}
clerk: call adk_request_confirmation{"originalFunctionCall":{"id":"ID","name":"transfer","args":{"amount":"500"}},"toolConfirmation":{"hint":"Please approve or reject the call of transfer.","confirmed":false}} waits
clerk: pay returned {"error":"Error in tool 'pay': invalid arguments: amount: Too small: expected number to be >=1"} transfer returned {"transferred":50} transfer returned {"error":"This tool call requires confirmation, please approve or reject."} state{"transferred":50}
> adk_request_confirmation returned {"confirmed":true}
clerk: transfer returned {"transferred":500} state{"transferred":500}
clerk: Two are over. (end)
> Leave
clerk: call leave{"days":3}
clerk: call adk_request_confirmation{"originalFunctionCall":{"id":"ID","name":"leave","args":{"days":3}},"toolConfirmation":{"hint":"Grant 3 days?","confirmed":false,"payload":{"days":3}}} waits
clerk: leave returned {"status":"pending"}
> adk_request_confirmation returned {"confirmed":true,"payload":{"days":2}}
clerk: leave returned {"granted":{"days":2},"hint":"Grant 3 days?","confirmed":true}
clerk: Granted. (end)
> Remove
clerk: call remove{"path":"/tmp/x"}
clerk: call adk_request_confirmation{"originalFunctionCall":{"id":"ID","name":"remove","args":{"path":"/tmp/x"}},"toolConfirmation":{"hint":"Please approve or reject the call of remove.","confirmed":false}} waits
clerk: remove returned {"error":"This tool call requires confirmation, please approve or reject."}
> adk_request_confirmation returned {"confirmed":false}
clerk: remove returned {"error":"This tool call is rejected."}
clerk: Kept. (end)
> How many?
clerk: call adk_request_input{"message":"How many?","responseSchema":{"type":"OBJECT","properties":{"n":{"type":"INTEGER"}},"required":["n"]}} waits
clerk: adk_request_input returned {"status":"pending"}
> adk_request_input returned {"n":"many"}
failed: parley: newMessage.parts.0.functionResponse.response: The answer to ID does not fit what was asked for: n: has type "string", want "integer"
> adk_request_input returned {"n":4}
clerk: user Pay 7 | model call pay{"amount":7} | user pay returned {"paid":7} | model Paid. | user Several | model call pay{"amount":0} call transfer{"amount":"50"} call transfer{"amount":"500"} | user pay returned {"error":"Error in tool 'pay': invalid arguments: amount: Too small: expected number to be >=1"} transfer returned {"transferred":50} transfer returned {"transferred":500} | model Two are over. | user Leave | model call leave{"days":3} | user leave returned {"granted":{"days":2},"hint":"Grant 3 days?","confirmed":true} | model Granted. | user Remove | model call remove{"path":"/tmp/x"} | user remove returned {"error":"This tool call is rejected."} | model Kept. | user How many? | model call adk_request_input{"message":"How many?","responseSchema":{"type":"OBJECT","properties":{"n":{"type":"INTEGER"}},"required":["n"]}} | user adk_request_input returned {"n":4} (end)`},
	{dir: "nested", models: says{flash: `
		call double{}
		tell instruction`, "gemini-2.5-pro": "fail"}, story: `
> Go
director: state{"began":"director"}
counter: 1 1 state{"count":1}
counter: 2 2 state{"count":2}
counter: 3 3 state{"count":3}
calm: call double{}
calm: double returned {"result":6}
calm: Count 3.
guardian: nervous failed: model scripted: no route to the model
director: director of director ran counter,guardian in app/u/s
> throw
director: state{"began":"director"}
failed: parley: RangeError: out of ideas`},
	{dir: "agent_tool", models: says{flash: `
		tell tools
		call capital_finder{"country":"Chile"}
		Santiago it is.
		call summary{"request":"A long text"}`, "capital-model": `
		{"capital":"Santiago"}`, "summary-model": "tell contents"}, story: `
> What?
geographer: capital_finder (Finds the capital of a country.) {"type":"object","properties":{"country":{"type":"string","description":"The country"}},"required":["country"]}; summary (Summarises a text.) {"type":"object","properties":{"request":{"type":"string"}},"required":["request"]} (end)
> Chile
geographer: call capital_finder{"country":"Chile"}
geographer: capital_finder returned {"capital":"Santiago"} state{"capital_result":{"capital":"Santiago"}}
geographer: Santiago it is. (end)
> Shorter
geographer: call summary{"request":"A long text"}
geographer: summary returned {"result":"user A long text"} as it is`},
	{dir: "custom_tools", models: says{flash: `
		tell tools
		call roll_dice{"times":2} & add{"a":1,"b":2} & divide{"a":1,"b":2}
		tell instruction`}, story: `
> What?
gambler: roll_dice (Rolls a dice.) {"type":"object","properties":{"times":{"type":"integer"}},"required":["times"]}; add (Adds.) {"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]}; divide (Divides.) {"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]} (end)
> Play
gambler: call roll_dice{"times":2} call add{"a":1,"b":2} call divide{"a":1,"b":2}
gambler: roll_dice returned {"rolled":[6,6],"by":"gambler"} add returned {"result":3} divide returned {"result":0.5} state{"rolls":2}
gambler: Gamble. Rolls so far: 2. Tools: roll_dice,briefing,add,divide. (end)`},
	{dir: "own_toolset", models: says{flash: `
		tell tools
		call helper{"request":"x"} & leave{}
		call enter{"name":"Ada"}
		tell tools
		tell instruction
		tell config
		call leave{} & leave{}
		tell instruction`, "helper": "Helped."}, story: `
> What?
porter: count (Counts.) {"type":"object","properties":{}}; enter (Enters.) {"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}; helper (Helps.) {"type":"object","properties":{"request":{"type":"string"}},"required":["request"]} (end)
> Help, and let me in
porter: call helper{"request":"x"} call leave{}
porter: helper returned {"result":"Helped."} leave returned {"status":"error","error_message":"There is no tool leave. The tools are: count, enter, helper."}
porter: call enter{"name":"Ada"}
porter: enter returned {"result":"welcome, Ada"} state{"name":"Ada"}
porter: count (Counts.) {"type":"object","properties":{}}; leave (Leaves, for Ada of u.) {"type":"object","properties":{}}; load_artifacts (Loads the artifacts and adds them to the conversation.) {"type":"object","properties":{"artifact_names":{"type":"array","items":{"type":"string"}}},"required":["artifact_names"]} (end)
> What were you told?
porter: Guard. Mind the gate. You are in. (end)
> What does the model run itself?
porter: {"ProviderTools":[{"googleSearch":{}}]} (end)
> Let me out
porter: call leave{} call leave{}
porter: leave returned {"result":"goodbye, Ada"} leave returned {"result":"goodbye, Ada"} state{"name":""}
porter: Guard. Mind the gate. (end)`, log: []string{"before helper: true", "before enter: true", "before leave: true"}},
	{dir: "callbacks", models: says{flash: `
		tell instruction
		tell contents
		tell config
		tell tools
		It is a secret.
		call look_up{"word":"tree"} & look_up{"word":"taboo"} & look_up{"word":"swap"}
		Fine`}, story: `
> skip
dictionary: dictionary has nothing to do. state{"turns":1} (end)
> one
dictionary: state{"turns":2}
dictionary: Explain words. Be brief, u. (end)
> two
dictionary: state{"turns":3}
dictionary: user Before all: | user skip | model dictionary has nothing to do. | user one | model Explain words. Be brief, u. | user two! (end)
> three
dictionary: state{"turns":4}
dictionary: {"Temperature":0.1}! (end)
> STRIP
dictionary: state{"turns":5}
dictionary: only (gemini-2.5-flash with look_up) {"type":"object","properties":{"n":{"type":"number"}}}! (end)
> four
dictionary: state{"turns":6}
dictionary: It is a ******. (end)
> look
dictionary: state{"turns":7}
dictionary: call look_up{"word":"tree"} call look_up{"word":"taboo"} call look_up{"word":"swap"}
dictionary: look_up returned {"found":"tree (en)","checked":true} look_up returned {"refused":"look_up by a call"} look_up returned {"swapped":"swap (en)"}
dictionary: Fine! (end)
> BLOCK this
dictionary: state{"turns":8}
dictionary: I cannot answer that. state{"blocked":true} (end)
dictionary: A note for the curious. (end)`},
	{dir: "callbacks_positional", models: says{flash: `
		tell instruction
		call get_capital{"country":"America"}
		Paris.
		call get_capital{"country":"Oz"}
		No idea.`}, story: `
> hi
capitals: state{"began":"capitals"}
capitals: NAME CAPITALS.↵↵USE FEW WORDS.↵↵BE KIND. (end)
> America?
capitals: state{"began":"capitals"}
capitals: call get_capital{"country":"America"}
capitals: get_capital returned {"capital":"Paris","lang":"get_capital/capitals"} state{"asked":"France"}
capitals: PARIS. (end)
> Oz?
capitals: state{"began":"capitals"}
capitals: call get_capital{"country":"Oz"}
capitals: get_capital returned {"capital":null,"of":"Oz","by":"get_capital","asked":"Oz"} state{"asked":"Oz"}
capitals: NO IDEA. (end)
> stop
capitals: state{"began":"capitals"}
capitals: STOP. state{"bye":true} (end)
capitals: Goodbye. (end)`},
	{dir: "counters", models: says{flash: `
		call count{"item":"pear"} & count{"item":"fig"}
		Counted.
		call count{"item":"plum"}
		Counted.`}, story: `
> Count
counter: call count{"item":"pear"} call count{"item":"fig"} state{"turns":1}
counter: count returned {"seen":[1.5,["pear"],true],"refused":["state \"user:n\": keys that start with use","state \"added\": the value is not a list","state \"items\": the value is not a number"]} count returned {"seen":[1.5,["fig"],true],"refused":["state \"user:n\": keys that start with use","state \"added\": the value is not a list","state \"items\": the value is not a number"]} state{"added":3,"items":["pear","fig"],"set":1}
counter: Counted.
> More
counter: call count{"item":"plum"} state{"turns":2}
counter: count returned {"seen":[4.5,["pear","fig","plum"],true],"refused":["state \"user:n\": keys that start with use","state \"added\": the value is not a list","state \"items\": the value is not a number"]} state{"added":4.5,"items":["pear","fig","plum"],"set":2}
counter: Counted.`},
	{dir: "contexts", models: says{flash: `
		call where{}
		call use_state{"item":"pear"} & use_state{"item":"fig"}
		tell instruction
		call use_state{"item":"plum"}
		Fine.`}, story: `
> Where?
observer: call where{}
observer: where returned {"place":"app/u/s/observer","ids":["string",true,"s"],"said":"Where?","agent":"gemini-2.5-flash","aborted":false,"events":["user.","observer"],"kinds":[true,true,true,false],"state":true}
observer: call use_state{"item":"pear"} call use_state{"item":"fig"}
observer: use_state returned {"keys":["items","last","user:name","app:limit","temp:draft","direct"],"json":"{\"items\":[\"pear\"],\"last\":\"pear\",\"user:name\":\"Ada\",\"app:limit\":5,\"temp:draft\":true,\"direct\":true}","has":[true,false,true,true,false],"fallback":"fallback","bySession":"pear","spread":"pear","record":6,"changed":true,"entries":6,"text":"[object Object]"} use_state returned {"keys":["items","last","user:name","app:limit","temp:draft","direct"],"json":"{\"items\":[\"fig\"],\"last\":\"fig\",\"user:name\":\"Ada\",\"app:limit\":5,\"temp:draft\":true,\"direct\":true}","has":[true,false,true,true,false],"fallback":"fallback","bySession":"fig","spread":"fig","record":6,"changed":true,"entries":6,"text":"[object Object]"} state{"app:limit":5,"direct":true,"items":["fig"],"last":"fig","user:name":"Ada"}
observer: observer for u knows {not a place} {"app:limit":5,"direct":true,"items":["fig"],"last":"fig","temp:draft":true,"user:name":"Ada"}. The state is read-only here: "x" cannot be set. Set it in a tool or a callback. (end)
> More
observer: call use_state{"item":"plum"}
observer: use_state returned {"keys":["app:limit","direct","items","last","user:name","temp:draft"],"json":"{\"app:limit\":5,\"direct\":true,\"items\":[\"fig\",\"plum\"],\"last\":\"plum\",\"user:name\":\"Ada\",\"temp:draft\":true}","has":[true,false,true,true,false],"fallback":"fallback","bySession":"plum","spread":"plum","record":6,"changed":true,"entries":6,"text":"[object Object]"} state{"app:limit":5,"direct":true,"items":["fig","plum"],"last":"plum","user:name":"Ada"}
observer: Fine. (end)`},
	{dir: "events", models: says{flash: `
		call echo{"text":"hi"}
		Well, damn it.
		please drop this`}, story: `
> Go
inner: call echo{"text":"hi"}
inner: echo returned {"text":"hi"}
inner: Well, d*** it. metadata{"censored":true}
censor: inner/echo//false/false inner//hi/false/false inner///true/false
censor: 8 actions true state{"seen":3}
censor: state{"committed":true}
censor: state{"after":"the last event"}
> Again
censor: inner///true/false
censor: 8 actions true state{"seen":1}
censor: state{"committed":true}
censor: state{"after":"the last event"}`},
	{dir: "events", stream: true, models: says{flash: "damn it"}, story: `
> Go
inner: ~ d***  metadata{"censored":true}
inner: ~ it metadata{"censored":true}
inner: d*** it metadata{"censored":true}
censor: inner///false/false inner///false/false inner///true/false
censor: 8 actions true state{"seen":3}
censor: state{"committed":true}
censor: state{"after":"the last event"}`},
	{dir: "instructions", models: says{flash: `
		tell instruction
		call transfer_to_agent{"agent_name":"forgetful"}`, "gemini-2.5-pro": `
		tell instruction
		tell contents`}, story: `
> one
root: Be polite to .↵↵Talk. (end)
> two
root: call transfer_to_agent{"agent_name":"forgetful"}
root: transfer_to_agent returned {"result":"Transfer queued"} transfer forgetful
forgetful: Be polite to .↵↵You are forgetful; {this} stays. (end)
> three
forgetful: user three (end)`},
	{dir: "output_schema", models: says{flash: `
		{"sentiment":"positive","confidence":0.9,"keywords":["great"]}
		This is no JSON.
		tell config`}, story: `
> Great!
sentiment: {"sentiment":"positive","confidence":0.9,"keywords":["great"]} state{"sentiment":{"sentiment":"positive","confidence":0.9,"keywords":["great"]}} (end)
> Hm
sentiment: This is no JSON. state{"sentiment":"This is no JSON."} (end)
> And?
sentiment: {"MaxOutputTokens":200,"ResponseMIMEType":"application/json","ResponseSchema":{"properties":{"confidence":{"maximum":1,"minimum":0,"type":"number"},"keywords":{"items":{"type":"string"},"type":"array"},"sentiment":{"enum":["positive","neutral","negative"],"type":"string"}},"required":["sentiment","confidence","keywords"],"type":"object"},"StopSequences":["END"],"Temperature":0.2,"TopP":0.9} state{"sentiment":{"MaxOutputTokens":200,"ResponseMIMEType":"application/json","ResponseSchema":{"properties":{"confidence":{"maximum":1,"minimum":0,"type":"number"},"keywords":{"items":{"type":"string"},"type":"array"},"sentiment":{"enum":["positive","neutral","negative"],"type":"string"}},"required":["sentiment","confidence","keywords"],"type":"object"},"StopSequences":["END"],"Temperature":0.2,"TopP":0.9}} (end)`},
	{dir: "transfer", models: says{flash: `
		call transfer_to_agent{"agent_name":"billing"}
		Billing here.
		call transfer_to_agent{"agentName":"coordinator"}
		Coordinator here.
		call escalate{}
		Back at the coordinator.`, "gemini-2.5-pro": `
		tell tools`}, story: `
> My bill
coordinator: call transfer_to_agent{"agent_name":"billing"}
coordinator: transfer_to_agent returned {"result":"Transfer queued"} transfer billing
billing: Billing here. (end)
> Something else
billing: call transfer_to_agent{"agentName":"coordinator"}
billing: transfer_to_agent returned {"result":"Transfer queued"} transfer coordinator
coordinator: Coordinator here. (end)
> It is broken
coordinator: call escalate{}
coordinator: escalate returned {"handed":"over"} transfer support
support:  (end)
> Thanks
coordinator: Back at the coordinator. (end)`},
	{dir: "custom_llm", stream: true, story: `
> hello
echo: ~ echo-1/echo-1 
echo: ~ heard 
echo: echo-1/echo-1 heard hello, told You are an agent. Your internal name is "echo".↵↵Echo., has add:NUMBER metadata{"stream":true} (end)
> add 2 3
echo: call add{"a":2,"b":3}
echo: add returned {"result":5}
echo: ~ The 
echo: ~ sum 
echo: The sum is {"result":5} metadata{"stream":true} (end)
> refuse
echo: error SAFETY (Not that.)
> fail
echo: error UNKNOWN_ERROR (the line is down)`},
	{dir: "fallback_llm", models: says{flash: "fail\nfail\nfail", "gemini-2.0-flash": `
		refuse SAFETY
		call translate{"text":"bread"}
		tell instruction`, "other-model": "Third time lucky.", `gemini-2.5-pro{"vertexai":true,"project":"p","location":"eu"}`: "tell instruction"}, story: `
> one
robust: Third time lucky. (end)
> two
robust: call translate{"text":"bread"}
robust: translate returned {"result":"Into French."}
robust: Answer. (end)`, log: []string{"gemini-2.5-flash: no route to the model", "gemini-2.0-flash: SAFETY"}},
}
