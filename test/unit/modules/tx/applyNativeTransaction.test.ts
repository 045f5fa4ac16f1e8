import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { AUTH_PARAMS, DEFAULT_AUTH_PARAMS } from '../../../../src/modules/auth/params.ts'
import { getPublicKey } from '../../../../src/modules/auth/publicKeys.ts'
import { MsgSend } from '../../../../src/modules/bank/messages.ts'
import { BANK_PARAMS } from '../../../../src/modules/bank/params.ts'
import { coinsOf } from '../../../../src/modules/coin.ts'
import { putFeeGrant } from '../../../../src/modules/feegrant/grants.ts'
import { AllowedMsgAllowance, BasicAllowance, MsgGrantAllowance } from '../../../../src/modules/feegrant/types.ts'
import { FEE_COLLECTOR } from '../../../../src/modules/moduleAccounts.ts'
import { isSdkError, type SdkError } from '../../../../src/modules/sdkError.ts'
import {
  applyNativeTransaction,
  checkGasLimit,
  findNativeInvalidity,
  LANE_FULL,
} from '../../../../src/modules/tx/applyNativeTransaction.ts'
import { laneGas, type NativeTransaction } from '../../../../src/modules/tx/nativeTransaction.ts'
import { publicKeyToAny } from '../../../../src/modules/tx/publicKey.ts'
import { keyOf } from '../../../../src/modules/tx/signTransaction.ts'
import { createTransactionDecoder } from '../../../../src/modules/tx/transactionDecoder.ts'
import { ExtensionOptionDynamicFeeTx, TxMsgData, TxRaw } from '../../../../src/modules/tx/types.ts'
import { toBech32 } from '../../../../src/primitives/address.ts'
import { Journal } from '../../../../src/state/journal.ts'
import { StateReadError } from '../../../../src/state/reader.ts'
import {
  anyOf,
  signTestTransaction,
  TEST_CHAIN,
  type TestTransaction,
  testAccount,
} from '../../../native/signTransaction.ts'
import { runs } from '../../../propertyRuns.ts'
import { MemoryStateReader } from '../../../support/state/memoryReader.ts'

const alice = testAccount(1)
const bob = testAccount(2)
const carol = testAccount(3)
const decoder = createTransactionDecoder(TEST_CHAIN)
const block = { height: 5, timeMs: 1_700_000_000_000 }
const baseFeePerGas = 10n ** 9n
const COIN = 10n ** 18n
const GAS = 100_000n
const FEE = GAS * baseFeePerGas

let world: Journal

beforeEach(() => {
  world = new Journal(new MemoryStateReader())
  AUTH_PARAMS.set(world.native, DEFAULT_AUTH_PARAMS)
  BANK_PARAMS.set(world.native, { sendEnabled: [], defaultSendEnabled: true })
  world.setBalance(alice.address, COIN)
})

const send = (amount: bigint, from = alice, to = bob) =>
  anyOf(MsgSend, { fromAddress: from.bech32, toAddress: to.bech32, amount: coinsOf(amount) })

function sign(options: Partial<TestTransaction> = {}): NativeTransaction {
  const raw = signTestTransaction({ messages: [send(7n)], signers: [alice], gasLimit: GAS, ...options })
  const transaction = decoder.decodeNative(raw)
  if (isSdkError(transaction)) throw new Error(transaction.message)
  return transaction
}

const apply = (transaction: NativeTransaction, options: { gasAvailable?: bigint; baseFeePerGas?: bigint } = {}) =>
  applyNativeTransaction({ transaction, world, block, baseFeePerGas, ...options })

/** Events as `type{key=value,…}`. */
const textsOf = (events: Journal['events'] extends () => infer E ? E : never) =>
  events.map(({ type, attributes }) => `${type}{${attributes.map(({ key, value }) => `${key}=${value}`).join(',')}}`)

/** All balances, nonces and the entries of the native store. */
function snapshot() {
  const accounts = [alice.address, bob.address, carol.address, FEE_COLLECTOR]
  return {
    accounts: accounts.map((address) => [world.getBalance(address), world.getNonce(address), world.exists(address)]),
    native: [...world.native.range(new Uint8Array(0))].map(([key, value]) => [
      Buffer.from(key).toString('latin1'),
      value,
    ]),
  }
}

