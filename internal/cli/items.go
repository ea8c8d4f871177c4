package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"
)

// items are what a command manages on a server: schedules, triggers or webhooks. Their
// subcommands list, show, change and delete them, and print JSON if asked to.
type items struct {
	env *Env
	one string // what an item is called
	// path returns the parts of the path of all items.
	path func(*client) []string
	// server is why a database is not enough; empty if it is.
	server string
	// show prints the document of an item.
	show func(c *client, doc json.RawMessage) error
}

// command returns a subcommand.
func (i *items) command(cmd *cobra.Command, do func(ctx context.Context, c *client, asJSON bool, args []string) error) *cobra.Command {
	var asJSON bool
	cmd = remoteCommand(i.env, cmd, func(ctx context.Context, c *client, args []string) error {
		if c.database && i.server != "" {
			return &usageError{i.server + ": give --server"}
		}
		return do(ctx, c, asJSON, args)
	})
	jsonFlag(cmd.Flags(), &asJSON)
	return cmd
}

// at returns the parts of the path of all items, or below one.
func (i *items) at(c *client, below ...string) []string { return append(i.path(c), below...) }

// list returns the command that lists all items. row returns the cells of one.
func (i *items) list(short, long string, row func(doc json.RawMessage) ([]string, error), head ...string) *cobra.Command {
	return i.command(&cobra.Command{Use: "list", Short: short, Long: long, Args: takes(0)}, func(ctx context.Context, c *client, asJSON bool, _ []string) error {
		var list []json.RawMessage
		if err := c.get(ctx, &list, i.at(c)...); err != nil {
			return err
		}
		if asJSON {
			return i.env.writeJSON(list)
		}
		rows := newTable(i.env, head...)
		for _, one := range list {
			cells, err := row(one)
			if err != nil {
				return err
			}
			rows.row(cells...)
		}
		return rows.flush()
	})
}

// details returns the command that shows an item, and what is below it.
func (i *items) details(short, long, below string, show func(doc json.RawMessage) error) *cobra.Command {
	return i.named("show", short, long, func(ctx context.Context, c *client, asJSON bool, args []string) error {
		var item, more json.RawMessage
		if err := c.get(ctx, &item, i.at(c, args[0])...); err != nil {
			return err
		}
		if err := c.get(ctx, &more, i.at(c, args[0], below)...); err != nil {
			return err
		}
		if asJSON {
			return i.env.writeJSON(map[string]json.RawMessage{i.one: item, below: more})
		}
		if err := i.show(c, item); err != nil {
			return err
		}
		return show(more)
	})
}

// named returns a subcommand with an item as its argument.
func (i *items) named(name, short, long string, do func(ctx context.Context, c *client, asJSON bool, args []string) error) *cobra.Command {
	return i.command(&cobra.Command{Use: name + " " + i.one, Short: short, Long: long, Args: takes(1, "the "+i.one)}, do)
}

// change returns the command that sends a change, and shows the item as it is then.
func (i *items) change(name, short, long, method string, doc any, below ...string) *cobra.Command {
	return i.named(name, short, long, func(ctx context.Context, c *client, asJSON bool, args []string) error {
		return i.send(ctx, c, asJSON, method, doc, append(args, below...)...)
	})
}

// send sends a change to all items or below one, and shows the item as it is then.
func (i *items) send(ctx context.Context, c *client, asJSON bool, method string, doc any, below ...string) error {
	var text json.RawMessage
	if err := c.call(ctx, &text, method, doc, i.at(c, below...)...); err != nil {
		return err
	}
	if asJSON {
		return i.env.writeJSON(text)
	}
	return i.show(c, text)
}

// do returns the command that does something with an item, and shows nothing.
func (i *items) do(name, short, long, method, done string, below ...string) *cobra.Command {
	return i.named(name, short, long, func(ctx context.Context, c *client, asJSON bool, args []string) error {
		if err := c.call(ctx, nil, method, nil, i.at(c, append(args, below...)...)...); err != nil || !asJSON {
			return err
		}
		return i.env.writeJSON(map[string]string{done: args[0]})
	})
}

// delete returns the command that deletes an item.
func (i *items) delete(rest string) *cobra.Command {
	return i.do("delete", "Delete a "+i.one, fmt.Sprintf("Delete a %s. %s", i.one, rest), http.MethodDelete, "deleted")
}

// group returns a command that has subcommands only.
func group(env *Env, cmd *cobra.Command, below ...*cobra.Command) *cobra.Command {
	cmd.GroupID, cmd.Args = groupMore, takes(0)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { writeHelp(env.Stdout, cmd); return nil }
	cmd.AddGroup(&cobra.Group{ID: groupSessions, Title: "Commands"})
	cmd.AddCommand(below...)
	return cmd
}
