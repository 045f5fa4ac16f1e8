import { setTimeout as sleep } from 'node:timers/promises'
import type { Hex } from 'viem'
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { DEVNET_ACCOUNTS } from '../../../src/cli/devnetAccounts.ts'
import { type RpcReceipt, rpc, rpcBatch } from '../rpc.ts'
import type { NetworkNode } from './localNetwork.ts'

const EVM_CHAIN_ID = 76287
const RECEIVER = '0x00000000000000000000000000000000000000bb'

/** Accounts that send coins, each through another node. */
interface Transfers {
  /** hashes that a node took, in order */
  readonly sent: readonly string[]
  /** Ends it; throws an answer that a node should not have given. */
  stop(): Promise<void>
}

/** Sends a transfer through each of the nodes every `everyMs`; a node that does not run is skipped. */
export function startTransfers(nodes: readonly NetworkNode[], everyMs = 100): Transfers {
  const stopping = new AbortController()
  const sent: string[] = []
  const senders = nodes.map(async (node, index) => {
    const account = privateKeyToAccount(DEVNET_ACCOUNTS[index + 1]!.privateKey as Hex)
    let nonce: number | undefined
    while (!stopping.signal.aborted) {
      try {
        nonce ??= Number(await rpc(`${node.rpcUrl}/`, 'eth_getTransactionCount', account.address, 'pending'))
        sent.push(await rpc(`${node.rpcUrl}/`, 'eth_sendRawTransaction', await signTransfer(account, nonce)))
        nonce++
      } catch (error) {
        // A transfer that failed because its node ended is sent again when the node is back.
        if (node.isRunning() && !isRefused(error)) throw error
        nonce = undefined
      }
      await sleep(everyMs)
    }
  })
  const ended = Promise.all(senders)
  // `stop` is where a failure is reported.
  ended.catch(() => undefined)
  return {
    sent,
    stop: async () => {
      stopping.abort()
      await ended
    },
  }
}

/** How long a transaction may take on a busy machine: one that no peer has heard of is sent again after 15 s. */
const BLOCK_TIMEOUT_MS = 90_000
/** Receipts that a node is asked for in one request. */
const RECEIPTS_A_REQUEST = 200

/**
 * Waits until all of these transactions are in blocks on this node.
 * @throws Error for one that failed, and for those that are in no block in time, with what the node knows of the first of them
 */
export async function waitForTransfers(node: NetworkNode, hashes: readonly string[]): Promise<void> {
  const deadline = performance.now() + BLOCK_TIMEOUT_MS
  for (let first = 0; first < hashes.length; first += RECEIPTS_A_REQUEST) {
    let missing = await withoutReceipt(node, hashes.slice(first, first + RECEIPTS_A_REQUEST))
    while (missing.length > 0) {
      if (performance.now() > deadline) {
        const known = await rpc(`${node.rpcUrl}/`, 'eth_getTransactionByHash', missing[0])
        throw new Error(`${missing.join(' ')} are in no block of ${node.name}; the first is ${JSON.stringify(known)}`)
      }
      await sleep(100)
      missing = await withoutReceipt(node, missing)
    }
  }
}

/** Those hash of the transactions that are in no block yet. @throws Error for one that failed */
async function withoutReceipt({ name, rpcUrl }: NetworkNode, hashes: readonly string[]): Promise<readonly string[]> {
  const calls = hashes.map((hash) => ({ method: 'eth_getTransactionReceipt', params: [hash] }))
  const receipts = (await rpcBatch(`${rpcUrl}/`, calls)) as readonly (RpcReceipt | Error | null)[]
  return hashes.filter((hash, index) => {
    const receipt = receipts[index]
    if (receipt === null) return true
    if (receipt === undefined || receipt instanceof Error) throw new Error(`${hash} on ${name}: ${receipt}`)
    if (receipt.status !== '0x1') throw new Error(`${hash} failed on ${name}`)
    return false
  })
}

/** A signed transfer of 1 acoin. */
export function signTransfer(account: PrivateKeyAccount, nonce: number): Promise<Hex> {
  return account.signTransaction({
    type: 'eip1559',
    chainId: EVM_CHAIN_ID,
    nonce,
    to: RECEIVER,
    value: 1n,
    gas: 21_000n,
    maxFeePerGas: 10n ** 11n,
    maxPriorityFeePerGas: 10n ** 9n,
  })
}

/** Nobody listens (yet), or the connection broke: `fetch` says so only in the message. */
function isRefused(error: unknown): boolean {
  return error instanceof TypeError && /^(fetch failed|terminated)$/.test(error.message)
}