describe('a fee allowance', () => {
  const allow = (messages: number): void => {
    const allowance = anyOf(AllowedMsgAllowance, {
      allowance: anyOf(BasicAllowance, { spendLimit: coinsOf(COIN) }),
      allowedMessages: [
        MsgSend.typeUrl,
        ...Array.from({ length: messages }, (_, index) => `/${'a'.repeat(50)}${index}`),
      ],
    })
    putFeeGrant(world.native, { granter: bob.bech32, grantee: alice.bech32, allowance }, undefined)
    world.setBalance(bob.address, COIN)
  }

  it('pays for what it reads and writes beyond its base gas, and is not used without gas for that', () => {
    allow(60)
    const transaction = sign({ feeGranter: bob.bech32 })
    const before = world.native.work.done
    const outcome = apply(transaction)
    if (outcome.kind !== 'native') throw new Error(outcome.error.message)
    const { gasUsed } = outcome.result
    expect(gasUsed).toBeGreaterThan(transaction.intrinsicGas + 10_000n)
    expect(Number(gasUsed)).toBeGreaterThan((world.native.work.done - before) / 2)
    const gasLimit = transaction.intrinsicGas + 1_000n
    const short = sign({ feeGranter: bob.bech32, gasLimit, signers: [{ ...alice, sequence: 1 }] })
    expect(apply(short)).toMatchObject({ kind: 'skipped', error: { codespace: 'sdk', code: 11 } })
    expect(world.getNonce(alice.address)).toBe(1n)
  })
})

describe('a transaction that succeeds', () => {
  it('moves coins, takes the fee, counts the sequence up and keeps the public key', () => {
    const transaction = sign({ messages: [send(7n), send(8n)] })
    const outcome = apply(transaction)
    expect(outcome).toMatchObject({
      kind: 'native',
      result: { code: 0, codespace: '', log: '', gasWanted: GAS, gasUsed: transaction.intrinsicGas },
    })
    expect(world.getBalance(bob.address)).toBe(15n)
    expect(world.getBalance(FEE_COLLECTOR)).toBe(FEE)
    expect(world.getBalance(alice.address)).toBe(COIN - FEE - 15n)
    expect(world.getNonce(alice.address)).toBe(1n)
    expect(getPublicKey(world.native, alice.address)).toEqual(publicKeyToAny(keyOf(alice)))
    expect(getPublicKey(world.native, bob.address)).toBeUndefined()
  })

  it('answers each message', () => {
    const outcome = apply(sign({ messages: [send(7n), send(8n)] }))
    if (outcome.kind !== 'native') throw new Error(outcome.error.message)
    const response = { typeUrl: '/cosmos.bank.v1beta1.MsgSendResponse', value: new Uint8Array(0) }
    expect(TxMsgData.decode(outcome.result.data)).toEqual({ data: [], msgResponses: [response, response] })
  })

  it('emits the events of the SDK, those of messages with their index', () => {
    const transaction = sign({ messages: [send(7n), send(8n)] })
    const outcome = apply(transaction)
    if (outcome.kind !== 'native') throw new Error(outcome.error.message)
    const [a, b, collector] = [alice.bech32, bob.bech32, toBech32(FEE_COLLECTOR)]
    const signature = Buffer.from(TxRaw.decode(transaction.raw).signatures[0]!).toString('base64')
    const ofMessage = (index: number, amount: string) => [
      `message{action=/cosmos.bank.v1beta1.MsgSend,sender=${a},module=bank,msg_index=${index}}`,
      `coin_spent{spender=${a},amount=${amount},msg_index=${index}}`,
      `coin_received{receiver=${b},amount=${amount},msg_index=${index}}`,
      `transfer{recipient=${b},sender=${a},amount=${amount},msg_index=${index}}`,
      `message{sender=${a},msg_index=${index}}`,
    ]
    expect(textsOf(outcome.result.events)).toEqual([
      `coin_spent{spender=${a},amount=${FEE}acoin}`,
      `coin_received{receiver=${collector},amount=${FEE}acoin}`,
      `transfer{recipient=${collector},sender=${a},amount=${FEE}acoin}`,
      `message{sender=${a}}`,
      `tx{fee=${FEE}acoin,fee_payer=${a}}`,
      `tx{acc_seq=${a}/0}`,
      `tx{signature=${signature}}`,
      ...ofMessage(0, '7acoin'),
      ...ofMessage(1, '8acoin'),
    ])
  })

  it('takes all of the fee that it offers, or what the base fee and its priority price come to', () => {
    const extensionOptions = [anyOf(ExtensionOptionDynamicFeeTx, { maxPriorityPrice: 5n * 10n ** 18n })]
    apply(sign({ feeAcoin: FEE * 3n }))
    expect(world.getBalance(FEE_COLLECTOR)).toBe(FEE * 3n)
    apply(sign({ feeAcoin: FEE * 3n, extensionOptions, signers: [{ ...alice, sequence: 1 }] }))
    expect(world.getBalance(FEE_COLLECTOR)).toBe(FEE * 3n + FEE + GAS * 5n)
    apply(sign({ feeAcoin: FEE + 1n, extensionOptions, signers: [{ ...alice, sequence: 2 }] }))
    expect(world.getBalance(FEE_COLLECTOR)).toBe(FEE * 5n + GAS * 5n + 1n)
  })

  it('is paid by the fee payer, whose sequence counts too', () => {
    world.setBalance(carol.address, FEE)
    world.setNonce(carol.address, 4n)
    apply(sign({ signers: [alice, { ...carol, sequence: 4 }], feePayer: carol.bech32 }))
    expect([world.getBalance(alice.address), world.getBalance(carol.address)]).toEqual([COIN - 7n, 0n])
    expect([world.getNonce(alice.address), world.getNonce(carol.address)]).toEqual([1n, 5n])
  })

  it('is paid by a granter as far as the allowance goes', () => {
    world.setBalance(carol.address, COIN)
    const allowance = anyOf(BasicAllowance, { spendLimit: coinsOf(FEE + 1n) })
    const grant = anyOf(MsgGrantAllowance, { granter: carol.bech32, grantee: alice.bech32, allowance })
    expect(apply(sign({ messages: [grant], signers: [carol] }))).toMatchObject({ result: { code: 0 } })
    expect(apply(sign({ feeGranter: carol.bech32 }))).toMatchObject({ result: { code: 0 } })
    expect([world.getBalance(alice.address), world.getBalance(carol.address)]).toEqual([COIN - 7n, COIN - 2n * FEE])
    const before = snapshot()
    const again = apply(sign({ feeGranter: carol.bech32, signers: [{ ...alice, sequence: 1 }] }))
    expect(again).toMatchObject({ kind: 'skipped', error: { codespace: 'feegrant' } })
    expect(snapshot()).toEqual(before)
  })
})

