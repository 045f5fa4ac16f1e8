import { setTimeout } from 'node:timers/promises'
import { encodeDeployData, encodeFunctionData, erc20Abi, type Hex, type TransactionSerializableEIP1559 } from 'viem'
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import WebSocket from 'ws'
import { compileContract } from '../../contracts/compile.ts'
import { NATIVE_TOKEN_ADDRESS } from '../../src/chain/genesis/genesisConstants.ts'
import { DEVNET_ACCOUNTS } from '../../src/cli/devnetAccounts.ts'
import { MsgSend } from '../../src/modules/bank/messages.ts'
import { toBech32 } from '../../src/primitives/address.ts'
import { hexToBytes } from '../../src/primitives/bytes.ts'
import { JsonRpcError, NodeStopping, rpc, rpcBatch } from '../e2e/rpc.ts'
import type { TestNode } from '../e2e/startNode.ts'
import { anyOf, signTestTransaction } from '../native/signTransaction.ts'
import { type Facts, findNative, type Receipt } from './facts.ts'

const CHAIN_ID = 76287
const SENDERS = 4
const MAX_BURST = 12
const POLL_MS = 40

export type Random = (below: number) => number

export interface Load {
  readonly sent: () => number
  /** resolves when its clients have ended; rejects when one got an answer that it should never get */
  readonly ended: Promise<unknown>
  /** Ends it, also when the node is gone; throws an answer that a client should never get. */
  stop(): Promise<void>
}

/** Clients that send transactions, follow the head by polling and by subscription, and note what they are told. */
export function startLoad(node: Pick<TestNode, 'url' | 'wsUrl'>, facts: Facts, random: Random): Load {
  const stopping = new AbortController()
  let sent = 0
  const whileThere = async (client: (signal: AbortSignal) => Promise<void>): Promise<void> => {
    try {
      while (!stopping.signal.aborted) await client(stopping.signal)
    } catch (error) {
      if (!isConnectionLost(error)) throw error
    }
  }
  const clients = DEVNET_ACCOUNTS.slice(1, 1 + SENDERS).map(({ privateKey }) => {
    const account = privateKeyToAccount(privateKey as Hex)
    const tokens: Hex[] = []
    return whileThere(async () => {
      sent += await sendBurst(node.url, { account, key: hexToBytes(privateKey) }, tokens, facts, random)
    })
  })
  clients.push(whileThere((signal) => followHead(node.url, facts, signal)))
  const socket = subscribe(node.wsUrl, facts)
  const ended = Promise.all([...clients, socket.ended])
  // `stop` is where a failure is reported.
  ended.catch(() => undefined)
  return {
    sent: () => sent,
    ended,
    stop: async () => {
      stopping.abort()
      socket.close()
      await ended
    },
  }
}

/** Refused or broken connections, which clients see when a node ends; they learn nothing from them. */
function isConnectionLost(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if (error instanceof NodeStopping) return true
  // `fetch` says so in words alone, and rejects with the same class as a mistake in this code.
  return (
    error.name === 'AbortError' || (error instanceof TypeError && /^(fetch failed|terminated)$/.test(error.message))
  )
}

/** Sends some transactions of one account, of both kinds, and waits for their receipts and results. */
async function sendBurst(
  url: string,
  { account, key }: { readonly account: PrivateKeyAccount; readonly key: Uint8Array },
  tokens: Hex[],
  facts: Facts,
  random: Random,
): Promise<number> {
  let nonce = Number(await rpc(url, 'eth_getTransactionCount', account.address, 'latest'))
  const calls = []
  const natives: string[] = []
  for (let left = random(MAX_BURST); left >= 0; left--) {
    if (random(4) === 0) {
      natives.push(Buffer.from(signSend(account.address, key, nonce++, random)).toString('base64'))
      continue
    }
    const raw = await account.signTransaction({ ...randomTransaction(tokens, random), nonce: nonce++ })
    calls.push({ method: 'eth_sendRawTransaction', params: [raw] })
  }
  const waiting = new Set<string>()
  const hashes = new Set<string>()
  for (const tx of natives) {
    const hash = await broadcast(url, tx)
    if (hash === undefined) continue
    facts.addAccepted(hash, Buffer.from(tx, 'base64'))
    hashes.add(hash)
  }
  for (const [index, answer] of (await rpcBatch(url, calls)).entries()) {
    if (answer instanceof JsonRpcError) {
      if (!HAS_EARLIER.test(answer.message)) throw answer
      continue
    }
    facts.addAccepted(answer as string, hexToBytes(calls[index]!.params[0]!))
    waiting.add(answer as string)
  }
  while (waiting.size > 0) {
    await setTimeout(POLL_MS)
    const asked = [...waiting]
    const receipts = await rpcBatch(
      url,
      asked.map((hash) => ({ method: 'eth_getTransactionReceipt', params: [hash] })),
    )
    for (const [index, receipt] of (receipts as readonly (Receipt | null)[]).entries()) {
      if (receipt === null) continue
      if (receipt instanceof Error) throw receipt
      facts.addReceipt(receipt)
      if (receipt.contractAddress !== null && receipt.status === '0x1') tokens.push(receipt.contractAddress as Hex)
      waiting.delete(asked[index]!)
    }
  }
  while (hashes.size > 0) {
    for (const hash of hashes) {
      const result = await findNative(url, hash)
      if (result === undefined) continue
      facts.addNative(hash, result)
      hashes.delete(hash)
    }
    if (hashes.size > 0) await setTimeout(POLL_MS)
  }
  return calls.length + natives.length
}

