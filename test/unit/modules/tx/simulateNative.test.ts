import { encodeEthSecp256k1Pubkey } from '@cosmjs/amino'
import { encodePubkey } from '@cosmjs/proto-signing'
import { SignMode } from 'cosmjs-types/cosmos/tx/signing/v1beta1/signing'
import { AuthInfo, Fee, Tx, TxBody } from 'cosmjs-types/cosmos/tx/v1beta1/tx'
import { beforeEach, describe, expect, it } from 'vitest'
import { AUTH_PARAMS, DEFAULT_AUTH_PARAMS } from '../../../../src/modules/auth/params.ts'
import { MsgSend } from '../../../../src/modules/bank/messages.ts'
import { BANK_PARAMS } from '../../../../src/modules/bank/params.ts'
import { coinsOf } from '../../../../src/modules/coin.ts'
import { isSdkError } from '../../../../src/modules/sdkError.ts'
import { applyNativeTransaction } from '../../../../src/modules/tx/applyNativeTransaction.ts'
import { keyOf } from '../../../../src/modules/tx/signTransaction.ts'
import { type SimulationGas, simulateNative } from '../../../../src/modules/tx/simulateNative.ts'
import { createTransactionDecoder } from '../../../../src/modules/tx/transactionDecoder.ts'
import type { AnyValue } from '../../../../src/primitives/protoSchema.ts'
import { Journal } from '../../../../src/state/journal.ts'
import { anyOf, signTestTransaction, TEST_CHAIN, testAccount } from '../../../native/signTransaction.ts'
import { MemoryStateReader } from '../../../support/state/memoryReader.ts'

const alice = testAccount(1)
const bob = testAccount(2)
const decoder = createTransactionDecoder(TEST_CHAIN)
const block = { height: 5, timeMs: 1_700_000_000_000 }
const baseFeePerGas = 10n ** 9n

function freshWorld(): Journal {
  const world = new Journal(new MemoryStateReader())
  AUTH_PARAMS.set(world.native, DEFAULT_AUTH_PARAMS)
  BANK_PARAMS.set(world.native, { sendEnabled: [], defaultSendEnabled: true })
  world.setBalance(alice.address, 10n ** 18n)
  return world
}

let world: Journal
beforeEach(() => {
  world = freshWorld()
})

const send = (amount: bigint) =>
  anyOf(MsgSend, { fromAddress: alice.bech32, toAddress: bob.bech32, amount: coinsOf(amount) })

const simulate = (raw: Uint8Array, gasCap: SimulationGas = { lane: 7_500_000n, call: 50_000_000n }) =>
  simulateNative(raw, { world, block, baseFeePerGas, gasCap, decoder })

/** What CosmJS asks a node to simulate (@cosmjs/stargate modules/tx/queries): no fee, no gas, no mode, an empty signature. */
function cosmJsRequest(messages: readonly AnyValue[], sequence = 0n): Uint8Array {
  const signer = encodeEthSecp256k1Pubkey(keyOf(alice).key)
  const tx = Tx.fromPartial({
    authInfo: AuthInfo.fromPartial({
      fee: Fee.fromPartial({}),
      signerInfos: [
        { publicKey: encodePubkey(signer), sequence, modeInfo: { single: { mode: SignMode.SIGN_MODE_UNSPECIFIED } } },
      ],
    }),
    body: TxBody.fromPartial({ messages: [...messages], memo: 'hello' }),
    signatures: [new Uint8Array()],
  })
  return Tx.encode(tx).finish()
}