describe('a transaction that fails', () => {
  it('has paid and used its sequence, and left nothing else', () => {
    const outcome = apply(sign({ messages: [send(7n), send(2n * COIN), send(8n)] }))
    const balance = COIN - FEE - 7n
    expect(outcome).toMatchObject({
      kind: 'native',
      result: {
        code: 5,
        codespace: 'sdk',
        log:
          `failed to execute message; message index: 1: spendable balance ${balance}acoin is smaller than ` +
          `${2n * COIN}acoin: insufficient funds`,
        data: new Uint8Array(0),
      },
    })
    expect(snapshot().accounts).toEqual([
      [COIN - FEE, 1n, true],
      [0n, 0n, false],
      [0n, 0n, false],
      [FEE, 0n, true],
    ])
    expect(getPublicKey(world.native, alice.address)).toBeDefined()
    if (outcome.kind !== 'native') throw new Error('skipped')
    expect(textsOf(outcome.result.events)).toHaveLength(7)
  })

  it('used the gas up to and with the message that failed', () => {
    const transaction = sign({ messages: [send(7n), send(2n * COIN), send(8n)] })
    expect(apply(transaction)).toMatchObject({ result: { gasUsed: transaction.intrinsicGas - 12_000n } })
  })

  it('runs out of gas where the limit is too low for a message, and pays for all of it', () => {
    const { intrinsicGas } = sign({ messages: [send(7n), send(8n)], gasLimit: 30_000n })
    const gasLimit = intrinsicGas - 1n
    const outcome = apply(sign({ messages: [send(7n), send(8n)], gasLimit }))
    expect(outcome).toMatchObject({
      result: {
        code: 11,
        codespace: 'sdk',
        gasUsed: gasLimit,
        log: expect.stringMatching(
          /^out of gas in location: cosmos\.bank\.v1beta1\.MsgSend; gasWanted: \d+, gasUsed: \d+: out of gas$/,
        ),
      },
    })
    expect(world.getBalance(bob.address)).toBe(0n)
    expect(world.getBalance(FEE_COLLECTOR)).toBe(gasLimit * baseFeePerGas)
    expect(world.getNonce(alice.address)).toBe(1n)
  })

  it('runs with exactly the gas that it uses', () => {
    const gasLimit = sign({ gasLimit: 20_000n }).intrinsicGas
    expect(apply(sign({ gasLimit }))).toMatchObject({ result: { code: 0, gasUsed: gasLimit } })
  })
})

