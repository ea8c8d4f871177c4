// A travel desk of several agents: one listens and hands over, each of the
// others knows one thing, and a plugin tells all of them who they work for.
import { App, FunctionTool, GlobalInstructionPlugin, LlmAgent } from '@google/adk';
import { z } from 'zod';

const flights: Record<string, string[]> = {
  lisbon: ['PY 101 at 07:40, 120 euros', 'PY 105 at 18:15, 95 euros'],
  oslo: ['PY 220 at 10:05, 140 euros'],
};

const findFlights = new FunctionTool({
  name: 'find_flights',
  description: 'Finds flights to a city.',
  parameters: z.object({ city: z.string().describe('Where the traveller wants to go.') }),
  execute: ({ city }, { state }) => {
    const found = flights[city.toLowerCase()];
    if (!found) return { status: 'error', error_message: `No flights to ${city} are known.` };
    state.set('destination', city); // the hotel desk knows it without asking
    return { status: 'success', message: `Flights to ${city}: ${found.join('; ')}.` };
  },
});

const bookHotel = new FunctionTool({
  name: 'book_hotel',
  description: 'Books a hotel room in a city for a number of nights.',
  parameters: z.object({
    nights: z.number().int().min(1).describe('How many nights.'),
    city: z.string().optional().describe('The city; the destination of the flight if left out.'),
  }),
  execute: ({ nights, city }, { state }) => {
    const where = city ?? state.get('destination');
    if (!where) return { status: 'error', error_message: 'In which city?' };
    return { status: 'success', message: `A room in ${where} is yours for ${nights} nights.` };
  },
});

const flightDesk = new LlmAgent({
  name: 'flight_desk',
  description: 'Finds flights and tells their times and prices.',
  instruction: 'Find flights with find_flights. Hand hotel questions to hotel_desk.',
  tools: [findFlights],
});

const hotelDesk = new LlmAgent({
  name: 'hotel_desk',
  description: 'Books hotel rooms for a number of nights.',
  instruction: 'Book rooms with book_hotel. The destination is {destination?}.',
  tools: [bookHotel],
});

export const app = new App({
  name: 'travel',
  rootAgent: new LlmAgent({
    name: 'travel_desk',
    model: 'gemini-2.5-flash',
    description: 'Listens to travellers.',
    instruction: 'Find out what the traveller needs, and hand over to the desk that knows.',
    subAgents: [flightDesk, hotelDesk],
  }),
  plugins: [new GlobalInstructionPlugin('You work for a small travel agency. Be friendly, and name prices in euros.')],
});
