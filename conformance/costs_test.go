package conformance

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
)

// spender is an agent whose model has the version that the user names, and uses ten
// tokens, four of them cached.
func spender(t *testing.T) map[string]*agent.Agent {
	t.Helper()
	root, err := agent.NewLLM(agent.LLMConfig{Name: "spender", Model: scripted.Func(
		func(_ context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
			return func(yield func(*model.Response, error) bool) {
				r := model.Text("Done.")
				r.ModelVersion = scripted.LastUserText(req)
				r.Usage = &event.Usage{Prompt: 6, CachedContent: 4, Candidates: 3, Thoughts: 1, Total: 10}
				yield(r, nil)
			}
		})})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]*agent.Agent{"weather": root}
}

// priceFile has a model that costs a dollar for a million tokens of the prompt, and more
// for the answer.
func priceFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "prices.json")
	err := os.WriteFile(path, []byte(`{"date": "2026-11-01", "models": {"dear": {"input": 1, "cachedInput": 0.5, "output": 10, "thinking": 20}}}`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

type cost struct {
	Model    string      `json:"model"`
	USD      json.Number `json:"costUsd"`
	Unpriced int         `json:"unpricedTokens"`
	Total    int         `json:"totalTokenCount"`
	Models   []cost      `json:"models"`
}

// usageItem is an item of GET /usage.
type usageItem struct {
	cost
	Day       string `json:"day"`
	AppName   string `json:"appName"`
	UserID    string `json:"userId"`
	SessionID string `json:"sessionId"`
	Runs      int    `json:"runs"`
}

// Runs and usage tell what they have cost, and how many tokens have no price.
func TestCosts(t *testing.T) {
	t.Parallel()
	base := serve(t, parley.Config{Agents: spender(t), PriceFile: priceFile(t)})
	s := limitedAt(t, base, unique("u"))
	for _, version := range []string{"dear-20261101", "dear-20261101", "unknown"} {
		s.say(t, version)
	}
	var runs []cost
	s.Do(t, http.MethodGet, s.path()+"/runs", nil).Want(t, http.StatusOK).Into(t, &runs)
	if len(runs) != 3 || runs[0].USD != "" || runs[0].Unpriced != 10 || runs[1].USD != "0.000054" || runs[1].Unpriced != 0 {
		t.Errorf("the runs are %+v", runs)
	}
	var used []cost
	s.Do(t, http.MethodGet, "/usage?userId="+s.User, nil).Want(t, http.StatusOK).Into(t, &used)
	if len(used) != 1 || used[0].USD != "0.000108" || used[0].Unpriced != 10 || used[0].Total != 30 || len(used[0].Models) != 2 {
		t.Fatalf("used are %+v", used)
	}
	known, unknown := used[0].Models[0], used[0].Models[1]
	if known.Model != "dear-20261101" || known.USD != "0.000108" || known.Unpriced != 0 || known.Total != 20 {
		t.Errorf("with a price: %+v", known)
	}
	if unknown.Model != "unknown" || unknown.USD != "" || unknown.Unpriced != 10 {
		t.Errorf("without a price: %+v", unknown)
	}
	var prices struct {
		Date, FileDate string
		Models         map[string]struct{ Input json.Number }
	}
	s.Do(t, http.MethodGet, "/prices", nil).Want(t, http.StatusOK).Into(t, &prices)
	if prices.FileDate != "2026-11-01" || prices.Date == "" || prices.Models["dear"].Input != "1" || prices.Models["gpt-5-mini"].Input != "0.25" {
		t.Errorf("prices are %+v", prices)
	}
}

// Sums over all users do not need an item for each of them.
func TestUsageByGroups(t *testing.T) {
	t.Parallel()
	base := serve(t, parley.Config{Agents: spender(t), PriceFile: priceFile(t)})
	first, second := limitedAt(t, base, "first"), limitedAt(t, base, "second")
	first.say(t, "dear")
	first.say(t, "unknown")
	second.say(t, "dear")
	list := func(query string) (got []usageItem) {
		t.Helper()
		first.Do(t, http.MethodGet, "/usage?"+query, nil).Want(t, http.StatusOK).Into(t, &got)
		return got
	}
	users := list("groupBy=user")
	if len(users) != 2 || users[0].UserID != "first" || users[0].Runs != 2 || users[0].Unpriced != 10 || users[1].UserID != "second" || users[1].Runs != 1 || users[1].USD != "0.000054" {
		t.Errorf("by user: %+v", users)
	}
	for _, u := range users {
		if u.Day != "" || u.AppName != "" {
			t.Errorf("by user: %+v has more than the user", u)
		}
	}
	apps := list("groupBy=app")
	if len(apps) != 1 || apps[0].AppName != first.App || apps[0].UserID != "" || apps[0].Runs != 3 || apps[0].Total != 30 || apps[0].USD != "0.000108" || len(apps[0].Models) != 2 {
		t.Errorf("by application: %+v", apps)
	}
	runs := 0
	for _, day := range list("groupBy=day") { // midnight may be between the runs
		runs += day.Runs
		if day.Day == "" || day.AppName != "" || day.UserID != "" {
			t.Errorf("by day: %+v", day)
		}
	}
	if runs != 3 {
		t.Errorf("%d runs by day, want 3", runs)
	}
	if both := list("groupBy=app&groupBy=user&pageSize=1"); len(both) != 1 || both[0].AppName != first.App || both[0].UserID != "first" || both[0].Day != "" {
		t.Errorf("by application and user, one at a time: %+v", both)
	}
	first.Do(t, http.MethodGet, "/usage?groupBy=model", nil).Want(t, http.StatusUnprocessableEntity)
}

// Sums by session are those of the runs that sessions have.
func TestUsageBySession(t *testing.T) {
	t.Parallel()
	for name, db := range map[string]string{"memory": "memory://", "sqlite": "sqlite://" + t.TempDir() + "/sessions.db"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := serve(t, parley.Config{Agents: spender(t), PriceFile: priceFile(t), Sessions: parley.SessionConfig{URL: db}})
			alice, bob := limitedAt(t, base, "alice"), limitedAt(t, base, "bob")
			later := &talk{alice.Client, alice.App, alice.User, "s2"}
			later.Do(t, http.MethodPost, later.path(), nil).Want(t, http.StatusOK)
			alice.say(t, "dear")
			later.say(t, "dear")
			bob.say(t, "unknown")
			alice.say(t, "unknown")

			// list returns all items, as many at a time as the query says.
			list := func(query string) (all []usageItem) {
				t.Helper()
				for next := "/usage?" + query; next != ""; {
					var page []usageItem
					resp := alice.Do(t, http.MethodGet, next, nil).Want(t, http.StatusOK)
					resp.Into(t, &page)
					all = append(all, page...)
					next, _, _ = strings.Cut(strings.TrimPrefix(resp.Header.Get("Link"), "<"), ">")
				}
				return all
			}
			for _, query := range []string{"", "&pageSize=1", "&pageSize=2", "&groupBy=user"} {
				got := list("groupBy=session&appName=" + alice.App + query)
				if len(got) != 3 {
					t.Fatalf("%s: %+v", query, got)
				}
				for i, want := range []usageItem{
					{cost{USD: "0.000054", Unpriced: 10, Total: 20}, "", alice.App, "alice", "s1", 2},
					{cost{USD: "0.000054", Total: 10}, "", alice.App, "alice", "s2", 1},
					{cost{Unpriced: 10, Total: 10}, "", alice.App, "bob", "s1", 1},
				} {
					if models := len(got[i].Models); models != want.Runs { // each run has another model
						t.Errorf("%s: the models of item %d are %+v", query, i, got[i].Models)
					}
					got[i].Models = nil
					if !reflect.DeepEqual(got[i], want) {
						t.Errorf("%s: item %d is %+v, want %+v", query, i, got[i], want)
					}
				}
			}
			runs := 0
			for _, one := range list("groupBy=day&groupBy=session&userId=alice&appName=" + alice.App) { // midnight may be between the runs
				runs += one.Runs
				if one.Day == "" || one.UserID != "alice" {
					t.Errorf("by day: %+v", one)
				}
			}
			if runs != 3 {
				t.Errorf("%d runs by day, want 3", runs)
			}
			if long := list("groupBy=session&from=2020-01-01&to=2020-12-31&appName=" + alice.App); len(long) != 0 {
				t.Errorf("years ago: %+v", long)
			}
			if resp := alice.Do(t, http.MethodGet, "/usage?groupBy=session", nil).Want(t, http.StatusUnprocessableEntity); !strings.Contains(string(resp.Body), "appName") {
				t.Errorf("without an application: %s", resp.Body)
			}
			alice.Do(t, http.MethodGet, "/usage?groupBy=session&pageToken=x&appName="+alice.App, nil).Want(t, http.StatusBadRequest)
		})
	}
}