describe('a transaction that comes upon an error that nobody has foreseen', () => {
  /** One whose message moves coins and then throws. */
  function breaking(error: unknown): NativeTransaction {
    const transaction = sign()
    const [message] = transaction.messages
    const run = () => {
      world.setBalance(bob.address, 5n)
      throw error
    }
    return { ...transaction, messages: [{ ...message!, handler: { ...message!.handler, run } }] }
  }

  it.each([
    new TypeError('x is not a function'),
    new StateReadError(new Error('a bad disk')),
    new RangeError('Maximum call stack size exceeded'),
  ])('has no outcome: $message', (error) => {
    expect(() => apply(breaking(error))).toThrow(error)
  })
})

describe('a transaction that cannot start', () => {
  const CASES: [string, Partial<TestTransaction>, number, string, (() => void)?][] = [
    [
      'a later sequence',
      { signers: [{ ...alice, sequence: 1 }] },
      32,
      'account sequence mismatch, expected 0, got 1: incorrect account sequence',
    ],
    [
      'a used sequence',
      {},
      32,
      'account sequence mismatch, expected 3, got 0: incorrect account sequence',
      () => world.setNonce(alice.address, 3n),
    ],
    [
      'the sequence of its second signer',
      { messages: [send(7n), send(1n, carol)], signers: [alice, { ...carol, sequence: 2 }] },
      32,
      'account sequence mismatch, expected 0, got 2: incorrect account sequence',
    ],
    [
      'a fee below the base fee',
      { feeAcoin: FEE - 1n },
      13,
      `insufficient fees; got: ${FEE - 1n}acoin required: ${FEE}acoin: insufficient fee`,
    ],
    ['no fee', { feeAcoin: 0n }, 13, `insufficient fees; got: 0acoin required: ${FEE}acoin: insufficient fee`],
    [
      'a payer without funds',
      { feeAcoin: COIN + 1n },
      5,
      `spendable balance ${COIN}acoin is smaller than ${COIN + 1n}acoin: insufficient funds`,
    ],
    [
      'no fee allowance',
      { feeGranter: carol.bech32 },
      38,
      `${carol.bech32} does not allow to pay fees for ${alice.bech32}: fee-grant not found: not found`,
      () => world.setBalance(carol.address, COIN),
    ],
    ['a timeout in the past', { timeoutHeight: 4n }, 30, 'block height: 5, timeout height: 4: tx timeout height'],
    [
      'a long memo',
      { memo: 'ü'.repeat(129) },
      12,
      'maximum number of characters is 256 but received 258 characters: memo too large',
    ],
    ['a gas limit of 0', { gasLimit: 0n }, 11, 'out of gas'],
    ['a gas limit below its own bytes', { gasLimit: 3000n }, 11, 'out of gas'],
    [
      'too many signatures',
      {
        messages: Array.from({ length: 8 }, (_, index) => send(1n, testAccount(10 + index))),
        signers: Array.from({ length: 8 }, (_, index) => testAccount(10 + index)),
        feePayer: testAccount(10).bech32,
      },
      14,
      'signatures: 8, limit: 7: maximum number of signatures exceeded',
      () => world.setBalance(testAccount(10).address, COIN),
    ],
    [
      'a contract as its signer',
      {},
      4,
      'is a contract and cannot sign',
      () => world.setCode(alice.address, Uint8Array.of(0)),
    ],
  ]

  it.each(CASES)('for %s changes nothing', (_, options, code, message, prepare) => {
    prepare?.()
    const transaction = sign(options)
    const before = snapshot()
    const outcome = apply(transaction)
    expect(outcome).toMatchObject({ kind: 'skipped', error: { codespace: 'sdk', code } })
    expect((outcome as { error: SdkError }).error.message).toContain(message)
    expect(snapshot()).toEqual(before)
    // The world is ready for the next one.
    expect(world.events()).toEqual([])
  })

  it('starts at its timeout height and with a delegated account', () => {
    world.setCode(alice.address, Uint8Array.of(0xef, 0x01, 0x00, ...bob.address))
    expect(apply(sign({ timeoutHeight: 5n }))).toMatchObject({ result: { code: 0 } })
  })

  it('waits for another block where the lane has too little gas left', () => {
    const transaction = sign()
    const gas = transaction.intrinsicGas
    const outcome = apply(transaction, { gasAvailable: gas - 1n })
    expect(outcome).toEqual({ kind: 'skipped', error: LANE_FULL })
    expect(apply(transaction, { gasAvailable: gas })).toMatchObject({ kind: 'native' })
  })

  it('takes of the lane what the parameters of the state make it use, and no more than its limit', () => {
    const dear = { ...DEFAULT_AUTH_PARAMS, txSizeCostPerByte: 20n }
    AUTH_PARAMS.set(world.native, dear)
    const transaction = sign({ gasLimit: 60_000n })
    const gas = transaction.intrinsicGas + 10n * BigInt(transaction.raw.length)
    expect(laneGas(transaction, dear)).toBe(gas)
    expect(apply(transaction, { gasAvailable: gas - 1n })).toEqual({ kind: 'skipped', error: LANE_FULL })
    const limit = gas - 1n
    expect(laneGas({ ...transaction, gasLimit: limit }, dear)).toBe(limit)
    expect(apply(transaction, { gasAvailable: gas })).toMatchObject({ kind: 'native' })
  })
})

