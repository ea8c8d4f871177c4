package offline

import "testing"

func TestReport(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		responses []string // a name and a response each
		want      string
	}{
		{"a failure", []string{"f", `{"status":"error","error_message":"no such city"}`}, "That did not work: no such city."},
		{"a failure with a sentence", []string{"f", `{"status":"ERROR","error_message":"No such city!"}`}, "That did not work: No such city!"},
		{"a failure without a reason", []string{"f", `{"status":"error"}`}, "That did not work."},
		{"an error without a status", []string{"f", `{"error":"timeout"}`}, "That did not work: timeout."},
		{"a report", []string{"f", `{"status":"success","report":"It is sunny."}`}, "It is sunny."},
		{"the most human one", []string{"f", `{"data":"x","summary":"y","report":"z"}`}, "z"},
		{"an empty one does not count", []string{"f", `{"report":"","data":"x"}`}, "x"},
		{"a bare result", []string{"f", `{"result":"sunny"}`}, "sunny"},
		{"members", []string{"f", `{"city":"Paris","temperature":21}`}, "city: Paris, temperature: 21"},
		{"members in their order", []string{"f", `{"z":1.50,"a_b":true,"n":null}`}, "z: 1.50, a b: true"},
		{"members inside", []string{"f", `{"wind": {"speed": 3, "from": "N"}, "days": [1, 2]}`}, `wind: {"speed":3,"from":"N"}, days: [1,2]`},
		{"wrapped members", []string{"f", `{"status":"success","data":{"city":"Paris"}}`}, "city: Paris"},
		{"a number", []string{"f", `{"result":7}`}, "result: 7"},
		{"nothing", []string{"send", `{"status":"success"}`}, "send is done."},
		{"null", []string{"send", `{"result":null}`}, "send is done."},
		{"not there", []string{"send", ``}, "send is done."},
		{"not an object", []string{"f", `"sunny"`}, "sunny"},
		{"not JSON", []string{"send", `{"a":`}, "send is done."},
		{"pending", []string{"pay", `{"status":"pending","message":"Ask the boss"}`}, "pay is waiting: Ask the boss."},
		{"pending by flag", []string{"pay", `{"pending":true}`}, "pay is waiting for its result."},
		{"two", []string{"f", `{"result":"sunny"}`, "g", `{"a":1}`}, "sunny. a: 1."},
		{"only a transfer", []string{transferTool, `{"result":"ok"}`}, ""},
		{"one and a transfer", []string{transferTool, `{}`, "f", `{"result":"sunny"}`}, "sunny"},
		{"none", nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := report(readTurn(request(returned(tt.responses...)).Contents()).latest); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
