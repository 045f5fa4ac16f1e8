import { beforeEach, describe, expect, it, vi } from 'vitest'
import { AUTH_PARAMS, DEFAULT_AUTH_PARAMS } from '../../../../src/modules/auth/params.ts'
import { BANK_MESSAGES, MsgSend } from '../../../../src/modules/bank/messages.ts'
import { coinsOf } from '../../../../src/modules/coin.ts'
import { createMessageTable } from '../../../../src/modules/message.ts'
import { isSdkError } from '../../../../src/modules/sdkError.ts'
import { checkNativeState } from '../../../../src/modules/tx/applyNativeTransaction.ts'
import { createTransactionDecoder } from '../../../../src/modules/tx/transactionDecoder.ts'
import { bytesToHex } from '../../../../src/primitives/bytes.ts'
import { Journal } from '../../../../src/state/journal.ts'
import {
  anyOf,
  signTestTransaction,
  TEST_CHAIN,
  type TestTransaction,
  testAccount,
} from '../../../native/signTransaction.ts'
import { MemoryStateReader } from '../../../support/state/memoryReader.ts'

const alice = testAccount(1)
const bob = testAccount(2)
const GWEI = 10n ** 9n
const COIN = 10n ** 18n
const send = anyOf(MsgSend, { fromAddress: alice.bech32, toAddress: bob.bech32, amount: coinsOf(7n) })
const decoder = createTransactionDecoder(TEST_CHAIN, createMessageTable(BANK_MESSAGES))

let world: Journal

beforeEach(() => {
  world = new Journal(new MemoryStateReader())
  AUTH_PARAMS.set(world.native, DEFAULT_AUTH_PARAMS)
  world.setBalance(alice.address, COIN)
  world.setNonce(alice.address, 5n)
})

function check(fields: Partial<TestTransaction>, sequence = 5n): string | undefined {
  const raw = signTestTransaction({
    messages: [send],
    signers: [{ ...alice, sequence }],
    gasLimit: 100_000n,
    ...fields,
  })
  const transaction = decoder.decodeNative(raw)
  if (isSdkError(transaction)) throw new Error(transaction.message)
  const block = { height: 9, timeMs: 1_700_000_000_000 }
  const error = checkNativeState(transaction, { world, block, baseFeePerGas: GWEI })
  return error === undefined ? undefined : `${error.codespace}/${error.code} ${error.message}`
}

describe('the state’s check of a native transaction for the pool', () => {
  it.each<[name: string, fields: Partial<TestTransaction>, sequence: bigint, expected: string | undefined]>([
    ['the next sequence', {}, 5n, undefined],
    ['a later sequence', {}, 8n, undefined],
    ['a used sequence', {}, 4n, 'sdk/32 account sequence mismatch, expected 5, got 4: incorrect account sequence'],
    ['the last block that it names', { timeoutHeight: 9n }, 5n, undefined],
    ['a block before', { timeoutHeight: 8n }, 5n, 'sdk/30 block height: 9, timeout height: 8: tx timeout height'],
    [
      'a fee below the base fee',
      { feeAcoin: 100_000n * GWEI - 1n },
      5n,
      'sdk/13 insufficient fees; got: 99999999999999acoin required: 100000000000000acoin: insufficient fee',
    ],
    [
      'less gas than its messages use',
      { gasLimit: 10_000n },
      5n,
      expect.stringMatching(/^sdk\/11 out of gas in location: messages; gasWanted: 10000, gasUsed: \d+: out of gas$/),
    ],
    ['too long a memo', { memo: 'x'.repeat(257), gasLimit: 200_000n }, 5n, expect.stringMatching(/^sdk\/12 /)],
    ['more than its sender has', { feeAcoin: COIN + 1n }, 5n, expect.stringMatching(/^sdk\/5 .*insufficient funds$/)],
    ['an allowance that nobody gave', { feeGranter: bob.bech32 }, 5n, expect.stringMatching(/^sdk\/5 /)],
  ])('%s', (_, fields, sequence, expected) => {
    expect(check(fields, sequence)).toEqual(expected)
  })

  it('leaves no checkpoint open when it comes upon a bug', () => {
    world.setBalance(bob.address, COIN)
    const { get } = world.native
    vi.spyOn(world.native, 'get').mockImplementation((key) => {
      if (bytesToHex(key).includes(bytesToHex(bob.address).slice(2))) throw new TypeError('a bug')
      return get.call(world.native, key)
    })
    expect(() => check({ feeGranter: bob.bech32 })).toThrow('a bug')
    expect(() => world.revert()).toThrow('no checkpoint is open')
  })

  it('leaves nothing behind, when an allowance is tried too', () => {
    world.setBalance(bob.address, COIN)
    expect(check({ feeGranter: bob.bech32 })).toMatch(/fee-grant|allowance/)
    expect(world.getBalance(bob.address)).toBe(COIN)
    expect(world.getBalance(alice.address)).toBe(COIN)
    expect(world.getNonce(alice.address)).toBe(5n)
    expect(world.events()).toEqual([])
  })
})
