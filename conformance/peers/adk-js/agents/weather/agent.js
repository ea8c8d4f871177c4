import { weather } from '../../fixture.js';

export const rootAgent = weather();
