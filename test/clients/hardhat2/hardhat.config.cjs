const { TASK_COMPILE_SOLIDITY_GET_SOLC_BUILD } = require('hardhat/builtin-tasks/task-names')
const { subtask } = require('hardhat/config')
require('@nomicfoundation/hardhat-ethers')
require('@nomicfoundation/hardhat-verify')
require('@openzeppelin/hardhat-upgrades')

const { RPC_URL, PRIVATE_KEY, CHAIN_ID, EXPLORER_URL } = process.env
const chainId = Number(CHAIN_ID)
const explorer = EXPLORER_URL.replace(/\/$/, '')

// The compiler of npm's package, where Hardhat would download the same version.
subtask(TASK_COMPILE_SOLIDITY_GET_SOLC_BUILD, async ({ solcVersion }) => ({
  compilerPath: require.resolve('solc/soljson.js'),
  isSolcJs: true,
  version: solcVersion,
  longVersion: require('solc').version().replace('.Emscripten.clang', ''),
}))

module.exports = {
  solidity: { version: '0.8.37', settings: { optimizer: { enabled: true, runs: 200 } } },
  networks: {
    devnet: { url: RPC_URL, chainId, accounts: [PRIVATE_KEY] },
    hardhat: { forking: { url: RPC_URL } },
  },
  etherscan: {
    apiKey: { devnet: 'unused' },
    customChains: [{ network: 'devnet', chainId, urls: { apiURL: `${explorer}/api`, browserURL: explorer } }],
  },
}
