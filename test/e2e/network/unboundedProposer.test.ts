import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { endless } from '../../../bench/worstCase/program.ts'
import { DEVNET_ACCOUNTS } from '../../../src/cli/devnetAccounts.ts'
import { hexToBytes } from '../../../src/primitives/bytes.ts'
import { PROPERTY_RUNS } from '../../propertyRuns.ts'
import { signEvmTransaction } from '../../signEvmTransaction.ts'
import { rpc } from '../rpc.ts'
import { differences, type LocalNetwork, makeNetwork, waitForHeight } from './localNetwork.ts'
import { proposeUnbounded, unboundedLauncher, unboundedVariables } from './unboundedApplication.ts'

const EVM_CHAIN_ID = 76_287n
/** Six of these fill a block of 100,000,000. */
const GAS = 16_660_000n
/** Heights after the block in which the chain has to be as before. */
const HEIGHTS_AFTER = 12

interface CometCommit {
  readonly signed_header: { readonly commit: { readonly round: number } }
}

let network: LocalNetwork
let directory: string

beforeAll(async () => {
  if (PROPERTY_RUNS === 1) return
  directory = mkdtempSync(join(tmpdir(), 'coind-unbounded-'))
  network = await makeNetwork({
    validators: 4,
    environment: { RPC_THREADS: '1', VIEW_THREADS: '1', ...unboundedVariables(directory) },
    launcherOf: (index) => (index === 3 ? unboundedLauncher() : undefined),
  })
  await network.start()
})
afterAll(async () => {
  await network?.stop()
  if (directory !== undefined) rmSync(directory, { recursive: true, force: true })
})

/** Creations whose code runs until all gas is used up. */
function creations(nonce: bigint, body: string, setup: string): Uint8Array[] {
  return DEVNET_ACCOUNTS.slice(0, 6).map(({ privateKey }) => {
    const fields = { nonce, gasLimit: GAS, to: undefined, value: 0n, data: endless(body, { setup }), accessList: [] }
    const unused = { authorizationList: [], maxFeePerBlobGas: 0n, blobVersionedHashes: [] }
    const fees = { maxPriorityFeePerGas: 10n ** 9n, maxFeePerGas: 10n ** 11n }
    return signEvmTransaction(
      { type: 2, chainId: EVM_CHAIN_ID, ...fields, ...fees, ...unused },
      hexToBytes(privateKey as `0x${string}`),
    ).raw
  })
}

describe.skipIf(PROPERTY_RUNS === 1)('a proposer without a time budget', () => {
  it.each([
    { what: 'cheap code', body: 'DUP1 POP', setup: 'PUSH0' },
    { what: 'exponentiations', body: 'DUP2 DUP2 EXP POP', setup: `0x${'f3'.repeat(32)} 0x${'ff'.repeat(32)}` },
    { what: 'hashes of 32 KB', body: '0x8000 PUSH0 KECCAK256 POP', setup: '1 0x7fff MSTORE8' },
  ])('costs two slow heights at most with 100,000,000 gas of $what, and no fork', async ({ body, setup }) => {
    const honest = network.validators.slice(0, 3)
    const sender = `0x${Buffer.from(DEVNET_ACCOUNTS[0]!.address).toString('hex')}`
    const nonce = BigInt(await rpc<string>(`${network.seed.rpcUrl}/`, 'eth_getTransactionCount', sender, 'latest'))
    const height = await proposeUnbounded(directory, creations(nonce, body, setup))
    await Promise.all(network.nodes.map((node) => waitForHeight(node, height + HEIGHTS_AFTER, 120_000)))
    const heights = Array.from({ length: HEIGHTS_AFTER + 1 }, (_, index) => height + index)
    const commits = await Promise.all(heights.map((at) => honest[0]!.comet<CometCommit>(`commit?height=${at}`)))
    const slow = heights.filter((_, index) => commits[index]!.signed_header.commit.round > 0)
    expect(slow.length, `heights that needed further rounds after ${height}: ${slow.join(' ')}`).toBeLessThanOrEqual(2)
    expect(await differences(network.nodes)).toEqual([])
  })
})
