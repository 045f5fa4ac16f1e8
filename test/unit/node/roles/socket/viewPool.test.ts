import { describe, expect, it, vi } from 'vitest'
import { type Authorization, buildTransaction } from '../../../../../src/chain/block/transaction.ts'
import { authorizationHash } from '../../../../../src/evm/authorization.ts'
import { MsgSend } from '../../../../../src/modules/bank/messages.ts'
import { coinsOf } from '../../../../../src/modules/coin.ts'
import { MESSAGES } from '../../../../../src/modules/messageTable.ts'
import { createTransactionDecoder } from '../../../../../src/modules/tx/transactionDecoder.ts'
import {
  createAuthorityRecovery,
  createSenderExamination,
  createSenderRecovery,
  createSubmissionCheck,
  createViewPool,
  recoverPackedAuthorities,
  recoverPackedSenders,
} from '../../../../../src/node/roles/socket/viewPool.ts'
import { type PackedBytes, unpackBytes } from '../../../../../src/node/wire/packedBytes.ts'
import { signDigest } from '../../../../../src/primitives/secp256k1.ts'
import { CANCELLED } from '../../../../../src/rpc/cosmos/nativeCall.ts'
import { OWN_SCOPE } from '../../../../../src/rpc/jsonrpc/callScope.ts'
import {
  anyOf,
  signTestTransaction,
  TEST_CHAIN,
  type TestTransaction,
  testAccount,
} from '../../../../native/signTransaction.ts'
import { signEvmTransaction as signEvm } from '../../../../signEvmTransaction.ts'

const [alice, bob, carol] = [testAccount(1), testAccount(2), testAccount(3, 'secp256k1')]

const fromBob = anyOf(MsgSend, { fromAddress: bob.bech32, toAddress: bob.bech32, amount: coinsOf(1n) })

function native(from: typeof alice, fields: Partial<TestTransaction> = {}): Uint8Array {
  const send = anyOf(MsgSend, { fromAddress: from.bech32, toAddress: bob.bech32, amount: coinsOf(1n) })
  return signTestTransaction({ messages: [send], signers: [{ ...from, sequence: 3n }], ...fields })
}

function evm(chainId: bigint): Uint8Array {
  const fields = {
    type: 2,
    chainId,
    gasLimit: 21_000n,
    to: bob.address,
    maxFeePerGas: 2n,
    maxPriorityFeePerGas: 1n,
  } as const
  return signEvm(buildTransaction(fields), alice.privateKey).raw
}

function altered(raw: Uint8Array): Uint8Array {
  const out = raw.slice()
  out[out.length - 1]! ^= 1
  return out
}

const recoverer = (calls: number[] = [], errors: unknown[] = []) => ({
  recoverSenders: async (packed: PackedBytes) => {
    calls.push(unpackBytes(packed).length)
    return recoverPackedSenders(packed, createTransactionDecoder(TEST_CHAIN), (error) => errors.push(error))
  },
})

describe('queries in view threads', () => {
  it('wait in the heavy queue on the state after a block that may be in a segment', async () => {
    const queues: string[] = []
    const answer = { kind: 'json', height: 1, json: '{}' } as const
    const remote = {
      call: () => Promise.reject(new Error('no calls')),
      query: async (queue: string) => {
        queues.push(queue)
        return answer
      },
    }
    const pool = createViewPool([remote], () => 100)
    for (const height of [0, 99, 100]) await pool.query('cheap', { ...call, height }, OWN_SCOPE)
    expect(queues).toEqual(['cheap', 'heavy', 'cheap'])
  })

  const call = { path: '/a', request: { json: '{}' }, height: 0 }
  const views = [{ call: () => Promise.reject(new Error('no calls')), query: rejectWhenAborted }]

  /** As a thread that is being started again: the call is only made, and refused, once it is there. */
  async function rejectWhenAborted(_: unknown, __: unknown, ___: unknown, signal: AbortSignal): Promise<never> {
    await new Promise((resolve) => setImmediate(resolve))
    throw signal.reason
  }

  it('are answered, not failed, when the client is gone before or while they wait', async () => {
    const pool = createViewPool(views, () => 0)
    const gone = AbortSignal.abort(new Error('gone'))
    expect(await pool.query('heavy', call, { ...OWN_SCOPE, signal: gone })).toEqual(CANCELLED)
    const leaving = new AbortController()
    const answer = pool.query('heavy', call, { ...OWN_SCOPE, signal: leaving.signal })
    leaving.abort(new Error('gone'))
    expect(await answer).toEqual(CANCELLED)
  })
})