// The money of a day refuses the next run, and not that of other users.
func TestCostOfADay(t *testing.T) {
	t.Parallel()
	base := serve(t, parley.Config{Agents: spender(t), PriceFile: priceFile(t), Limits: parley.Limits{DayCost: 0.00006}})
	s := limitedAt(t, base, unique("u"))
	s.say(t, "unknown")
	s.say(t, "dear")
	s.say(t, "dear")
	s.tooMuch(t, 24*time.Hour, "The budget of today is used up: 0.000108 of 0.00006 US dollars")
	limitedAt(t, base, unique("u")).say(t, "dear")
	var prices struct{ MaxDayCostUSD json.Number }
	s.Do(t, http.MethodGet, "/prices", nil).Want(t, http.StatusOK).Into(t, &prices)
	if prices.MaxDayCostUSD != "0.00006" {
		t.Errorf("the budget is %s", prices.MaxDayCostUSD)
	}
}

// A file that cannot be used is an error that names the setting.
func TestBadPriceFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "prices.json")
	if err := os.WriteFile(path, []byte(`{"models": {"m": {"input": 1}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := parley.Open(t.Context(), parley.Config{Agents: spender(t), PriceFile: path})
	if err == nil || !strings.Contains(err.Error(), "PriceFile") || !strings.Contains(err.Error(), `the model "m": input and output`) {
		t.Errorf("error: %v", err)
	}
}
