package script_test

// layouts are about how files are written, and what is around them.
var layouts = []talk{
	{dir: "self_run_guarded", models: says{flash: "Hi."}, story: `
> Hello
guarded: Hi. (end)`, log: []string{"no main was run"}},
	{dir: "self_run", models: says{flash: `
		call remember{"note":"one"}
		Noted.
		So it streams.
		tell contents
		call remember{"note":"two"}
		In the server.`}, story: `
> Note
keeper: call remember{"note":"two"}
keeper: remember returned {"version":0,"names":["note.txt"],"loaded":{"text":"two"},"memories":0} state{"notes":1,"user:last":"two"}
keeper: In the server. (end)`, log: []string{
		"first: - - Noted..", "second: ~So  ~it  ~streams. So it streams..", `state: {\"notes\":5,\"user:last\":\"one\"}, 6 events of one turn or more: 2`,
		`memory: [\"user\"]`, `other session: {\"user:last\":\"one\"}`, "alone: user again", "error: Session not found: s1",
	}},
	{dir: "self_run_files", models: says{flash: "tell instruction\ntell instruction"}, story: `
> Hello
reader: File:  (end)`, log: []string{"private: true true true", `stored: [Uploaded Artifact: \"up.txt\"] {\"up.txt\":0}`}},
	{dir: "self_run_floating", models: says{flash: "Hi.", "demo-model": "call ping{}\ntell contents"}, story: `
> Hello
served: Hi. (end)`, log: []string{"demo said: user hi | model call ping{} | user ping returned"}},
	{dir: "export_default", models: says{flash: "Hi."}, story: `
> Hello
standard: Hi. (end)`},
	{dir: "export_root_agent", models: says{flash: "Hi."}, story: `
> Hello
snake: Hi. (end)`},
	{dir: "export_agent", models: says{flash: "Hi."}, story: `
> Hello
assistant: Hi. (end)`},
	{dir: "export_nested", models: says{flash: "Hi."}, story: `
> Hello
nested: Hi. (end)`},
	{dir: "export_only", models: says{flash: "Hi."}, story: `
> Hello
only: Hi. (end)`},
	{dir: "export_commonjs", models: says{flash: "tell instruction"}, story: `
> Hello
common: index.js (end)`, log: []string{"no not here"}},
	{dir: "export_app", models: says{flash: "Hi."}, story: `
> Hello
first: Hi. (end)`},
	{dir: "multi_file", models: says{flash: `
		tell instruction
		call read_station{"name":"hill"}
		tell instruction`}, story: `
> one
stations: Hello; 20.0 C; harbour+hill; Read twice; true Turn 1. (end)
> two
stations: call read_station{"name":"hill"}
stations: read_station returned {"known":true}
stations: Hello; 20.0 C; harbour+hill; Read twice; true Turn 3. (end)`},
	{dir: "environment", models: says{flash: `
		tell instruction
		call get_place{"id":"old town"} & get_place{"id":"nowhere"}
		Found one.`}, story: `
> Hello
places: Good morning, from-process, undefined (end)
> Places
places: call get_place{"id":"old town"} call get_place{"id":"nowhere"}
places: get_place returned {"name":"Old Town","key":"Bearer from-file"} get_place returned {"error":"Error in tool 'get_place': The service answered 404: no such place\n"}
places: Found one. (end)`, log: []string{"starting with Good morning", "shown", "no not shown"}},
	{dir: "failures", models: says{flash: `
		call throws_error{} & throws_text{} & throws_object{} & throws_own{} & throws_type{} & rejects{}
		Oh.
		call gives_nothing{} & gives_null{} & gives_text{} & gives_number{} & gives_list{} & gives_error{} & gives_map{} & gives_big{} & gives_circle{}
		Oh.`}, story: `
> Throw
failing: call throws_error{} call throws_text{} call throws_object{} call throws_own{} call throws_type{} call rejects{}
failing: throws_error returned {"error":"Error in tool 'throws_error': the disk is full"} throws_text returned {"error":"Error in tool 'throws_text': just a text"} throws_object returned {"error":"Error in tool 'throws_object': {\"code\":42}"} throws_own returned {"error":"Error in tool 'throws_own': no more apples"} throws_type returned {"error":"Error in tool 'throws_type': cannot read property 'length' of undefined"} rejects returned {"error":"Error in tool 'rejects': too late"}
failing: Oh. (end)
> Give
failing: call gives_nothing{} call gives_null{} call gives_text{} call gives_number{} call gives_list{} call gives_error{} call gives_map{} call gives_big{} call gives_circle{}
failing: gives_nothing returned {"result":null} gives_null returned {"result":null} gives_text returned {"result":"text"} gives_number returned {"result":42} gives_list returned {"results":[1,2]} gives_error returned {"status":"error","error_message":"of its own"} gives_map returned {"when":"1970-01-01T00:00:00.000Z","map":{},"nan":null} gives_big returned {"error":"Error in tool 'gives_big': Do not know how to serialize a BigInt"} gives_circle returned {"error":"Error in tool 'gives_circle': circular reference"}
failing: Oh. (end)`},
	{dir: "end_invocation", story: `
> Go
impatient: Step 1.
impatient: Step 2.
impatient: Step 3.`},
	{dir: "liberal", models: says{flash: "tell instruction\ntell tools", "gemini-2.5-pro": `
		call get_capital{"country":"France"} & round{"value":2.345,"decimals":1} & ask_expert{"input":"Why?"}
		It is Paris.
		call get_capital{"country":"Peru"}`, "expert-model": "tell contents"}, story: `
> one
orchestrator: id openid nowhere state{"began":true}
geographer: call get_capital{"country":"France"} call round{"value":2.345,"decimals":1} call ask_expert{"input":"Why?"}
geographer: get_capital returned {"capital":"Paris"} round returned {"result":"2.3"} ask_expert returned {"result":"user Why?"} state{"country":"France","expert":"user Why?"}
geographer: It is Paris.
talker: Talk about France. state{"talk":"Talk about France."}
> two
orchestrator: id openid France state{"began":true}
geographer: call get_capital{"country":"Peru"}
geographer: get_capital returned {"capital":"Lima"} state{"country":"Peru"} as it is
talker: clock (Tells the time.) {"type":"object","properties":{"zone":{"type":"string"}}} state{"talk":"clock (Tells the time.) {\"type\":\"object\",\"properties\":{\"zone\":{\"type\":\"string\"}}}"}`},
	{dir: "subpaths", models: says{flash: "never"}, story: `
> Hello
parrot: parrot-2 says: Hello. You are an agent. Your internal name is "parrot".↵↵{"agents":true,"same":true,"data":["apiKey","user:",3,{},36],"services":3,"tools":["exit_loop",true,"f"],"state":"{\"a\":1,\"b\":2}","runner":"function","version":"string"} (end)`},
	{dir: "functions", models: says{flash: `
		call getWeather{"city":"Rome"} & addNumbers{"b":2,"a":1} & greet{"name":"Ann"}
		Done.`}, story: `
> Do
functions: call getWeather{"city":"Rome"} call addNumbers{"b":2,"a":1} call greet{"name":"Ann"}
functions: getWeather returned {"city":"Rome","sky":"blue"} addNumbers returned {"result":3} greet returned {"result":"Hello Ann from functions"} state{"last":"Rome"}
functions: Done. (end)`},
	{dir: "mixed", models: says{flash: `
		call shared{"n":5}
		One.
		call shared{"n":5}
		tell instruction`, "gemini-2.5-pro": `
		call shared{"n":5}
		Two.`}, story: `
> Go
one: call shared{"n":5}
one: shared returned {"result":2}
one: ONE.
two: call shared{"n":5}
two: shared returned {"result":4}
two: Two.
one_again: call shared{"n":5}
one_again: shared returned {"result":2}
one_again: I AM A COPY. (end)`, log: []string{"true true true true mixed two"}},
}
