module.exports = { ...require("./fs.cjs").constants, ...require("./os.cjs").constants.signals };
