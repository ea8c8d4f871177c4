package offline

import (
	"encoding/json"
	"testing"

	"github.com/parley-run/parley/model"
)

// object is the schema of an object that requires all of its properties, but
// for those whose name ends in a question mark.
func object(nameAndSchema ...string) json.RawMessage {
	doc, required := "", ""
	for i := 0; i < len(nameAndSchema); i += 2 {
		name := nameAndSchema[i]
		if last := len(name) - 1; name[last] == '?' {
			name = name[:last]
		} else {
			required += `,"` + name + `"`
		}
		doc += `,"` + name + `":` + nameAndSchema[i+1]
	}
	if doc != "" {
		doc = doc[1:]
	}
	if required != "" {
		required = required[1:]
	}
	return json.RawMessage(`{"type":"object","properties":{` + doc + `},"required":[` + required + `]}`)
}

const (
	str     = `{"type":"string"}`
	strs    = `{"type":"array","items":{"type":"string"}}`
	num     = `{"type":"number"}`
	integer = `{"type":"integer"}`
	boolean = `{"type":"boolean"}`
)

var kit = []model.Declaration{
	{Name: "get_weather", Description: "Returns the weather and the temperature in a city, such as London.", Parameters: object(
		"city", str, "unit?", `{"type":"string","enum":["celsius","fahrenheit"]}`)},
	{Name: "get_current_time", Description: "Tells what time it is somewhere.", Parameters: object("city", `{"type":"STRING"}`)},
	{Name: "rollDie", Description: "Rolls dice.", Parameters: object("count?", integer, "sides", integer)},
	{Name: "convert_currency", Description: "Converts an amount of money.", Parameters: object(
		"amount", num, "from_currency", `{"enum":["USD","EUR","GBP"]}`, "to_currency", `{"enum":["USD","EUR","GBP"]}`)},
	{Name: "search_flights", Description: "Finds flights.", Parameters: object(
		"origin", str, "destination", str, "date?", str)},
	{Name: "translate", Description: "Translates text.", Parameters: object("text", str, "target_language", str)},
	{Name: "web_search", Description: "Looks things up on the internet.", Parameters: object("query", `{"type":["null","string"]}`)},
	{Name: "set_light", Description: "Switches the lights of a room.", Parameters: object(
		"room", `{"type":"string","enum":["kitchen","living_room","bedroom"]}`, "on", boolean)},
	{Name: "create_task", Description: "Writes down a task.", Parameters: object(
		"title", str, "priority?", `{"type":"string","enum":["low","medium","high"]}`)},
	{Name: "delete_task", Description: "Deletes a task.", Parameters: object("id", integer)},
	{Name: "invite", Description: "Invites people to a meeting.", Parameters: object("participants", strs, "time?", str)},
	{Name: "sum", Description: "Adds numbers up.", Parameters: object("numbers", `{"type":"array","items":{"type":"number"}}`)},
	{Name: "calculator", Description: "Calculates.", Parameters: object("expression", str)},
	{Name: "legal_expert", Description: "Knows the law and contracts.", Parameters: object("request", str)},
	{Name: "set_name", Description: "Remembers how the user is called.", Parameters: object("name", str)},
	{Name: "mix_paint", Description: "Mixes paint.", Parameters: object(
		"colors", `{"type":"array","items":{"type":"string","enum":["red","light blue","blue"]}}`)},
	{Name: "list_files", Description: "Lists the files of a folder.", Parameters: nil},
	{Name: "play_song", Description: "Plays music.", Parameters: object("song", str, "artist?", str, "volume?", `{"type":"integer","default":5}`)},
	{Name: "send_email", Description: "Sends mail.", Parameters: object("to", str, "subject", str, "urgent?", boolean)},
	{Name: "stock_price", Description: "Quotes a share.", Parameters: object(
		"symbol", `{"$ref":"#/$defs/Symbol"}`, "market", `{"anyOf":[{"type":"null"},{"type":"string","default":"XETRA"}]}`)},
}

