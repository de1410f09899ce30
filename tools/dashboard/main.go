// Reads a dashboard with Grafana's own model of dashboards, panels and queries, and fails if a field has a wrong type,
// is missing or unknown (unknown ones below fieldConfig.defaults are not seen), or a panel is of an unknown type.
//
//	go run . FILE
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

func main() {
	if len(os.Args) != 2 {
		fail("usage: go run . FILE")
	}
	plugins.RegisterDefaultPlugins()
	content, err := os.ReadFile(os.Args[1])
	if err != nil {
		fail(err)
	}
	var board dashboard.Dashboard
	// What it returns is never nil; where nothing is wrong it is an empty list.
	var wrong cog.BuildErrors
	if err := board.UnmarshalJSONStrict(content); !errors.As(err, &wrong) || len(wrong) > 0 {
		fail(os.Args[1], "is no dashboard of Grafana:", err)
	}
	var types struct{ Panels []struct{ Type string } }
	if err := json.Unmarshal(content, &types); err != nil {
		fail(err)
	}
	for _, panel := range types.Panels {
		if _, known := cog.ConfigForPanelcfgVariant(panel.Type); !known && panel.Type != "row" {
			fail(os.Args[1], "has a panel of the unknown type", panel.Type)
		}
	}
	if err := board.Validate(); err != nil {
		fail(os.Args[1], "has values that Grafana does not take:", err)
	}
}

func fail(message ...any) {
	fmt.Fprintln(os.Stderr, message...)
	os.Exit(1)
}
