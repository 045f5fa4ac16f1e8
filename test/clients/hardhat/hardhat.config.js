import { createRequire } from 'node:module'
import ignition from '@nomicfoundation/hardhat-ignition-viem'
import viem from '@nomicfoundation/hardhat-viem'

const { RPC_URL, PRIVATE_KEY } = process.env
const path = createRequire(import.meta.url).resolve('solc/soljson.js')

export default {
  plugins: [viem, ignition],
  solidity: { version: '0.8.37', path },
  networks: { devnet: { type: 'http', url: RPC_URL, accounts: [PRIVATE_KEY] } },
}
