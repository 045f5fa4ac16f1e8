import { afterAll, beforeAll, describe } from 'vitest'
import { castTests } from './clients/cast.ts'
import { cometRpcTests } from './clients/cometRpc.ts'
import { contractsTests } from './clients/contracts.ts'
import { ethersTests } from './clients/ethers.ts'
import { viemTests } from './clients/viem.ts'
import { web3Tests } from './clients/web3.ts'
import { startQuickDevnet } from './quickDevnet.ts'
import type { TestNode } from './startNode.ts'

/** One devnet for all: they use it one after the other. One alone: `npx vitest run --project e2e clients -t cast`. */
let node: TestNode
beforeAll(async () => {
  node = await startQuickDevnet()
})
afterAll(() => node?.stop())

describe('CometBFT’s RPC', () => cometRpcTests(() => node))
describe('cast', () => castTests(() => node))
describe('contracts', () => contractsTests(() => node))
describe('ethers', () => ethersTests(() => node))
describe('viem', () => viemTests(() => node))
describe('web3', () => web3Tests(() => node))
