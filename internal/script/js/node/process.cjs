module.exports = process;
