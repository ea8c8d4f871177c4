import { Agent } from 'adk-typescript/agents';
import { OpenAPIToolset } from 'adk-typescript/tools';

const env = process.env as Record<string, string>;

const toolset = new OpenAPIToolset({
  specStr: `
openapi: 3.1.0
info: {title: Calendar, version: "1"}
servers: [{url: "${env.CALENDAR_HOST}"}]
paths:
  /calendar/events:
    get:
      operationId: listEvents
      summary: Lists the events in the user's calendar.
      responses: {"200": {description: The events.}}
`,
  specStrType: 'yaml',
  toolFilter: ['list_events'],
});

const listEvents = toolset.getTool('listEvents')!;
listEvents.configureAuthScheme({
  type: 'oauth2',
  flows: { authorizationCode: { authorizationUrl: env.CALENDAR_AUTH_URL, tokenUrl: env.CALENDAR_TOKEN_URL, scopes: { openid: '', offline_access: '', 'calendar.read': '' } } },
});
listEvents.configureAuthCredential({
  auth_type: 'OAUTH2',
  oauth2: { client_id: env.CALENDAR_CLIENT_ID, client_secret: env.CALENDAR_CLIENT_SECRET },
});

export const rootAgent = new Agent({ name: 'calendar', model: 'scripted', tools: [listEvents] });