describe('for the pool', () => {
  const check = (transaction: NativeTransaction, sequences: 'next' | 'notUsed' | 'any') =>
    findNativeInvalidity({ transaction, world, block, baseFeePerGas, sequences })

  it('sequences may be later, or whatever', () => {
    world.setNonce(alice.address, 3n)
    const at = (sequence: number) => sign({ signers: [{ ...alice, sequence }] })
    expect([2, 3, 4].map((sequence) => check(at(sequence), 'next')?.code)).toEqual([32, undefined, 32])
    expect([2, 3, 4].map((sequence) => check(at(sequence), 'notUsed')?.code)).toEqual([32, undefined, undefined])
    expect([2, 3, 4].map((sequence) => check(at(sequence), 'any')?.code)).toEqual([undefined, undefined, undefined])
  })

  it('the gas limit must cover all gas, by the parameters of the state', () => {
    const transaction = sign({ gasLimit: sign({ gasLimit: 20_000n }).intrinsicGas })
    const gas = () => checkGasLimit({ transaction, world, block, baseFeePerGas })
    expect(gas()).toBeUndefined()
    AUTH_PARAMS.set(world.native, { ...DEFAULT_AUTH_PARAMS, txSizeCostPerByte: 11n })
    expect(gas()).toMatchObject({ code: 11 })
  })
})

describe('coins', () => {
  it('are neither made nor lost, whatever fails', () => {
    const accounts = [alice, bob, carol]
    const step = fc.record({
      from: fc.nat({ max: 2 }),
      payments: fc.array(fc.record({ to: fc.nat({ max: 2 }), amount: fc.bigInt(1n, COIN) }), {
        minLength: 1,
        maxLength: 3,
      }),
      gasLimit: fc.bigInt(2000n, 60_000n),
      offset: fc.constantFrom(0, 0, 0, 1),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 6 }), (steps) => {
        const fresh = new Journal(new MemoryStateReader())
        AUTH_PARAMS.set(fresh.native, DEFAULT_AUTH_PARAMS)
        BANK_PARAMS.set(fresh.native, { sendEnabled: [], defaultSendEnabled: true })
        for (const { address } of accounts) fresh.setBalance(address, COIN)
        const total = () =>
          [...accounts.map(({ address }) => address), FEE_COLLECTOR].reduce(
            (sum, address) => sum + fresh.getBalance(address),
            0n,
          )
        for (const { from, payments, gasLimit, offset } of steps) {
          const signer = accounts[from]!
          const sequence = fresh.getNonce(signer.address)
          const messages = payments.map(({ to, amount }) => send(amount, signer, accounts[to]!))
          const transaction = sign({
            messages,
            gasLimit,
            signers: [{ ...signer, sequence: sequence + BigInt(offset) }],
          })
          const outcome = applyNativeTransaction({ transaction, world: fresh, block, baseFeePerGas })
          expect(fresh.getNonce(signer.address)).toBe(outcome.kind === 'native' ? sequence + 1n : sequence)
          expect(total()).toBe(3n * COIN)
        }
      }),
      { numRuns: runs(25) },
    )
  })
})