/** A MsgSend; some ask for more than there is, and fail. */
export function signSend(sender: Hex, privateKey: Uint8Array, sequence: number, random: Random): Uint8Array {
  const toAddress = toBech32(hexToBytes(`0x${(1 + random(50)).toString(16).padStart(40, '0')}`))
  const amount = [{ denom: 'acoin', amount: random(8) === 0 ? 10n ** 40n : BigInt(1 + random(1_000_000)) }]
  const message = anyOf(MsgSend, { fromAddress: toBech32(hexToBytes(sender)), toAddress, amount })
  const fee = { gasLimit: 100_000n, feeAcoin: 100_000n * 10n ** 11n }
  return signTestTransaction({ messages: [message], signers: [{ privateKey, sequence }], ...fee })
}

/** Why a node refuses a nonce for which it has a transaction from before its start. */
const HAS_EARLIER = /already known|replacement transaction underpriced|nonce too low|sequence/

/** The hash of a native transaction that the node took; undefined when its nonce is in use. */
async function broadcast(url: string, tx: string): Promise<string | undefined> {
  const { code, hash, log } = (await rpc(`${url}rpc`, 'broadcast_tx_sync', tx)) as {
    readonly code: number
    readonly hash: string
    readonly log: string
  }
  if (code !== 0 && HAS_EARLIER.test(log)) return undefined
  if (code !== 0) throw new Error(`a native transaction was refused: ${log}`)
  return hash
}

/** A transfer, a token call (the native token's or that of a deployed one) or a deployment. */
function randomTransaction(tokens: readonly Hex[], random: Random): TransactionSerializableEIP1559 {
  const to = `0x${(1 + random(50)).toString(16).padStart(40, '0')}` as const
  const base = {
    type: 'eip1559',
    chainId: CHAIN_ID,
    maxFeePerGas: 100_000_000_000n,
    maxPriorityFeePerGas: 1_000_000_000n,
  } as const
  const kind = random(20)
  if (kind === 0) {
    const { abi, bytecode } = compileContract('test/SampleToken.sol', 'SampleToken')
    return { ...base, gas: 2_000_000n, data: encodeDeployData({ abi, bytecode, args: ['Crash', 'CRASH', 10n ** 24n] }) }
  }
  if (kind < 10) return { ...base, gas: 21_000n, to, value: BigInt(1 + random(1_000_000)) }
  const token = tokens[random(tokens.length + 1)] ?? (NATIVE_TOKEN_ADDRESS as Hex)
  // Some ask for more than there is, and fail.
  const amount = random(8) === 0 ? 10n ** 40n : BigInt(random(1_000_000))
  return {
    ...base,
    gas: 150_000n,
    to: token,
    data: encodeFunctionData({ abi: erc20Abi, functionName: 'transfer', args: [to, amount] }),
  }
}

async function followHead(url: string, facts: Facts, signal: AbortSignal): Promise<void> {
  const height = Number(await rpc(url, 'eth_blockNumber'))
  facts.addHeight(height)
  const tag = `0x${height.toString(16)}`
  const { address } = privateKeyToAccount(DEVNET_ACCOUNTS[1]!.privateKey as Hex)
  const [block, balance] = await rpcBatch(url, [
    { method: 'eth_getBlockByNumber', params: [tag, false] },
    { method: 'eth_getBalance', params: [address, tag] },
  ])
  for (const answer of [block, balance]) if (answer instanceof JsonRpcError) throw answer
  facts.addBlock(height, (block as { readonly hash: string }).hash)
  facts.addBalance(address, height, balance as string)
  await setTimeout(POLL_MS, undefined, { signal })
}

interface Subscription {
  /** rejects when what it was shown contradicts what another client was shown */
  readonly ended: Promise<void>
  close(): void
}

function subscribe(url: string, facts: Facts): Subscription {
  const socket = new WebSocket(url)
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  socket.on('open', () =>
    socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_subscribe', params: ['newHeads'] })),
  )
  socket.on('message', (data) => {
    const message = JSON.parse(String(data)) as { params?: { result: { number: string; hash: string } } }
    if (message.params === undefined) return
    try {
      facts.addBlock(Number(message.params.result.number), message.params.result.hash)
    } catch (error) {
      reject(error)
    }
  })
  // A killed node's connection ends with an error.
  socket.on('error', () => resolve())
  socket.on('close', () => resolve())
  return { ended: promise, close: () => socket.terminate() }
}
