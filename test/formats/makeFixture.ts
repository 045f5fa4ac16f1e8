import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { createWalletClient, encodeFunctionData, http, numberToHex } from 'viem'
import { MsgSend } from '../../src/modules/bank/messages.ts'
import { MsgDelegate } from '../../src/modules/staking/messages.ts'
import { toBech32 } from '../../src/primitives/address.ts'
import { hexToBytes } from '../../src/primitives/bytes.ts'
import { ACCOUNTS, COIN, GWEI, KEYS, NATIVE_TOKEN, VAULT_ABI, vaultBytecode, viemChain } from '../e2e/devChain.ts'
import { broadcast } from '../e2e/native/broadcast.ts'
import { mined, rpc, until } from '../e2e/rpc.ts'
import { startNode, type TestNode } from '../e2e/startNode.ts'
import { anyOf, signTestTransaction } from '../native/signTransaction.ts'
import { type Answer, answerOf, FIXTURE_ENVIRONMENT, writeFixture } from './fixture.ts'

/**
 * Makes the fixture of the format that this version writes: runs a devnet, asks it for all that its database holds, stops it
 * and packs its data directory. It is run once for each format, by the last commit before the format is raised:
 *
 *   node test/formats/makeFixture.ts FORMAT
 */
const [format] = process.argv.slice(2).map(Number)
if (!Number.isInteger(format)) throw new Error('node test/formats/makeFixture.ts FORMAT')

const RECEIVER = '0x00000000000000000000000000000000000000aa'
const [wallet, account] = [ACCOUNTS[0]!, ACCOUNTS[1]!]

/** What the chain holds: a contract with storage and logs, transfers of both kinds, one that fails, a delegation. */
async function fillChain(
  node: TestNode,
): Promise<{ readonly vault: `0x${string}`; readonly hashes: readonly string[] }> {
  const writer = createWalletClient({ chain: viemChain(node.url), transport: http(node.url), account })
  const created = await writer.deployContract({ abi: VAULT_ABI, bytecode: vaultBytecode(), args: [7n], value: 3n })
  const vault = (await mined(node.url, created)).contractAddress!
  const fees = { gas: 200_000n, maxFeePerGas: 10n * GWEI, maxPriorityFeePerGas: GWEI }
  const call = { address: vault, abi: VAULT_ABI, ...fees } as const
  const hashes = [
    created,
    await writer.writeContract({ ...call, nonce: 1, functionName: 'deposit', args: ['note'], value: 50n }),
    await writer.writeContract({ ...call, nonce: 2, functionName: 'withdraw', args: [20n] }),
    await writer.writeContract({ ...call, nonce: 3, functionName: 'withdraw', args: [1_000n] }),
    await writer.sendTransaction({ ...fees, nonce: 4, to: RECEIVER, value: 9n }),
  ]
  for (const hash of hashes) await mined(node.url, hash)
  const delegator = toBech32(hexToBytes(wallet.address))
  const amount = (acoin: bigint) => ({ denom: 'acoin', amount: acoin })
  const messages = [
    anyOf(MsgSend, { fromAddress: delegator, toAddress: toBech32(hexToBytes(RECEIVER)), amount: [amount(COIN)] }),
    anyOf(MsgDelegate, {
      delegatorAddress: delegator,
      validatorAddress: toBech32(hexToBytes(wallet.address), 'coinvaloper'),
      amount: amount(COIN),
    }),
  ]
  for (const [sequence, message] of messages.entries()) {
    const signers = [{ privateKey: hexToBytes(KEYS[0]!), sequence }]
    const { code, log } = await broadcast(node, signTestTransaction({ messages: [message], signers }))
    if (code !== 0) throw new Error(log)
  }
  return { vault, hashes }
}

/** Requests whose answers do not change when the chain goes on. */
function requestsUpTo(height: number, vault: string, hashes: readonly string[]) {
  const call = (method: string, ...params: unknown[]) => ({
    path: '',
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  const requests: { readonly path: string; readonly body?: string }[] = []
  for (let at = 0; at <= height; at++) {
    const block = numberToHex(at)
    requests.push(call('eth_getBlockByNumber', block, true), call('eth_getBlockReceipts', block))
    requests.push(call('eth_getProof', wallet.address, [], block), call('eth_getBalance', RECEIVER, block))
    if (at === 0) continue
    for (const method of ['block', 'block_results', 'commit', 'validators']) {
      requests.push({ path: `rpc/${method}?height=${at}` })
    }
  }
  const block = numberToHex(height)
  const count = encodeFunctionData({ abi: VAULT_ABI, functionName: 'count' })
  const slots = Array.from({ length: 4 }, (_, slot) => numberToHex(slot, { size: 32 }))
  requests.push(call('eth_getProof', vault, slots, block), call('eth_getCode', vault, block))
  requests.push(call('eth_call', { to: vault, data: count }, block), call('eth_getCode', NATIVE_TOKEN, block))
  requests.push(call('eth_getLogs', { fromBlock: '0x0', toBlock: block, address: vault }))
  for (const hash of hashes) requests.push(call('eth_getTransactionReceipt', hash))
  requests.push({ path: `rpc/tx_search?query="message.action='/cosmos.bank.v1beta1.MsgSend'"` })
  return requests
}

function packFiles(homedir: string): Record<string, string> {
  const names = readdirSync(homedir, { recursive: true, withFileTypes: true })
  const paths = names.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name))
  const kept = paths
    .map((path) => relative(homedir, path))
    .filter((path) => /^(config|db|wal)\//.test(path) && !/LOG/.test(path))
  return Object.fromEntries(kept.toSorted().map((path) => [path, readFileSync(join(homedir, path)).toString('base64')]))
}

const homedir = mkdtempSync(join(tmpdir(), 'coind-fixture-'))
const headOf = async ({ url }: TestNode) => Number(await rpc<string>(url, 'eth_blockNumber'))
let node = await startNode({ homedir, environment: FIXTURE_ENVIRONMENT })
const { vault, hashes } = await fillChain(node)
const last = await headOf(node)
// The commit of a block is complete with the next one.
await until('further blocks', async () => (await headOf(node)) > last + 2)
const answers: Answer[] = []
for (const request of requestsUpTo(last, vault, hashes)) {
  answers.push({ ...request, answer: await answerOf(node, request) })
}
await node.kill('SIGTERM')
// A restart writes LevelDB's log to a table, so that the fixture has both.
node = await startNode({ homedir, environment: FIXTURE_ENVIRONMENT })
const restarted = await headOf(node)
await until('further blocks', async () => (await headOf(node)) > restarted)
const height = await headOf(node)
await node.kill('SIGTERM')
writeFixture(format!, { height, answers, files: packFiles(homedir) })
rmSync(homedir, { recursive: true })