describe('simulateNative', () => {
  it.each([1, 2, 5])('gives the gas that the transaction then uses: %s messages', (count) => {
    const messages = Array.from({ length: count }, () => send(7n))
    const simulated = simulate(cosmJsRequest(messages))
    if (isSdkError(simulated)) throw new Error(simulated.message)
    expect(simulated).toMatchObject({ code: 0, codespace: '' })
    const raw = signTestTransaction({ messages, signers: [alice], gasLimit: simulated.gasUsed, memo: 'hello' })
    const transaction = decoder.decodeNative(raw)
    if (isSdkError(transaction)) throw new Error(transaction.message)
    const applied = applyNativeTransaction({ transaction, world: freshWorld(), block, baseFeePerGas })
    expect(applied).toMatchObject({ kind: 'native', result: { code: 0, gasUsed: simulated.gasUsed } })
  })

  it('tells what the messages answer and emit, and asks for no fee', () => {
    world.setBalance(alice.address, 7n)
    const simulated = simulate(cosmJsRequest([send(7n)]))
    if (isSdkError(simulated)) throw new Error(simulated.message)
    expect(simulated.events.filter(({ type }) => type === 'transfer')).toHaveLength(1)
    expect(simulated.data.length).toBeGreaterThan(0)
  })

  it('takes a fee where one is given', () => {
    const raw = (feeAcoin: bigint) =>
      signTestTransaction({ messages: [send(7n)], signers: [alice], gasLimit: 100_000n, feeAcoin })
    expect(simulate(raw(10n ** 14n - 1n))).toMatchObject({ codespace: 'sdk', code: 13 })
    expect(simulate(raw(10n ** 18n + 1n))).toMatchObject({ codespace: 'sdk', code: 5 })
    expect(simulate(raw(10n ** 18n))).toMatchObject({ codespace: 'sdk', code: 5, gasWanted: 100_000n })
  })

  it.each([
    ['a message that fails', [send(10n ** 19n)], 0n, { code: 5, codespace: 'sdk' }],
    ['another sequence', [send(1n)], 1n, { code: 32, codespace: 'sdk' }],
    ['no message', [], 0n, { code: 18, codespace: 'sdk' }],
    ['a message of nothing', [send(0n)], 0n, { code: 10, codespace: 'sdk' }],
  ])('says what is wrong with %s', (_, messages, sequence, error) => {
    expect(simulate(cosmJsRequest(messages, sequence))).toMatchObject(error)
  })

  it('takes a key under the name that CosmJS gives all, with the gas of the right one', () => {
    const tx = Tx.decode(cosmJsRequest([send(1n)]))
    const [signer] = tx.authInfo!.signerInfos
    const publicKey = { ...signer!.publicKey!, typeUrl: '/cosmos.crypto.secp256k1.PubKey' }
    const renamed = { ...tx, authInfo: { ...tx.authInfo!, signerInfos: [{ ...signer!, publicKey }] } }
    const [simulated, expected] = [Tx.encode(renamed).finish(), cosmJsRequest([send(1n)])].map((raw) => {
      world = freshWorld()
      return simulate(raw)
    })
    if (isSdkError(expected)) throw new Error(expected!.message)
    expect(simulated).toMatchObject({ code: 0, gasUsed: expected!.gasUsed })
  })

  it('needs no key, and looks at no signature', () => {
    const tx = Tx.decode(cosmJsRequest([send(1n)]))
    const { publicKey: _, ...keyless } = tx.authInfo!.signerInfos[0]!
    const raw = Tx.encode({
      ...tx,
      authInfo: { ...tx.authInfo!, signerInfos: [keyless] },
      signatures: [new Uint8Array(64).fill(1)],
    }).finish()
    expect(simulate(raw)).toMatchObject({ code: 0 })
  })
})

describe('the gas of a simulation', () => {
  const GAS = { lane: 7_500_000n, call: 50_000_000n }
  const gasOf = (outcome: ReturnType<typeof simulate>): { gasUsed: bigint; gasWanted: bigint } => {
    if (isSdkError(outcome)) throw new Error(outcome.message)
    expect(outcome.code).toBe(0)
    return { gasUsed: outcome.gasUsed, gasWanted: outcome.gasWanted }
  }

  it.each([
    ['what native transactions have in a block', (most: bigint) => ({ ...GAS, lane: most })],
    ['what a call may use', (most: bigint) => ({ ...GAS, call: most })],
  ])('is at most %s: what has to pay more is refused before it runs', (_, gasCap) => {
    const many = cosmJsRequest(Array.from({ length: 20 }, () => send(1n)))
    const { gasUsed } = gasOf(simulate(many, gasCap(GAS.lane)))
    world = freshWorld()
    const before = world.native.work.done
    const refused = simulate(many, gasCap(gasUsed / 2n))
    expect(refused).toMatchObject({ codespace: 'sdk', code: 11 })
    expect(isSdkError(refused) && refused.message).toMatch(
      /^out of gas in location: simulation; gasWanted: \d+, gasUsed: \d+: out of gas$/,
    )
    // Parameters and accounts were looked at, nothing was executed.
    expect(world.native.work.done - before).toBeLessThan(20_000)
    expect(world.getBalance(bob.address)).toBe(0n)
  })
})
