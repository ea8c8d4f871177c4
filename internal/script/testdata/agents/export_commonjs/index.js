const { LlmAgent } = require('@google/adk');
const path = require('path');

const rootAgent = new LlmAgent({ name: 'common', model: 'gemini-2.5-flash', instruction: path.basename(__filename) });

if (require.main === module) {
  console.log('not here');
}

module.exports = { rootAgent };
