import { createConfig } from 'ponder'
import { ABI } from './sources/abi.js'

const { CHAIN_ID, RPC_URL, TOKEN, TOKEN_BLOCK } = process.env

export default createConfig({
  database: { kind: 'pglite' },
  chains: { devnet: { id: Number(CHAIN_ID), rpc: RPC_URL, pollingInterval: 400 } },
  contracts: {
    Token: {
      chain: 'devnet',
      abi: ABI,
      address: TOKEN,
      startBlock: Number(TOKEN_BLOCK),
      includeCallTraces: true,
      includeTransactionReceipts: true,
    },
  },
})
