import { describe, expect, it } from 'vitest'
import { type NodeClient, NodeRequestError } from '../../../../src/cli/nodeClient.ts'
import { BROADCAST_MODES, broadcast, send } from '../../../../src/cli/tx/sendTransaction.ts'
import { waitForBlock } from '../../../../src/cli/tx/waitForBlock.ts'
import { bytesToHex } from '../../../../src/primitives/bytes.ts'
import { keccak256, sha256 } from '../../../../src/primitives/hash.ts'

const HASH = 'AB'.repeat(32)
const SILENCE = new NodeRequestError('no answer', undefined)

function node(...answers: readonly unknown[]): NodeClient {
  const left = [...answers]
  const next = async (): Promise<never> => {
    const answer = left.shift()
    if (answer instanceof Error) throw answer
    return answer as never
  }
  return { url: 'http://node', get: next, post: next, comet: next }
}

/** A clock that is past the wait after `rounds` looks. */
function clock(rounds: number): () => number {
  let looks = 0
  return () => (looks++ > rounds ? 1e9 : 0)
}

describe('a node that falls silent', () => {
  it.each([
    ['native', Uint8Array.of(0x0a, 1), sha256],
    ['EVM', Uint8Array.of(0x02, 1), keccak256],
  ])('while it gets a transaction (%s) may have it: the message has its hash', async (_, raw, hashOf) => {
    const hash = bytesToHex(hashOf(raw)).slice(2).toUpperCase()
    await expect(broadcast(raw, node(SILENCE))).rejects.toMatchObject({
      name: 'NodeUnreachable',
      message: expect.stringMatching(
        `^no answer\\. ${hash} may have arrived.*coind query tx ${hash} before you send again$`,
      ),
    })
  })

  it.each(BROADCAST_MODES)('may have the transaction in each mode (%s)', async (mode) => {
    await expect(send(Uint8Array.of(0x0a, 1), mode, node(SILENCE))).rejects.toThrow(/ may have arrived/)
  })

  it('while the transaction is awaited may come back', async () => {
    const response = { code: 0, txhash: HASH }
    expect(await waitForBlock(HASH, node(SILENCE, { tx_response: response }), clock(2))).toEqual(response)
  })

  it('for longer is what the wait ends with', async () => {
    await expect(waitForBlock(HASH, node(SILENCE), clock(1))).rejects.toMatchObject({
      name: 'NodeUnreachable',
      message: expect.stringContaining(`coind query tx ${HASH}`),
    })
  })
})

describe('a transaction', () => {
  it('that the node refuses is not in doubt, one on which it fails is', async () => {
    const raw = Uint8Array.of(0x0a, 1)
    const refused = new NodeRequestError('too large', 400)
    await expect(broadcast(raw, node(refused))).rejects.toBe(refused)
    const failed = new NodeRequestError('internal error', 500)
    await expect(broadcast(raw, node(failed))).rejects.toThrow(/^internal error\. [0-9A-F]{64} may have arrived/)
  })

  it('that is in no block is to be looked for later', async () => {
    const notFound = new NodeRequestError('tx not found', 404)
    await expect(waitForBlock(HASH, node(notFound), clock(1))).rejects.toMatchObject({
      name: 'TransactionFailed',
      message: `${HASH} is not in a block after a minute: check later with coind query tx ${HASH}`,
    })
  })

  it('that failed says why', async () => {
    const failed = { code: 5, codespace: 'sdk', raw_log: 'insufficient funds', height: '7' }
    await expect(waitForBlock(HASH, node({ tx_response: failed }), clock(1))).rejects.toThrow(
      `${HASH} failed in block 7: insufficient funds (sdk/5)`,
    )
  })
})
