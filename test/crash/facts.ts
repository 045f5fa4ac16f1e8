import { createHash } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { JsonRpcError, type RpcCall, rpc, rpcBatch } from '../e2e/rpc.ts'

/** Requests in one batch. */
const BATCH = 100

/** Milliseconds that a transaction may take from the pool to the block in which it is shown. */
const SHOWN_WITHIN_MS = 20_000

/** One answer that a client got, with its request. */
interface Fact extends RpcCall {
  readonly answer: string
  /** state that a pruned node may have dropped since */
  readonly height: number | undefined
}

/** All answers that clients of a chain got and that must stay true. */
export class Facts {
  readonly #facts: Fact[] = []
  readonly #blocks = new Map<number, string>()
  readonly #receipts = new Set<string>()
  /** results of native transactions by hash */
  readonly #natives = new Map<string, string>()
  /** encodings of transactions that the node accepted and was not seen to include, by hash */
  readonly #accepted = new Map<string, Uint8Array>()
  #checkedNatives = 0
  #highest = 0
  #checked = 0

  get blocks(): number {
    return this.#blocks.size
  }

  get natives(): number {
    return this.#natives.size
  }

  get receipts(): number {
    return this.#receipts.size
  }

  /** highest height that a client was shown */
  get highest(): number {
    return this.#highest
  }

  addHeight(height: number): void {
    this.#highest = Math.max(this.#highest, height)
  }

  /** @throws Error when another block was shown at that height */
  addBlock(height: number, hash: string): void {
    this.addHeight(height)
    const known = this.#blocks.get(height)
    if (known === hash) return
    if (known !== undefined) throw new Error(`block ${height} was shown with the hashes ${known} and ${hash}`)
    this.#blocks.set(height, hash)
  }

  addReceipt(receipt: Receipt): void {
    const { transactionHash, blockNumber, blockHash } = receipt
    this.#accepted.delete(transactionHash)
    this.addBlock(Number(blockNumber), blockHash)
    if (this.#receipts.has(transactionHash)) return
    this.#receipts.add(transactionHash)
    this.#facts.push({
      method: 'eth_getTransactionReceipt',
      params: [transactionHash],
      answer: JSON.stringify(receipt),
      height: undefined,
    })
  }

  /** @param result as {@link findNative} gives it */
  addNative(hash: string, result: string): void {
    this.#natives.set(hash, result)
    this.#accepted.delete(hash)
  }

  /** The node said that it takes a transaction. @param hash of a native one in digits without 0x */
  addAccepted(hash: string, raw: Uint8Array): void {
    this.#accepted.set(hash, raw)
  }

  /** Hashes of the accepted transactions that were not seen in a block and are in the pool's journal. Those of before are forgotten. */
  takeJournaled(journal: Buffer): readonly string[] {
    const hashes = [...this.#accepted].filter(([, raw]) => journal.includes(raw)).map(([hash]) => hash)
    this.#accepted.clear()
    return hashes
  }

  addBalance(address: string, height: number, balance: string): void {
    this.addHeight(height)
    const params = [address, `0x${height.toString(16)}`]
    this.#facts.push({ method: 'eth_getBalance', params, answer: JSON.stringify(balance), height })
  }

  /**
   * Asks the node again what clients were told, by default since the last check.
   * @returns what is different now
   */
  async check(url: string, all = false): Promise<string[]> {
    const problems: string[] = []
    const [head] = await rpcBatch(url, [{ method: 'eth_blockNumber', params: [] }])
    if (!(Number(head) >= this.#highest)) problems.push(`the head is ${String(head)}, ${this.#highest} was shown`)
    const facts = this.#facts.slice(all ? 0 : this.#checked)
    for (const [height, hash] of [...this.#blocks].slice(all ? 0 : -2 * BATCH)) {
      const params = [`0x${height.toString(16)}`]
      facts.push({ method: 'eth_getHeaderByNumber', params, answer: hash, height: undefined })
    }
    this.#checked = this.#facts.length
    for (const [hash, result] of [...this.#natives].slice(all ? 0 : this.#checkedNatives)) {
      const now = await findNative(url, hash)
      if (now !== result) problems.push(`native transaction ${hash}: was ${result}, is ${now}`)
    }
    this.#checkedNatives = this.#natives.size
    for (let from = 0; from < facts.length; from += BATCH) {
      const part = facts.slice(from, from + BATCH)
      const answers = await rpcBatch(url, part)
      for (const [index, fact] of part.entries()) {
        const problem = difference(fact, answers[index])
        if (problem !== undefined) problems.push(problem)
      }
    }
    return problems
  }
}

/** What the node says of a native transaction, whose hash is in hexadecimal digits; undefined while it is in no block. */
export async function findNative(url: string, hash: string): Promise<string | undefined> {
  try {
    return JSON.stringify(await rpc(`${url}rpc`, 'tx', Buffer.from(hash, 'hex').toString('base64'), false))
  } catch (error) {
    if (error instanceof JsonRpcError && /not found/.test(String(error.data))) return undefined
    throw error
  }
}

/**
 * Which of the accepted transactions are neither in a block nor in the pool. One that is just on its way from the pool to a block is asked for
 * again.
 */
export async function lostTransactions(url: string, hashes: readonly string[]): Promise<readonly string[]> {
  const deadline = Date.now() + SHOWN_WITHIN_MS
  for (let lost = hashes; ; await setTimeout(100)) {
    const { txs } = (await rpc(`${url}rpc`, 'unconfirmed_txs', '100')) as { readonly txs: readonly string[] }
    const pooled = new Set(
      txs.map((tx) => createHash('sha256').update(Buffer.from(tx, 'base64')).digest('hex').toUpperCase()),
    )
    const found = await Promise.all(
      lost.map(async (hash) => {
        if (hash.startsWith('0x')) return (await rpc(url, 'eth_getTransactionByHash', hash)) !== null
        return pooled.has(hash) || (await findNative(url, hash)) !== undefined
      }),
    )
    lost = lost.filter((_, index) => found[index] === false)
    if (lost.length === 0 || Date.now() > deadline) return lost
  }
}

export interface Receipt {
  readonly transactionHash: string
  readonly blockNumber: string
  readonly blockHash: string
  readonly status: string
  readonly contractAddress: string | null
}

function difference({ method, params, answer, height }: Fact, now: unknown): string | undefined {
  const isPruned = height !== undefined && now instanceof JsonRpcError && now.code === -32000
  if (isPruned && now.message.includes('historical state')) return undefined
  const text = now instanceof Error ? now.message : asAnswer(method, now)
  return text === answer ? undefined : `${method} ${JSON.stringify(params)}: was ${answer}, is ${text}`
}

function asAnswer(method: string, result: unknown): string {
  if (method !== 'eth_getHeaderByNumber') return JSON.stringify(result)
  return String((result as { readonly hash: string } | null)?.hash)
}
