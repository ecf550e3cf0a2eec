package model_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/clew-dev/clew/model"
)

// What is listed of a model is what Lookup says of it.
func TestListAgreesWithLookup(t *testing.T) {
	c := builtIn(t)
	exact := 0
	seen := map[string]bool{}
	for _, l := range c.List() {
		if l.Info.Model == "" || strings.Contains(l.Info.Model, "*") || l.Info.Source == "" || l.Info.Window == 0 {
			t.Errorf("%+v", l)
		}
		if key := l.Info.Provider + "/" + l.Info.Model; !l.Family {
			if seen[key] {
				t.Errorf("%s is listed twice", key)
			}
			seen[key] = true
			exact++
			if want, ok := c.Lookup(l.Info.Provider, l.Info.Model); !ok || !reflect.DeepEqual(l.Info, want) {
				t.Errorf("%s: listed %+v, looked up %+v", key, l.Info, want)
			}
		}
	}
	if exact < 8 || len(c.List()) < 40 {
		t.Errorf("%d entries, %d of them exact", len(c.List()), exact)
	}
}

// An entry is filled from less exact ones and never from those more exact.
func TestListFills(t *testing.T) {
	c, err := model.ReadCatalogue(strings.NewReader(`{"models":[
		{"id":"a-1","price":{"input":1,"output":2}},
		{"id":"a-1*","maxOutput":10},
		{"id":"a-*","window":100}
	]}`))
	if err != nil {
		t.Fatal(err)
	}
	price := &model.Price{Input: 1, Output: 2}
	want := []model.Listed{
		{Info: model.Info{Model: "a-1", Window: 100, MaxOutput: 10, Price: price}},
		{Family: true, Info: model.Info{Model: "a-1", Window: 100, MaxOutput: 10}},
		{Family: true, Info: model.Info{Model: "a-", Window: 100}},
	}
	if got := c.List(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
	own, err := model.ReadCatalogue(strings.NewReader(`{"models":[{"id":"A-*","window":50}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := c.With(own).List(); got[0].Info.Window != 50 || got[1].Info.Window != 50 || len(got) != 4 {
		t.Errorf("with one of ours: %+v", got)
	}
}

// A model that takes no images is not given them by its family.
func TestFamilyDoesNotOverrule(t *testing.T) {
	c, err := model.ReadCatalogue(strings.NewReader(`{"models":[
		{"id":"a-mini*","images":false,"noTemperature":false},
		{"id":"a-*","images":true,"noTemperature":true}
	]}`))
	if err != nil {
		t.Fatal(err)
	}
	mini, _ := c.Lookup("", "a-mini")
	large, _ := c.Lookup("", "a-large")
	if mini.Images || mini.NoTemperature || !large.Images || !large.NoTemperature {
		t.Errorf("%+v, %+v", mini, large)
	}
	if i, _ := builtIn(t).Lookup("openai", "o1-mini"); i.Images {
		t.Error("o1-mini takes no images")
	}
}
