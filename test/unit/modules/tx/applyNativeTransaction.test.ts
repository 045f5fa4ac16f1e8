import { beforeEach, describe, expect, it } from 'vitest'
import { AUTH_PARAMS, DEFAULT_AUTH_PARAMS } from '../../../../src/modules/auth/params.ts'
import { BANK_MESSAGES, MsgSend } from '../../../../src/modules/bank/messages.ts'
import { BANK_PARAMS } from '../../../../src/modules/bank/params.ts'
import { coinsOf } from '../../../../src/modules/coin.ts'
import { createMessageTable } from '../../../../src/modules/message.ts'
import { FEE_COLLECTOR } from '../../../../src/modules/moduleAccounts.ts'
import { isSdkError } from '../../../../src/modules/sdkError.ts'
import { applyNativeTransaction } from '../../../../src/modules/tx/applyNativeTransaction.ts'
import { decodeNativeTransaction } from '../../../../src/modules/tx/decodeNativeTransaction.ts'
import { Journal } from '../../../../src/state/journal.ts'
import { MemoryStateReader } from '../../../../src/state/memoryReader.ts'
import { anyOf, signTestTransaction, TEST_CHAIN, testAccount } from '../../../native/signTransaction.ts'

const alice = testAccount(1)
const bob = testAccount(2)
const messages = createMessageTable(BANK_MESSAGES)
const rules = { ...TEST_CHAIN, messages }
const block = { height: 5, timeMs: 1_700_000_000_000 }
const baseFeePerGas = 10n ** 9n

let world: Journal

beforeEach(() => {
  world = new Journal(new MemoryStateReader())
  AUTH_PARAMS.set(world.native, DEFAULT_AUTH_PARAMS)
  BANK_PARAMS.set(world.native, { sendEnabled: [], defaultSendEnabled: true })
  world.setBalance(alice.address, 10n ** 18n)
})

const send = (amount: bigint) =>
  anyOf(MsgSend, { fromAddress: alice.bech32, toAddress: bob.bech32, amount: coinsOf(amount) })

function decode(raw: Uint8Array) {
  const transaction = decodeNativeTransaction(raw, rules)
  if (isSdkError(transaction)) throw new Error(transaction.message)
  return transaction
}

describe('applyNativeTransaction', () => {
  it('moves coins, takes the fee and counts the sequence up', () => {
    const raw = signTestTransaction({ messages: [send(7n)], signers: [alice], gasLimit: 100_000n })
    const outcome = applyNativeTransaction({ transaction: decode(raw), world, block, baseFeePerGas })
    expect(outcome).toMatchObject({ kind: 'native', result: { code: 0, log: '' } })
    expect(world.getBalance(bob.address)).toBe(7n)
    expect(world.getBalance(FEE_COLLECTOR)).toBe(100_000n * baseFeePerGas)
    expect(world.getBalance(alice.address)).toBe(10n ** 18n - 100_000n * baseFeePerGas - 7n)
    expect(world.getNonce(alice.address)).toBe(1n)
  })
})