describe('verification of submissions', () => {
  it('leaves long native transactions to the threads of heavy calls', async () => {
    const asked: string[] = []
    const thread = (name: string) => ({
      verifySubmission: async (raw: Uint8Array, client: string) => {
        asked.push(`${name} ${raw.length} ${client}`)
        return { hash: raw, code: 0, codespace: '', log: '', gasWanted: 0n, gasUsed: 0n }
      },
    })
    const verify = createSubmissionCheck([thread('first'), thread('second')])
    const nativeOf = (length: number) => new Uint8Array(length).fill(0x0a)
    await verify(nativeOf(200), '::1')
    await verify(nativeOf(9_000), '::1')
    await verify(nativeOf(9_000), '::2')
    await verify(new Uint8Array(9_000).fill(2), '::1', 'evm')
    expect(asked).toEqual(['first 200 ::1', 'second 9000 ::1', 'second 9000 ::2', 'first 9000 ::1'])
  })
})

describe('sender recovery', () => {
  it('finds who signed transactions of both kinds, and nobody for wrong ones', async () => {
    const fromCarol = native(carol, { signers: [{ ...carol, kind: 'secp256k1', sequence: 3n }] })
    const cases: readonly (readonly [raw: Uint8Array, sender: Uint8Array | undefined])[] = [
      [native(alice), alice.address],
      [evm(TEST_CHAIN.evmChainId), alice.address],
      [altered(native(alice)), undefined],
      [native(alice, { chainId: 'coin_1-1' }), undefined],
      [native(alice, { signers: [{ ...bob, sequence: 3n }] }), undefined],
      [evm(1n), undefined],
      [fromCarol, carol.address],
      [Uint8Array.of(0x0a), undefined],
      [Uint8Array.of(0x02), undefined],
    ]
    const recover = createSenderRecovery([recoverer()])
    expect(await recover(cases.map(([raw]) => raw))).toEqual(cases.map(([, sender]) => sender))
  })

  it('knows nothing of a transaction at which it comes upon a bug, and goes on with the others', async () => {
    const handler = MESSAGES.get(MsgSend.typeUrl)!
    const gas = vi.spyOn(handler, 'gas').mockImplementationOnce(() => {
      throw new TypeError('a bug')
    })
    const errors: unknown[] = []
    const threads = [recoverer([], errors)]
    const raws = [
      native(bob, { messages: [fromBob], signers: [{ ...bob, sequence: 0n }] }),
      native(alice),
      altered(native(alice)),
    ]
    expect(await createSenderExamination(threads)(raws)).toEqual(['unknown', alice.address, undefined])
    expect(errors).toMatchObject([{ name: 'TransactionDefect', cause: { message: 'a bug' } }])
    gas.mockImplementationOnce(() => {
      throw new TypeError('a bug')
    })
    expect(await createSenderRecovery(threads)(raws)).toEqual([undefined, alice.address, undefined])
    gas.mockRestore()
  })

  it('shares many transactions among the threads, in their order', async () => {
    const calls: number[][] = [[], []]
    const recover = createSenderRecovery(calls.map((list) => recoverer(list)))
    const [good, wrong] = [native(alice), altered(native(alice))]
    const raws = Array.from({ length: 150 }, (_, index) => (index % 50 === 7 ? wrong : good))
    const senders = await recover(raws)
    expect(senders).toEqual(raws.map((raw) => (raw === good ? alice.address : undefined)))
    expect(calls).toEqual([[64, 22], [64]])
  })
})

describe('the signers of authorizations', () => {
  const authorize = (privateKey: Uint8Array, fields: Partial<Authorization> = {}): Authorization => {
    const terms = { chainId: TEST_CHAIN.evmChainId, address: bob.address, nonce: 0n, ...fields }
    const { r, s, yParity } = signDigest(authorizationHash(terms), privateKey)
    return { ...terms, r, s, yParity: BigInt(yParity) }
  }

  it('are recovered in a view thread, where they can have an effect', async () => {
    const good = authorize(alice.privateKey)
    const authorizationList = [
      good,
      authorize(bob.privateKey, { chainId: 0n, nonce: 7n }),
      authorize(bob.privateKey, { chainId: 5n }),
      authorize(bob.privateKey, { nonce: 2n ** 64n - 1n }),
      { ...good, yParity: 2n },
    ]
    const unsigned = buildTransaction({
      type: 4,
      chainId: TEST_CHAIN.evmChainId,
      gasLimit: 200_000n,
      to: bob.address,
      maxFeePerGas: 2n,
      maxPriorityFeePerGas: 1n,
      authorizationList,
    })
    const { raw } = signEvm(unsigned, alice.privateKey)
    const recover = createAuthorityRecovery([
      { recoverAuthorities: async (bytes) => recoverPackedAuthorities(bytes, TEST_CHAIN) },
    ])
    const nonce = (value: number) => [0, 0, 0, 0, 0, 0, 0, value]
    expect([...(await recover(raw))]).toEqual([...alice.address, ...nonce(0), ...bob.address, ...nonce(7)])
  })
})
