package script

import (
	"strings"
	"testing"
)

// Schemas of an application's own zod are described by that.
func TestOwnZod(t *testing.T) {
	dir := write(t, map[string]string{
		"node_modules/zod/package.json":     `{"name":"zod","version":"4.0.0","type":"module","exports":{".":"./index.js","./v4/core":"./v4/core/index.js"}}`,
		"node_modules/zod/index.js":         `export const z = { object: () => ({ _zod: {}, safeParse: (data) => ({ success: true, data }) }) };`,
		"node_modules/zod/v4/core/index.js": `export const toJSONSchema = () => ({ type: "object", properties: { own: { type: "string" } } });`,
		"index.ts": `import { FunctionTool, LlmAgent } from '@google/adk';
import { z } from 'zod';
const fine = new FunctionTool({ name: 'fine', description: '?', parameters: z.object(), execute: () => 1 });
export const rootAgent = new LlmAgent({ name: 'root', model: 'scripted', tools: [fine] });
`,
	})
	info, _ := rootOf(t, loadApps(t, dir), "app").Info()
	if len(info.Tools) != 1 || !strings.Contains(string(info.Tools[0].Parameters), `"own"`) {
		t.Errorf("the tools are %+v", info.Tools)
	}
}

// Of what it carries, the binary gives an application what it imports, in
// whatever way.
func TestImportsOfTheLibrary(t *testing.T) {
	dir := write(t, map[string]string{
		"package.json": `{"type":"module"}`,
		"index.ts": `import zod, { z } from 'zod';
import * as all from 'zod';
import * as core from 'zod/v4/core';
import path, { join } from 'node:path';
import { readFileSync as read } from 'fs';
export * from 'uuid';
const { EventEmitter } = await import('node:events');
const names = [Response, Request, URL, Event, DOMException, EventEmitter, LlmAgent].map((c) => c.name).join();
` + source(`return [zod.string().parse('a'), z.string().parse('b'), all.string().parse('c'), typeof core.toJSONSchema, path.join('d', 'e'), join('f'), typeof read, names]`),
	})
	want := `{"results":["a","b","c","function","d/e","f","function","Response,Request,URL,Event,DOMException,EventEmitter,LlmAgent"]}`
	if got := result(t, rootOf(t, loadApps(t, dir), "app"), "fine"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
