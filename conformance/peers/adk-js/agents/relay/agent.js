import { relay } from '../../fixture.js';

export const rootAgent = relay();