// answer is what the model makes of a text: a call or a question, or "" if no
// tool fits.
func answer(tools []model.Declaration, text string) string {
	t := match(readTools(tools), text)
	if t == nil {
		return ""
	}
	args, missing := fill(t, []string{text})
	if len(missing) > 0 {
		return question(t.name, missing)
	}
	return t.name + string(encode(args))
}

func TestPhrases(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, want string }{
		// A place, wherever it stands and however it is written.
		{"what's the weather in new york?", `get_weather{"city":"new york"}`},
		{"What is the weather in New York today, please?", `get_weather{"city":"New York"}`},
		{"How's the weather in St. Louis right now?", `get_weather{"city":"St. Louis"}`},
		{"weather for Paris, France in fahrenheit", `get_weather{"city":"Paris, France","unit":"fahrenheit"}`},
		{"Tell me about the weather in the city of Rome.", `get_weather{"city":"Rome"}`},
		{"Weather London", `get_weather{"city":"London"}`},
		{"weather oslo please", `get_weather{"city":"oslo"}`},
		{"Paris weather", `get_weather{"city":"Paris"}`},
		{"Is Berlin's weather nice?", `get_weather{"city":"Berlin"}`},
		{"temperature in são paulo and a joke", `get_weather{"city":"são paulo"}`},
		{"what will the weather be like tomorrow in The Hague", `get_weather{"city":"The Hague"}`},
		{`weather in "Villa in Rome" today`, `get_weather{"city":"Villa in Rome"}`},
		{"What time is it in Tokyo?", `get_current_time{"city":"Tokyo"}`},
		{"the current time at cape town now", `get_current_time{"city":"cape town"}`},
		// Nothing to fill in.
		{"what's the weather?", "To use get_weather I need: city."},
		{"What time is it?", "To use get_current_time I need: city."},
		{"Hello, how is the weather today?", "To use get_weather I need: city."},
		{"list my files", "list_files{}"},
		// Numbers.
		{"roll a d20", `rollDie{"sides":20}`},
		{"Roll a 6-sided die", `rollDie{"sides":6}`},
		{"roll 3 dice with 12 sides", `rollDie{"count":3,"sides":12}`},
		{"roll a die with 2.5 sides", "To use rollDie I need: sides."},
		{"delete task 17", `delete_task{"id":17}`},
		{"delete task 007", `delete_task{"id":7}`},
		{"sum two, Three and 4", `sum{"numbers":[2,3,4]}`},
		{"sum 1, 2.5 and -3", `sum{"numbers":[1,2.5,-3]}`},
		{"sum of 1,000 and 2+3", `sum{"numbers":[1000,2,3]}`},
		{"sum 0.5 and 00.25", `sum{"numbers":[0.5,0.25]}`},
		// From and to.
		{"convert 5 USD to EUR", `convert_currency{"amount":5,"from_currency":"USD","to_currency":"EUR"}`},
		{"convert to gbp 12.50 from eur", `convert_currency{"amount":12.50,"from_currency":"EUR","to_currency":"GBP"}`},
		{"convert 5 USD", "To use convert_currency I need: to_currency."},
		{"search flights from New York to Los Angeles on 2026-03-01", `search_flights{"date":"2026-03-01","destination":"Los Angeles","origin":"New York"}`},
		{"flights between Rome and Oslo", `search_flights{"destination":"Oslo","origin":"Rome"}`},
		{"Flights to Lisbon from Rome tomorrow?", `search_flights{"date":"tomorrow","destination":"Lisbon","origin":"Rome"}`},
		// Text.
		{"translate good morning into Spanish", `translate{"target_language":"Spanish","text":"good morning"}`},
		{`Translate "to be or not to be" to German, please`, `translate{"target_language":"German","text":"to be or not to be"}`},
		{"search the web for restaurants near Central Park", `web_search{"query":"restaurants near Central Park"}`},
		{"Can you search the web for cats and dogs please?", `web_search{"query":"cats and dogs"}`},
		{"look on the internet for things about bees", `web_search{"query":"bees"}`},
		{"calculate (3 + 4) * 2", `calculator{"expression":"(3 + 4) * 2"}`},
		{"is this contract against the law?", `legal_expert{"request":"is this contract against the law?"}`},
		{"set my name to Ann", `set_name{"name":"Ann"}`},
		{"play 'Let it be' by the Beatles", `play_song{"song":"Let it be"}`},
		{"create a task called Water the plants with high priority", `create_task{"priority":"high","title":"Water the plants"}`},
		{"create a task to buy milk", `create_task{"title":"buy milk"}`},
		{"send an email to Bob about the picnic", `send_email{"subject":"picnic","to":"Bob"}`},
		{"Translate to French: I love you", `translate{"target_language":"French","text":"I love you"}`},
		// Choices, flags, lists.
		{"turn on the lights in the living room", `set_light{"on":true,"room":"living_room"}`},
		{"Kitchen lights off!", `set_light{"on":false,"room":"kitchen"}`},
		{"switch the bedroom light on please", `set_light{"on":true,"room":"bedroom"}`},
		{"lights in the kitchen", "To use set_light I need: on."},
		{"mix light blue and red paint", `mix_paint{"colors":["light blue","red"]}`},
		{"invite Ann, Bob Smith and Eve to a meeting tonight", `invite{"participants":["Ann","Bob Smith","Eve"],"time":"tonight"}`},
		{`invite "Ann" and "Bob"`, `invite{"participants":["Ann","Bob"]}`},
		{"what's the stock price of ACME", `stock_price{"market":"XETRA","symbol":"ACME"}`},
		// No tool is meant.
		{"", ""},
		{"hello", ""},
		{"How are you today?", ""},
		{"get me a coffee", ""},
		{"how do I get to London?", ""},
		{"who won the world cup in 1998?", ""},
		{"find the number of people who use this", ""},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			t.Parallel()
			if got := answer(kit, tt.text); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestTies(t *testing.T) {
	t.Parallel()
	tools := []model.Declaration{{Name: "weather_a"}, {Name: "weather_b"}}
	for range 2 {
		if got, want := answer(tools, "the weather"), tools[0].Name+"{}"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		tools[0], tools[1] = tools[1], tools[0]
	}
}

func TestSchemas(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, schema, text, want string }{
		{"nothing required", string(object("city?", str, "unit?", str)), "weather oslo", `{"city":"oslo"}`},
		{"nothing required or said", string(object("city?", str)), "weather", `{}`},
		{"one value only", string(object("kind", `{"const":"now"}`)), "weather", `{"kind":"now"}`},
		{"a default", string(object("days", `{"type":"integer","default":3}`)), "weather", `{"days":3}`},
		{"choices of numbers", string(object("days", `{"type":"integer","enum":[1,3,7]}`)), "weather for 3 days", `{"days":3}`},
		{"a number in place of a name", string(object("city", str, "days", integer)), "weather for 3 days in Rome", `{"city":"Rome","days":3}`},
		{"dates", string(object("start_date", str, "end_date", str)), "weather from monday to friday", `{"end_date":"friday","start_date":"monday"}`},
		{"what follows", string(object("remark", str)), "weather makes me happy!", `{"remark":"makes me happy"}`},
		{"the whole text when all else fails", string(object("remark", str)), "happy weather", `{"remark":"happy weather"}`},
		{"an object", string(object("where", `{"type":"object","properties":{"city":{}}}`)), "weather in Rome", "To use weather I need: where."},
		{"no type", string(object("city", `{}`)), "weather in Rome", `{"city":"Rome"}`},
		{"a schema that is none", `{"properties":{"city":7},"required":["city"]}`, "weather in Rome", `{"city":"Rome"}`},
		{"no JSON", `{"properties"`, "weather in Rome", `{}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			want := tt.want
			if want[0] == '{' {
				want = "weather" + want
			}
			tools := []model.Declaration{{Name: "weather", Parameters: json.RawMessage(tt.schema)}}
			if got := answer(tools, tt.text); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}
